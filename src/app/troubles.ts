/** What is not as it should be with a gateway now, for `health-alerts.ts`. */
import { statfsSync } from 'node:fs'
import type { Deployment } from '../core/deployment.ts'
import type { Trouble } from './health-alerts.ts'
import type { DatabaseState, Store } from './store.ts'

/** A disk is nearly full with less than this share of it, and less than so many bytes. */
const [freeShareMin, freeBytesMin] = [0.05, 10 * 1024 ** 3]

interface TroubleSources {
  readonly store: Pick<Store, 'databaseState' | 'redis' | 'ledger'>
  readonly dataDirectory: string
  /** Deployments whose last calls failed. */
  unwell(): readonly Deployment[]
}

const databaseTroubles: Readonly<Record<Exclude<DatabaseState, 'connected'>, string>> = {
  disconnected: 'the database cannot be reached: rows of calls wait in the journal',
  'read-only':
    'the database takes no changes (read-only): rows of calls wait in the journal; is DATABASE_URL a replica that ' +
    'was not promoted?',
}

/** All of it. Never throws. */
export function troublesOf({ store, dataDirectory, unwell }: TroubleSources): Trouble[] {
  const { ledger, redis } = store
  const troubles = unwell().map(deploymentTrouble)
  const add = (id: string, message: string, own: Pick<Trouble, 'isOwn'> = {}) =>
    void troubles.push({ id, message, ...own })
  // Rows cannot be stored then: that is the same trouble.
  const database = store.databaseState()
  const failure = database === 'connected' ? ledger.failure() : null
  if (database !== 'connected') add('database', databaseTroubles[database])
  if (redis && !redis.reachable) add('redis', `Redis cannot be reached: ${redis.withoutRedis}`)
  if (!ledger.healthy) add('journal', 'the journal of calls cannot be written: is the disk full?', { isOwn: true })
  if (failure !== null) add('ledger', `rows of calls are not stored: ${failure}`)
  const disk = diskTrouble(dataDirectory)
  return disk === undefined ? troubles : [...troubles, disk]
}

/** Of a deployment that fails. */
export const deploymentTroubleId = ({ id }: Deployment): string => `deployment:${id}`

const deploymentTrouble = (deployment: Deployment): Trouble => ({
  id: deploymentTroubleId(deployment),
  message:
    `a deployment of the model ${deployment.modelName} fails (${deployment.target.provider.name}, ${deployment.id}), ` +
    'and no call has succeeded since: GET /health/providers has its last error',
})

/** undefined = there is room, or it cannot be said. */
function diskTrouble(directory: string): Trouble | undefined {
  try {
    const { bavail, blocks, bsize } = statfsSync(directory)
    return diskFullness({ directory, freeBytes: bavail * bsize, totalBytes: blocks * bsize })
  } catch {
    return undefined
  }
}

/** Undefined = there is room. */
export function diskFullness(of: { directory: string; freeBytes: number; totalBytes: number }): Trouble | undefined {
  if (of.freeBytes >= freeBytesMin || of.freeBytes >= of.totalBytes * freeShareMin) return undefined
  const left = `${Math.round(of.freeBytes / 1024 ** 2)} MiB`
  return {
    id: 'disk',
    isOwn: true,
    message: `the disk of the data directory ${of.directory} is nearly full: ${left} are left`,
  }
}
