/** `modelgate migrate`: by a program of the next version, and on databases that it refuses or that are not there. */
import { afterEach, expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { migrate, migrations } from '../store/database/migrate.ts'
import { openDatabase } from '../store/database/open.ts'
import { printedBy, runCommand } from './cli-fixture.ts'
import { migrateDatabase } from './migrate.ts'

const cleanups: (() => void)[] = []
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup()
})

async function currentDatabase() {
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-migrate-'))
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }))
  const url = `sqlite:${join(folder, 'modelgate.sqlite')}`
  const database = await openDatabase(url)
  await migrate(database)
  await database.close()
  const run = (...words: string[]) => runCommand(['migrate', ...words, '--data-dir', folder], { DATABASE_URL: url })
  return { folder, url, run }
}

test('the missing steps are shown, tried on a copy that is removed, and taken', async () => {
  const { folder, url } = await currentDatabase()
  const [before, noted] = [migrations.at(-1)!.id, 1000]
  const statements = ['alter table teams add column note text']
  const newer = [...migrations, { id: noted, name: 'team-notes', statements }]
  // As a program of the next version runs it.
  const run = (flags: object) => {
    const input = { flags: { 'data-dir': folder, ...flags }, positionals: [], environment: { DATABASE_URL: url } }
    return printedBy(() => migrateDatabase(input, newer))
  }
  const status = await run({ status: true })
  expect(status.code).toBe(0)
  expect(status.out).toContain(`the database has step ${before}, this program knows ${noted}\n`)
  expect(status.out).toMatch(/^1000 +team-notes +start the program$/m)
  const rehearsal = await run({ rehearse: true, json: true })
  expect(rehearsal.code).toBe(0)
  const { ok, steps } = JSON.parse(rehearsal.out) as { ok: boolean; steps: { id: number }[] }
  expect([ok, steps.map(({ id }) => id)]).toEqual([true, [noted]])
  expect(readdirSync(folder).filter(name => name.includes('rehearsal'))).toEqual([])
  expect((await run({ status: true })).out).toContain(`the database has step ${before}`)
  expect(await run({})).toEqual({ code: 0, out: `the database has step ${noted}\n`, error: '' })
  expect((await run({ status: true })).out).toContain('programs that know step 1 may use it')
  expect((await run({ rehearse: true })).out).toContain('no step is missing')
})

test('a database from before the baseline is refused by every way of the command', async () => {
  const { url, run } = await currentDatabase()
  const database = await openDatabase(url)
  await database.sql`update migrations set name = 'keys-and-ledger'`
  await database.close()
  for (const words of [['--status'], ['--rehearse'], []])
    expect(await run(...words)).toMatchObject({ code: 1, out: '', error: expect.stringContaining('DATABASE_URL') })
})

test('two flags that exclude each other, and a folder without a database, are refused with the remedy', async () => {
  const { folder, run } = await currentDatabase()
  expect(await run('--status', '--rehearse')).toMatchObject({ code: 2, error: expect.stringContaining('give one') })
  const missing = await runCommand(['migrate', '--status', '--data-dir', join(folder, 'none')], {})
  expect(missing).toMatchObject({ code: 1, error: expect.stringContaining('holds no database') })
})
