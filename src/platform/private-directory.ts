/**
 * The data directory is for the gateway's user alone: it holds key hashes, the ledger and uploads.
 *
 * Gain: with the usual umask of 022 another user of the machine read the write-ahead log and the journal of a directory
 * that was made by hand (`private-directory.test.ts`). Cost: one `stat` at the start, one more for each file of a
 * directory that others can enter.
 */
import { chmodSync, lstatSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

const ofOthers = 0o077
const sticky = 0o1000
/** A directory with one of these is a gateway's own. */
const ownNames = ['lock.sqlite', 'modelgate.sqlite', 'journal']

/**
 * Makes the directory if it is not there, and takes it from others if they can enter it: with `true` it had to. Throws
 * with the remedy where it is not the gateway's to change: another user's, or one that holds other things.
 */
export function keepPrivate(directory: string): boolean {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  if (process.platform === 'win32') return false
  const { mode, uid } = statSync(directory)
  if ((mode & ofOthers) === 0) return false
  const names = readdirSync(directory)
  const isOwn = names.length === 0 || names.some(name => ownNames.includes(name))
  const user = process.getuid?.()
  if (uid !== user || (mode & sticky) !== 0 || !isOwn) {
    const why = uid !== user ? 'belongs to another user' : 'holds files of other programs'
    const shown = (mode & 0o7777).toString(8)
    throw new Error(
      `the data directory ${directory} can be read by other users (mode ${shown}) and ${why}: give the gateway one ` +
        `of its own, for example --data-dir ${join(directory, 'modelgate')}, or run: chmod 700 ${directory}`,
    )
  }
  chmodSync(directory, 0o700)
  for (const name of names) if (ownNames.some(own => name.startsWith(own))) closeToOthers(join(directory, name))
  return true
}

/** A file or, with what is in it, a directory. */
function closeToOthers(path: string): void {
  const entry = lstatSync(path, { throwIfNoEntry: false })
  if (entry === undefined || entry.isSymbolicLink()) return
  if ((entry.mode & ofOthers) !== 0) chmodSync(path, entry.mode & 0o700)
  if (entry.isDirectory()) for (const name of readdirSync(path)) closeToOthers(join(path, name))
}
