/** A lock that processes of one machine share: SQLite's lock on a file, which the system frees when a process ends. */
import { Database } from 'bun:sqlite'
import { chmodSync } from 'node:fs'

/** Runs `work` while no other process runs what it locks under the same path. Throws where `waitMs` are not enough. */
export async function withFileLock<T>(path: string, waitMs: number, work: () => Promise<T>): Promise<T> {
  const lock = new Database(path, { create: true })
  try {
    chmodSync(path, 0o600)
    lock.run(`pragma busy_timeout = ${waitMs}`)
    lock.run('begin immediate')
    return await work()
  } finally {
    lock.close()
  }
}
