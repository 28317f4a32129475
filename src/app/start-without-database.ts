/** A start while Postgres is away: known keys are served from what the last process kept, the rest waits. */
import { join } from 'node:path'
import { ownDirectory } from '../config/serve-options.ts'
import type { ServeOptions } from '../config/serve-options.ts'
import { systemClock as clock } from '../lib/clock.ts'
import { migrate } from '../store/database/migrate.ts'
import { isAway, openDatabase, openPostgresLater } from '../store/database/open.ts'
import type { Database } from '../store/database/open.ts'
import type { Installation } from '../store/keys/installation.ts'
import type { ConfiguredObjects } from '../store/objects/configured-objects.ts'
import type { KeyCache } from '../store/keys/key-cache.ts'
import { readStartSnapshot, writeStartSnapshot } from '../store/keys/start-snapshot.ts'
import type { StartSnapshot } from '../store/keys/start-snapshot.ts'
import type { Logger } from '../telemetry/log.ts'

const retryMs = 1000
/** How soon a key that became known is kept, and how much older the file may be than the database's last answer. */
const loadedMsMax = 2000
const ageMsMax = 60_000

const pathOf = (options: ServeOptions) => join(ownDirectory(options), 'known-keys.json')

/** `kept` = the database is away, and this is what was known of it. */
export interface OpenedDatabase {
  readonly database: Database
  readonly kept: StartSnapshot | undefined
}

/** Throws when the database cannot be used, or is away and nothing is known of it. */
export async function openWithSchema(options: ServeOptions, logger: Logger): Promise<OpenedDatabase> {
  let database: Database | undefined
  try {
    database = await openDatabase(options.databaseUrl)
    await migrate(database)
    return { database, kept: undefined }
  } catch (error) {
    await database?.close().catch(() => {})
    const kept = isAway(error) ? readStartSnapshot(pathOf(options), options.databaseUrl) : undefined
    if (kept === undefined) throw error
    logger.error('the database does not answer at the start: known keys are served, the rest waits for it', {
      reason: String(error),
      known_keys: kept.keys.callers.length,
      known_at: new Date(kept.savedAtMs).toISOString(),
    })
    return { database: openPostgresLater(options.databaseUrl), kept }
  }
}

/** Does what a start does with its database once it answers; resolves then, or after `isStopped`. */
export async function catchUp(
  { database, installation, logger }: { database: Database; installation: Installation; logger: Logger },
  isStopped: () => boolean,
): Promise<void> {
  for (; !isStopped(); await Bun.sleep(retryMs)) {
    try {
      await migrate(database)
      if (!(await installation.isOfDatabase()))
        return logger.error('the database belongs to another installation, its keys are hashed differently: restart')
      await installation.keepMasterKey(() => {})
      return logger.info('the database answers, the start is complete')
    } catch (error) {
      if (!isAway(error) && !isStopped()) logger.warn('the start is not complete', { reason: String(error) })
    }
  }
}

interface RestoredState {
  readonly installation: Installation
  readonly configured: ConfiguredObjects
  readonly logger: Logger
}

/** Keeps what is known for the next start; to be called after each poll of the keys. Only for Postgres. */
export function keepsKnownKeys(
  options: ServeOptions,
  { installation, configured, logger }: RestoredState,
): (directory: KeyCache) => void {
  let [loaded, dropped, writtenMs, isWriting] = [-1, -1, -Infinity, false]
  let revision: string | undefined
  return directory => {
    const { versions } = directory
    const ageMs = clock.monotonicMs() - writtenMs
    const objects = configured.snapshot()
    const isChanged = versions.dropped !== dropped || objects?.revision !== revision
    const isDue = isChanged || ageMs > (versions.loaded === loaded ? ageMsMax : loadedMsMax)
    const snapshot = installation.snapshot()
    if (!isDue || isWriting || snapshot === undefined) return
    isWriting = true
    ;[loaded, dropped, writtenMs] = [versions.loaded, versions.dropped, clock.monotonicMs()]
    revision = objects?.revision
    const content = {
      installation: snapshot,
      keys: directory.snapshot(),
      ...(objects && { configured: objects }),
      savedAtMs: clock.epochMs(),
    }
    void writeStartSnapshot(pathOf(options), options.databaseUrl, content)
      .catch((error: unknown) =>
        logger.warn('the known keys cannot be kept for the next start', { reason: String(error) }),
      )
      .finally(() => (isWriting = false))
  }
}
