/** Copies the journal of a gateway that may be running. */
import { copyFileSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { errorCode } from '../../../lib/error-code.ts'
import { filesOf } from './journal.ts'
import { refusedName } from './refused-rows.ts'

const triesMax = 200
const pauseMs = 20

/**
 * Copies the journal into `into`, which is made, and returns the names of its files. Each record that is in the journal
 * when it begins is in the copy, or in the database by then. Rejects where the journal changes without a pause.
 */
export async function copyJournal(directory: string, into: string): Promise<string[]> {
  for (let tries = 0; tries < triesMax; tries++) {
    rmSync(into, { recursive: true, force: true })
    mkdirSync(into, { recursive: true, mode: 0o700 })
    const names = copiedOnce(directory, into)
    if (names) return names
    await Bun.sleep(pauseMs)
  }
  throw new Error(`the journal ${directory} changed all the time while it was copied; try again`)
}

/** undefined = files were deleted meanwhile, or the list of open calls changed: the copies do not belong together. */
function copiedOnce(directory: string, into: string): string[] | undefined {
  const names = keptNames(directory)
  const lists = listsOf(directory, names)
  try {
    // The newest segment first: what is appended meanwhile goes to the end, so that no segment misses records that
    // those behind it have.
    for (const name of names.toReversed()) copyFileSync(join(directory, name), join(into, name))
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error
    return undefined
  }
  const after = new Set(keptNames(directory))
  const isSame = names.every(name => after.has(name)) && listsOf(directory, names) === lists
  return isSame ? names : undefined
}

/** In order of writing. */
const keptNames = (directory: string): string[] =>
  filesOf(directory)
    .filter(name => /\.(journal|open\.json)$/.test(name) || name === refusedName)
    .sort()

function listsOf(directory: string, names: readonly string[]): string | undefined {
  try {
    const lists = names.filter(name => name.endsWith('.open.json'))
    return lists.map(name => readFileSync(join(directory, name), 'utf8')).join('\n')
  } catch {
    return undefined
  }
}
