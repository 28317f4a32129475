/** fdatasync of a file and fsync of a directory, by path: what they hold then survives a loss of power. */
import { close, fdatasync, fsync, open } from 'node:fs'
import type { NoParamCallback } from 'node:fs'

/** Syncs a file's data; resolves at once when the file is gone. */
export const syncData = (path: string): Promise<void> => synced(path, fdatasync)

/** Syncs the names in a directory; resolves at once when the directory is gone. */
export const syncNames = (path: string): Promise<void> => synced(path, fsync)

async function synced(path: string, sync: (file: number, done: NoParamCallback) => void): Promise<void> {
  const file = await openedIfThere(path)
  if (file === undefined) return
  try {
    await finished(done => sync(file, done))
  } finally {
    await finished(done => close(file, done))
  }
}

/** undefined = there is no such file. */
function openedIfThere(path: string): Promise<number | undefined> {
  return new Promise((resolve, reject) =>
    open(path, 'r', (error, file) => {
      if (error === null) resolve(file)
      else if (error.code === 'ENOENT') resolve(undefined)
      else reject(error)
    }),
  )
}

/** Not `promisify`: loading `node:util` takes each thread of the ledger 2 ms of the processor. */
function finished(call: (done: NoParamCallback) => void): Promise<void> {
  return new Promise((resolve, reject) => call(error => (error ? reject(error) : resolve())))
}
