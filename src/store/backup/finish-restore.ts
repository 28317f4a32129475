/** The second half of a restore: the files are ready, and a plan says which go where. */
import { existsSync, lstatSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { syncPath } from './sync-path.ts'

/** Which files go where; written when all of them are ready. */
export interface Plan {
  /** `away` = those of before are moved away; `place` = they are away, and the new ones are put in their places. */
  readonly phase: 'away' | 'place'
  readonly before: string
  readonly away: readonly (readonly [from: string, to: string])[]
  readonly place: readonly (readonly [from: string, to: string])[]
  /** Removed at the end. */
  readonly leftovers: readonly string[]
}

/** Its name in the data directory. */
export const planName = 'restore.json'
/** While it is there, a restore to Postgres has begun, and it is not known to have ended. */
export const cutName = 'restore-begun'

/** From here on the new state holds. */
export function writePlan(dataDirectory: string, plan: Plan): void {
  const path = join(dataDirectory, planName)
  writeFileSync(`${path}.tmp`, JSON.stringify(plan), { mode: 0o600, flush: true })
  renameSync(`${path}.tmp`, path)
  syncPath(dataDirectory)
}

/**
 * Finishes a restore that was cut after its decisive moment; does nothing where there is none. The caller holds the
 * lock of the data directory. Throws where a restore to Postgres was cut before it.
 */
export function finishRestore(dataDirectory: string): void {
  const path = join(dataDirectory, planName)
  if (!existsSync(path)) {
    if (existsSync(join(dataDirectory, cutName)))
      throw new Error(
        `a restore to Postgres was cut: run modelgate restore again, or remove ${join(dataDirectory, cutName)} to go ` +
          'on with the database as it is',
      )
    return
  }
  const plan = JSON.parse(readFileSync(path, 'utf8')) as Plan
  if (plan.phase === 'away') {
    for (const [from, to] of plan.away) move(from, to)
    writePlan(dataDirectory, { ...plan, phase: 'place' })
  }
  for (const [from, to] of plan.place) move(from, to)
  for (const [, to] of plan.place) syncPath(dirname(to))
  rmSync(join(dataDirectory, cutName), { force: true })
  rmSync(path)
  for (const one of plan.leftovers) rmSync(one, { recursive: true, force: true })
  syncPath(dataDirectory)
}

/** Whether `finishRestore` has something to do, for those who have not the lock yet. */
export const hasUnfinishedRestore = (dataDirectory: string): boolean =>
  existsSync(join(dataDirectory, planName)) || existsSync(join(dataDirectory, cutName))

/** What is not there was moved before. */
function move(from: string, to: string): void {
  if (!lstatSync(from, { throwIfNoEntry: false })) return
  mkdirSync(dirname(to), { recursive: true, mode: 0o700 })
  renameSync(from, to)
}
