import { afterEach, beforeEach, expect, test } from 'bun:test'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { keepPrivate } from './private-directory.ts'

let parent: string
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'private-'))
})
afterEach(() => rmSync(parent, { recursive: true }))

const modeOf = (path: string) => statSync(path).mode & 0o7777

function openDirectory(files: readonly string[] = [], mode = 0o755): string {
  const directory = join(parent, 'data')
  mkdirSync(directory)
  for (const file of files) {
    mkdirSync(join(directory, file, '..'), { recursive: true, mode: 0o755 })
    writeFileSync(join(directory, file), 'x')
    chmodSync(join(directory, file), 0o644)
  }
  chmodSync(directory, mode)
  return directory
}

test('a data directory that is not there is made for this user alone', () => {
  const directory = join(parent, 'made', 'here')
  expect(keepPrivate(directory)).toBe(false)
  expect(modeOf(directory)).toBe(0o700)
})

test('a data directory that others can read is closed to them, with what the gateway has in it', () => {
  const files = ['lock.sqlite', 'modelgate.sqlite', 'modelgate.sqlite-wal', 'journal/1.journal', 'notes.txt']
  const directory = openDirectory(files)
  expect(keepPrivate(directory)).toBe(true)
  expect(modeOf(directory)).toBe(0o700)
  const modes = files.map(file => modeOf(join(directory, file)).toString(8))
  expect(modes).toEqual(['600', '600', '600', '600', '644'])
  expect(modeOf(join(directory, 'journal'))).toBe(0o700)
  expect(keepPrivate(directory)).toBe(false)
})

test('an empty directory made by hand is closed to others', () => {
  const directory = openDirectory()
  expect(keepPrivate(directory)).toBe(true)
  expect(modeOf(directory)).toBe(0o700)
})

test('a directory that holds other things, or is shared, is refused with the remedy and stays as it is', () => {
  const directory = openDirectory(['other.txt'], 0o755)
  for (const mode of [0o755, 0o1777]) {
    chmodSync(directory, mode)
    expect(() => keepPrivate(directory)).toThrow(`--data-dir ${join(directory, 'modelgate')}`)
    expect(modeOf(directory)).toBe(mode)
  }
  writeFileSync(join(directory, 'lock.sqlite'), '')
  expect(() => keepPrivate(directory)).toThrow('mode 1777')
  expect(readdirSync(directory).sort()).toEqual(['lock.sqlite', 'other.txt'])
})
