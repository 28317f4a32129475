/** `modelgate migrate`: on a database of the version before, and on one that is not there. */
import { afterEach, expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { migrate, newestMigration } from '../store/database/migrate.ts'
import { openDatabase } from '../store/database/open.ts'
import { runCommand } from './cli-fixture.ts'

const cleanups: (() => void)[] = []
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup()
})

async function olderDatabase() {
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-migrate-'))
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }))
  const url = `sqlite:${join(folder, 'modelgate.sqlite')}`
  const database = await openDatabase(url)
  await migrate(database, { newest: 15 })
  await database.close()
  const run = (...words: string[]) => runCommand(['migrate', ...words, '--data-dir', folder], { DATABASE_URL: url })
  return { folder, run }
}

test('the missing steps are shown, tried on a copy that is removed, and taken', async () => {
  const { folder, run } = await olderDatabase()
  const status = await run('--status')
  expect(status.code).toBe(0)
  expect(status.out).toContain(`the database has step 15, this program knows ${newestMigration}\n`)
  expect(status.out).toMatch(/^20 +grace-and-resets +start the program$/m)
  const rehearsal = await run('--rehearse', '--json')
  expect(rehearsal.code).toBe(0)
  const { ok, steps } = JSON.parse(rehearsal.out) as { ok: boolean; steps: { id: number }[] }
  expect([ok, steps.at(-1)!.id]).toEqual([true, newestMigration])
  expect(readdirSync(folder).filter(name => name.includes('rehearsal'))).toEqual([])
  expect((await run('--status')).out).toContain('the database has step 15')
  expect(await run()).toEqual({ code: 0, out: `the database has step ${newestMigration}\n`, error: '' })
  expect((await run('--status')).out).toContain('programs that know step 15 may use it')
  expect((await run('--rehearse')).out).toContain('no step is missing')
})

test('two flags that exclude each other, and a folder without a database, are refused with the remedy', async () => {
  const { folder, run } = await olderDatabase()
  expect(await run('--status', '--rehearse')).toMatchObject({ code: 2, error: expect.stringContaining('give one') })
  const missing = await runCommand(['migrate', '--status', '--data-dir', join(folder, 'none')], {})
  expect(missing).toMatchObject({ code: 1, error: expect.stringContaining('holds no database') })
})
