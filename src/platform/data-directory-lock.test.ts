import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { lockDataDirectory } from './data-directory-lock.ts'

test('a data directory is for one holder at a time, and the refusal names it', () => {
  const parent = mkdtempSync(join(tmpdir(), 'lock-'))
  const directory = join(parent, 'made', 'here')
  const lock = lockDataDirectory(directory)
  expect(() => lockDataDirectory(directory)).toThrow(directory)
  lock.release()
  lockDataDirectory(directory).release()
  rmSync(parent, { recursive: true })
})

test('kill -9 of the holder frees the directory', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'lock-'))
  const script = `import { lockDataDirectory } from ${JSON.stringify(join(import.meta.dir, 'data-directory-lock.ts'))}
    globalThis.lock = lockDataDirectory(${JSON.stringify(directory)})
    process.stdout.write('held')
    setInterval(() => {}, 1000)`
  const child = Bun.spawn([process.execPath, '-e', script], { stdout: 'pipe' })
  await child.stdout.getReader().read()
  expect(() => lockDataDirectory(directory)).toThrow('in use by another process')
  child.kill('SIGKILL')
  await child.exited
  lockDataDirectory(directory).release()
  rmSync(directory, { recursive: true })
})
