/** Opens the parts with state beyond a call: database, keys, limits, ledger. */
import { join } from 'node:path'
import type { ServeOptions } from '../config/serve-options.ts'
import type { AssistantStore, FileStore, KeyDirectory } from '../core/ports.ts'
import type { Limiter } from '../core/limits.ts'
import { systemClock as clock } from '../lib/clock.ts'
import { endAll } from '../lib/end-all.ts'
import { createAssistantStore } from '../store/objects/assistants.ts'
import { createFileStore } from '../store/objects/files.ts'
import { createStorageGuard } from '../store/objects/storage-guard.ts'
import { openInstallation, restoreInstallation } from '../store/keys/installation.ts'
import type { Installation } from '../store/keys/installation.ts'
import { KeyCache } from '../store/keys/key-cache.ts'
import { createKeyStore, keyChangesSince } from '../store/keys/keys.ts'
import { openLedger } from '../store/ledger/ledger.ts'
import type { JournalledLedger } from '../store/ledger/ledger.ts'
import { MemoryLimiter } from '../store/limits/limiter-memory.ts'
import { RedisLimiter } from '../store/limits/limiter-redis.ts'
import type { StorageQuota } from '../accounts/storage-quota.ts'
import type { Settings, WithoutRedis } from '../core/settings.ts'
import type { Database } from '../store/database/open.ts'
import { claimSingleReplica } from '../store/database/replica-lock.ts'
import { createResponseStore } from '../store/objects/responses.ts'
import type { RunningResponseStore } from '../store/objects/responses.ts'
import type { Logger } from '../telemetry/log.ts'
import { catchUp, keepsKnownKeys, openWithSchema } from './start-without-database.ts'

/** How limits are shared over Redis now. */
export type RedisState = Pick<RedisLimiter, 'reachable' | 'replicas' | 'roundTrips' | 'withoutRedis'>

/** Open from start to shutdown. */
export interface Store {
  readonly database: Database
  readonly installation: Installation
  readonly keys: ReturnType<typeof createKeyStore>
  readonly directory: KeyDirectory
  readonly limiter: Limiter
  readonly ledger: JournalledLedger
  readonly responses: RunningResponseStore
  readonly assistants: AssistantStore
  readonly files: FileStore
  databaseReachable(): boolean
  /** The database was away at the start: the master key is stored when it answers. */
  readonly startedAway: boolean
  /** Absent = Redis is not configured. */
  readonly redis: RedisState | undefined
  /** Without Redis: no other replica uses this database. */
  isOnlyReplica(): boolean
  close(): Promise<void>
}

/**
 * `settings` is read at each use. Throws if the database cannot be used; an unreachable Redis does not prevent the
 * start.
 */
export async function openStore(
  options: ServeOptions,
  logger: Logger,
  settings: () => Pick<Settings, 'storageQuota' | 'limitsWithoutRedis'>,
): Promise<Store> {
  const { database, kept } = await openWithSchema(options, logger)
  const reportHeld = (held: boolean) => reportClaim(held, logger)
  const replica =
    options.redisUrl === undefined
      ? await claimSingleReplica(options.databaseUrl, { reportHeld, later: kept !== undefined })
      : undefined
  const secrets = { masterKey: options.masterKey, pepper: options.keyPepper }
  const installation = kept
    ? restoreInstallation(database, secrets, kept.installation)
    : await openInstallation(database, secrets)
  const keepKnown = database.kind === 'postgres' ? keepsKnownKeys(options, { installation, logger }) : undefined
  let reachable = true
  let directory: KeyCache | undefined
  const keys = createKeyStore({ database, clock, onChange: hash => directory?.changed(hash) })
  directory = new KeyCache({
    store: keys,
    clock,
    hashKey: installation.hashKey,
    restored: kept && { snapshot: kept.keys, ageMs: clock.epochMs() - kept.savedAtMs },
    polled: keepKnown && (() => directory && keepKnown(directory)),
    async changesSince(revision) {
      const [changes] = await Promise.all([keyChangesSince(database, revision), followMasterKey(installation, logger)])
      return changes
    },
    reportReachable(now, reason) {
      reachable = now
      if (now) logger.info('the database answers again')
      else
        logger.error('the database does not answer; known keys keep working, calls are kept in the journal', { reason })
    },
  })
  await directory.start()
  let stopped = false
  if (kept) void catchUp({ database, installation, logger }, () => stopped)
  const redis = await openRedis(options.redisUrl, logger, () => settings().limitsWithoutRedis)
  const ledger = await openLedgerOf(options, logger)
  const objects = objectStores(database, () => settings().storageQuota, logger)
  return {
    database,
    installation,
    keys,
    directory,
    limiter: redis ?? new MemoryLimiter(clock),
    ledger,
    ...objects,
    databaseReachable: () => reachable,
    redis,
    isOnlyReplica: () => replica?.held ?? true,
    startedAway: kept !== undefined,
    close: () =>
      endAll([
        () => (stopped = true),
        () => objects.responses.stop(),
        () => directory.stop(),
        () => ledger.close(),
        () => redis?.close(),
        () => replica?.release(),
        () => database.close(),
      ]),
  }
}

function objectStores(database: Database, storageQuota: () => StorageQuota, logger: Logger) {
  const guard = createStorageGuard(database, storageQuota)
  return {
    responses: createResponseStore({
      database,
      clock,
      guard,
      report: problem => logger.error('the response store reports a problem', { problem }),
    }),
    assistants: createAssistantStore(database, guard),
    files: createFileStore(database, guard),
  }
}

function openLedgerOf({ databaseUrl, dataDirectory }: ServeOptions, logger: Logger): Promise<JournalledLedger> {
  return openLedger({
    databaseUrl,
    journalDirectory: join(dataDirectory, 'journal'),
    clock,
    report: problem => logger.error('the ledger reports a problem', { problem }),
    note: (text, { bytes, records, sinceMs }) =>
      logger.info(text, bytes > 0 ? { bytes, records, oldest: new Date(sinceMs).toISOString() } : {}),
  })
}

/** Called at every poll of the keys, so that replicas notice a new master key as fast as other key changes. */
async function followMasterKey(installation: Installation, logger: Logger): Promise<void> {
  const change = await installation.followMasterKey()
  if (change === 'none') return
  const message =
    change === 'followed'
      ? 'the master key was replaced, by another replica or by `modelgate keys reset-master`; the one before is refused'
      : 'the database came back with an older master key; the present one was stored again'
  logger.warn(message, { master_key_hash: installation.masterKeyName() })
}

function reportClaim(held: boolean, logger: Logger): void {
  if (held) logger.info('this is the only replica on the database again')
  else
    logger.error(
      'another replica runs on this database, and without REDIS_URL limits are counted by each: not ready until it ' +
        'ends; stop one of them or set REDIS_URL',
    )
}

async function openRedis(
  url: string | undefined,
  logger: Logger,
  withoutRedis: () => WithoutRedis,
): Promise<RedisLimiter | undefined> {
  if (url === undefined) return undefined
  const limiter = new RedisLimiter({
    url,
    withoutRedis,
    reportReachable: (reachable, reason) =>
      reachable
        ? logger.info('Redis answers again; limits are shared')
        : logger.error('Redis does not answer; limits are not shared until it does', {
            server: new URL(url).host,
            reason,
            limits: limiter.withoutRedis,
          }),
  })
  await limiter.start()
  return limiter
}
