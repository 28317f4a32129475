/** What stands in a file, and which names stand in a folder, survive power loss from then on. */
import { close, fdatasync, fsync, open } from 'node:fs'
import { promisify } from 'node:util'

const openFile = promisify(open)
const closeFile = promisify(close)

/** Of a file; done at once when it is gone. */
export const syncData = (path: string): Promise<void> => synced(path, promisify(fdatasync))

/** Of a folder; done at once when it is gone. */
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
