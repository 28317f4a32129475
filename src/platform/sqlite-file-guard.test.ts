/** What stands at the path of an SQLite file, as every thread sees it. */
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SqliteFile } from './sqlite-file-guard.ts'

const folder = mkdtempSync(join(tmpdir(), 'modelgate-sqlite-file-'))
afterAll(() => rmSync(folder, { recursive: true }))

test('a refused file is not looked into again for a second, unless it changes', async () => {
  const path = join(folder, 'x.sqlite')
  writeFileSync(path, 'one')
  const file = new SqliteFile(path)
  file.confirm(file.prepare())
  writeFileSync(`${path}.other`, 'other')
  renameSync(`${path}.other`, path)
  expect(() => file.prepare()).toThrow('has not changed for')
  await Bun.sleep(1020)
  expect(file.prepare().isReplacement).toBe(true)
  expect(() => file.checkSchema(undefined, { migration: 1, pepper: null })).toThrow('has not the tables')
  for (let at = 0; at < 3; at++)
    expect(() => file.prepare()).toThrow(/^the SQLite file .* cannot be used: it has not the tables/)
  utimesSync(path, 1, 2)
  expect(() => file.prepare()).toThrow('has not changed for')
  await Bun.sleep(1020)
  // It may be another one inside, for all that can be seen from here.
  expect(file.prepare().isReplacement).toBe(true)
  expect(() => file.checkSchema({ migration: 2, pepper: null }, { migration: 1, pepper: null })).toThrow(
    'restart the gateway',
  )
  expect(() => file.prepare()).toThrow('restart the gateway')
  await Bun.sleep(1020)
  const prepared = file.prepare()
  expect(prepared.isReplacement).toBe(true)
  file.checkSchema({ migration: 1, pepper: null }, { migration: 1, pepper: null })
  file.confirm(prepared)
  expect(file.prepare().isReplacement).toBe(false)
})
