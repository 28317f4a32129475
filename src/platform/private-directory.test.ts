import { afterEach, beforeEach, expect, test } from 'bun:test'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { directoryFor, keepPrivate } from './private-directory.ts'

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
  expect(keepPrivate(directory)).toBe('private')
  expect(modeOf(directory)).toBe(0o700)
})

test('a data directory that others can read is closed to them, with what the gateway has in it', () => {
  const files = ['lock.sqlite', 'modelgate.sqlite', 'modelgate.sqlite-wal', 'journal/1.journal', 'notes.txt']
  const directory = openDirectory(files)
  expect(keepPrivate(directory)).toBe('closed')
  expect(modeOf(directory)).toBe(0o700)
  const modes = files.map(file => modeOf(join(directory, file)).toString(8))
  expect(modes).toEqual(['600', '600', '600', '600', '644'])
  expect(modeOf(join(directory, 'journal'))).toBe(0o700)
  expect(keepPrivate(directory)).toBe('private')
})

test('an empty directory made by hand is closed to others', () => {
  const directory = openDirectory()
  expect(keepPrivate(directory)).toBe('closed')
  expect(modeOf(directory)).toBe(0o700)
})

test('a directory that others share, or that holds files of others, gets a private one inside', () => {
  for (const [mode, files] of [
    [0o755, ['other.txt']],
    [0o2770, []],
    [0o2775, ['lost+found/1']],
    [0o1777, []],
    [0o1777, ['lost+found/1', 'other.txt']],
  ] as const) {
    rmSync(join(parent, 'data'), { recursive: true, force: true })
    const directory = openDirectory(files, mode)
    const used = directoryFor(directory)
    expect(used).toBe(join(directory, 'modelgate'))
    expect(keepPrivate(used)).toBe('made-inside')
    expect([modeOf(directory), modeOf(used) & 0o777]).toEqual([mode, 0o700])
    expect(keepPrivate(used)).toBe('private')
  }
})

test('the directory of a fresh file system is used itself', () => {
  const directory = openDirectory(['lost+found/.keep'], 0o755)
  expect(directoryFor(directory)).toBe(directory)
  expect(keepPrivate(directory)).toBe('closed')
})

test('a file of another program that has the name of the directory inside refuses no start', () => {
  for (const mode of [0o1777, 0o755]) {
    rmSync(join(parent, 'data'), { recursive: true, force: true })
    const directory = openDirectory(['modelgate'], mode)
    const used = directoryFor(directory)
    expect([used, keepPrivate(used), modeOf(used)]).toEqual([join(directory, 'modelgate-data'), 'made-inside', 0o700])
    writeFileSync(join(used, 'modelgate.sqlite'), '')
    expect(directoryFor(directory)).toBe(used)
    rmSync(join(directory, 'modelgate'))
    expect(directoryFor(directory)).toBe(used)
  }
})

test('where a gateway has its files does not change with permissions', () => {
  const outside = openDirectory(['modelgate.sqlite'], 0o1777)
  expect(directoryFor(outside)).toBe(outside)
  expect(() => keepPrivate(outside)).toThrow('chmod 700')
  rmSync(outside, { recursive: true })
  const shared = openDirectory(['modelgate/modelgate.sqlite'], 0o1777)
  const inside = join(shared, 'modelgate')
  for (const mode of [0o1777, 0o700]) {
    chmodSync(shared, mode)
    expect(directoryFor(shared)).toBe(inside)
  }
  expect(keepPrivate(inside)).toBe('closed')
})

test('a data directory of the same name may be a link, where others cannot put one', () => {
  chmodSync(parent, 0o755)
  mkdirSync(join(parent, 'elsewhere'), { mode: 0o700 })
  symlinkSync(join(parent, 'elsewhere'), join(parent, 'modelgate'))
  expect(keepPrivate(directoryFor(join(parent, 'modelgate')))).toBe('private')
})

test('a link in the shared directory is refused', () => {
  const directory = openDirectory([], 0o1777)
  mkdirSync(join(parent, 'elsewhere'), { mode: 0o700 })
  symlinkSync(join(parent, 'elsewhere'), join(directory, 'modelgate'))
  expect(() => keepPrivate(directoryFor(directory))).toThrow('is a link')
})

/** Only root can be two users. */
test.if(process.getuid?.() === 0)('a directory that another user put into the shared one is refused', () => {
  const directory = openDirectory([], 0o1777)
  mkdirSync(join(directory, 'modelgate'), { mode: 0o700 })
  expect(keepPrivate(directoryFor(directory))).toBe('private')
  chownSync(join(directory, 'modelgate'), 4141, 4141)
  expect(() => keepPrivate(directoryFor(directory))).toThrow('belongs to another user (4141)')
})

test.if(process.getuid?.() === 0)(
  'a volume of root with the group of the gateway is served by another user',
  async () => {
    const volume = join(parent, 'volume')
    for (const mode of [0o2770, 0o2775, 0o1777]) {
      mkdirSync(volume)
      chownSync(volume, 0, 4242)
      chmodSync(volume, mode)
      chmodSync(parent, 0o755)
      const [first, again] = [startAs(4141, 4242, volume), startAs(4141, 4242, volume)]
      expect(first).toEqual({ used: join(volume, 'modelgate'), privacy: 'made-inside', mode: '700', uid: 4141 })
      // At every start the group is given to what is there (fsGroupChangePolicy: Always).
      expect(again.privacy).toBe('private')
      chmodSync(first.used, 0o2770)
      expect(startAs(4141, 4242, volume)).toMatchObject({ used: first.used, privacy: 'closed', uid: 4141 })
      chmodSync(first.used, 0o2770)
      expect(() => startAs(5151, 4242, volume)).toThrow('belongs to another user (4141)')
      rmSync(volume, { recursive: true })
    }
  },
)

/** What a gateway of that user would use, found in a process of that user. */
function startAs(uid: number, gid: number, given: string) {
  const script = join(import.meta.dir, 'private-directory.ts')
  const text = `
    process.setgroups?.([]); process.setgid(${gid}); process.setuid(${uid})
    const { directoryFor, keepPrivate } = await import(${JSON.stringify(script)})
    const { statSync } = await import('node:fs')
    const used = directoryFor(${JSON.stringify(given)})
    const privacy = keepPrivate(used)
    const { mode, uid } = statSync(used)
    console.log(JSON.stringify({ used, privacy, mode: (mode & 0o777).toString(8), uid }))`
  const { stdout, stderr, exitCode } = Bun.spawnSync([process.execPath, '-e', text])
  if (exitCode !== 0) throw new Error(stderr.toString())
  return JSON.parse(stdout.toString()) as { used: string; privacy: string; mode: string; uid: number }
}
