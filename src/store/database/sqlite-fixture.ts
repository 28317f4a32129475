/** What the tests do to an SQLite file from outside: a lock of another process, a backup, a restore. */
import { Database } from 'bun:sqlite'

/** Another process takes the write lock of the file, as a VACUUM does, for `ms`; resolves when it has it. */
export async function holdLock(path: string, ms: number): Promise<{ released: Promise<number> }> {
  const script = `
    import { Database } from 'bun:sqlite'
    const database = new Database(${JSON.stringify(path)}, { readwrite: true, create: false })
    database.run('pragma busy_timeout = 5000')
    database.run('begin immediate')
    process.stdout.write('held')
    await Bun.sleep(${ms})
    database.run('commit')
    database.close()`
  const child = Bun.spawn([process.execPath, '-e', script], { stdout: 'pipe', stderr: 'inherit' })
  const reader = child.stdout.getReader()
  const { value } = await reader.read()
  reader.releaseLock()
  if (new TextDecoder().decode(value) !== 'held') throw new Error('the other process did not get the lock')
  return { released: child.exited }
}

/** A whole copy of a database in use, in one file. */
export function backUp(path: string, copy: string): void {
  const database = new Database(path, { readwrite: true, create: false })
  database.run('vacuum into ?', [copy])
  database.close()
}

/** The longest time for which the event loop of this thread was blocked between start and `stop`, in milliseconds. */
export function watchLoop(): { stop(): number } {
  let lastMs = performance.now()
  let longestMs = 0
  const look = () => {
    const nowMs = performance.now()
    longestMs = Math.max(longestMs, nowMs - lastMs)
    lastMs = nowMs
  }
  const timer = setInterval(look, 1)
  return {
    stop() {
      clearInterval(timer)
      look()
      return longestMs
    },
  }
}
