/**
 * The data directory is for the gateway's user alone: it holds key hashes, the ledger and uploads.
 *
 * Gain: with the usual umask of 022 another user of the machine read the write-ahead log and the journal of a directory
 * that was made by hand (`private-directory.test.ts`). Cost: two `stat` at the start, one more for each file of a
 * directory that others can enter.
 */
import { chmodSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, rmdirSync, statSync } from 'node:fs'
import type { Stats } from 'node:fs'
import { basename, dirname, join } from 'node:path'

const ofOthers = 0o077
const writableByOthers = 0o022
const sticky = 0o1000
/** New entries belong to the group of the directory, which is made for several users then. */
const setGroupId = 0o2000
/** A directory with one of these is a gateway's own. */
const ownNames = ['lock.sqlite', 'modelgate.sqlite', 'journal']
/** A new file system has it. */
const recoveredFiles = 'lost+found'
/** The gateway's own directory inside of one that it shares with others; the second where the first is a file. */
const insideNames = ['modelgate', 'modelgate-data']

const isOpen = ({ mode }: Stats): boolean => process.platform !== 'win32' && (mode & ofOthers) !== 0
const octal = ({ mode }: Stats): string => (mode & 0o7777).toString(8)

/**
 * The directory that holds the gateway's files when `given` is configured: `given` itself, or `modelgate` inside of it
 * where others can enter `given` and it is not the gateway's to change: it belongs to another user or is made for its
 * group (a volume of Kubernetes with `fsGroup`), it is sticky, or it holds files of other programs. Where one of the
 * two has a gateway's files already, that one is it, so that a change of permissions never starts an empty gateway.
 * Changes nothing, and does not throw: what uses the directory says why it cannot.
 */
export function directoryFor(given: string): string {
  const stats = directoryStats(given)
  if (!stats) return given
  const inside = insideOf(given)
  if (holdsOwn(inside)) return inside
  const isShared = (stats.mode & setGroupId) !== 0
  return !isOpen(stats) || holdsOwn(given) || (!isShared && isOurs(given, stats)) ? given : inside
}

/** A file of another program may have the name. */
function insideOf(given: string): string {
  const isFree = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory() !== false
  const paths = insideNames.map(name => join(given, name))
  return paths.find(holdsOwn) ?? paths.find(isFree) ?? paths[0]!
}

/** What made it private: nothing had to, it was closed to others, or made inside of one that others can enter. */
export type Privacy = 'private' | 'closed' | 'made-inside'

/** Makes the directory of `directoryFor` if it is not there, and closes it to others. Throws with the remedy. */
export function keepPrivate(directory: string): Privacy {
  const made = mkdirSync(directory, { recursive: true, mode: 0o700 }) !== undefined
  const parent = statSync(dirname(directory))
  const isInside = insideNames.includes(basename(directory)) && isOpen(parent)
  if (isInside && (parent.mode & writableByOthers) !== 0) refuseForeign(directory)
  const stats = statSync(directory)
  if (!isOpen(stats)) return made && isInside ? 'made-inside' : 'private'
  if (!isOurs(directory, stats))
    throw new Error(
      `the data directory ${directory} can be read by other users (mode ${octal(stats)}), and this user cannot ` +
        `close it: run chmod 700 ${directory} as its owner, or give another one with --data-dir`,
    )
  chmodSync(directory, 0o700)
  const after = statSync(directory)
  if (isOpen(after))
    throw new Error(
      `the data directory ${directory} stays open to other users (mode ${octal(after)}): its file system keeps no ` +
        'permissions; give one on another file system with --data-dir',
    )
  for (const name of readdirSync(directory))
    if (ownNames.some(own => name.startsWith(own))) closeToOthers(join(directory, name))
  return made && isInside ? 'made-inside' : 'closed'
}

/**
 * Others that may write in the directory around it could have made it a way to another place, or their own, in which
 * they read and replace all that is written; a gateway that runs as root would not even notice. Throws with the remedy.
 */
function refuseForeign(directory: string): void {
  if (lstatSync(directory).isSymbolicLink()) throw new Error(`${directory} is a link: remove it`)
  const { uid } = statSync(directory)
  // A network's file system may give what root makes to another user: then new entries are that user's, too.
  if (uid === process.getuid?.() || uid === ownerOfNew(directory)) return
  throw new Error(
    `${directory} belongs to another user (${uid}), who can read and replace what is in it: if an earlier gateway ` +
      'made it, give it to this user (chown -R); else give another directory with --data-dir',
  )
}

/** Whose a new entry of the directory is; undefined = none can be made. */
function ownerOfNew(directory: string): number | undefined {
  try {
    const entry = mkdtempSync(join(directory, '.owner-'))
    const { uid } = statSync(entry)
    rmdirSync(entry)
    return uid
  } catch {
    return undefined
  }
}

/** undefined = it is no directory, or this user cannot see it. */
function directoryStats(path: string): Stats | undefined {
  try {
    const stats = statSync(path)
    return stats.isDirectory() ? stats : undefined
  } catch {
    return undefined
  }
}

/** Whether the directory may be closed to others: it is this user's, and holds no files of other programs. */
function isOurs(directory: string, { mode, uid }: Stats): boolean {
  if (uid !== process.getuid?.() || (mode & sticky) !== 0) return false
  return holdsOwn(directory) || readdirSync(directory).every(name => name === recoveredFiles)
}

/** false also where it cannot be read: it is not this user's then. */
function holdsOwn(directory: string): boolean {
  try {
    return readdirSync(directory).some(name => ownNames.includes(name))
  } catch {
    return false
  }
}

/** A file or, with what is in it, a directory. */
function closeToOthers(path: string): void {
  const entry = lstatSync(path, { throwIfNoEntry: false })
  if (entry === undefined || entry.isSymbolicLink()) return
  if ((entry.mode & ofOthers) !== 0) chmodSync(path, entry.mode & 0o700)
  if (entry.isDirectory()) for (const name of readdirSync(path)) closeToOthers(join(path, name))
}
