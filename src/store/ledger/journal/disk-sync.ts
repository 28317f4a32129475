/** fdatasync of a file and fsync of a directory, by path: what they hold then survives a loss of power. */
import { close, fdatasync, fsync, open } from 'node:fs'
import { promisify } from 'node:util'

const openFile = promisify(open)
const closeFile = promisify(close)

/** Syncs a file's data; resolves at once when the file is gone. */
export const syncData = (path: string): Promise<void> => synced(path, promisify(fdatasync))

/** Syncs the names in a directory; resolves at once when the directory is gone. */
export const syncNames = (path: string): Promise<void> => synced(path, promisify(fsync))

async function synced(path: string, sync: (file: number) => Promise<void>): Promise<void> {
  const file = await openFile(path, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (file === undefined) return
  try {
    await sync(file)
  } finally {
    await closeFile(file)
  }
}
