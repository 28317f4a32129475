/** Opens the parts with state beyond a call: database, keys, limits, ledger. */
import { join } from 'node:path'
import { ownDirectory } from '../config/serve-options.ts'
import type { ServeOptions } from '../config/serve-options.ts'
import type { IdempotentRequests } from '../core/objects/idempotency.ts'
import type { KeyReminderStore } from '../core/tenancy/key-reminders.ts'
import type { RunLeases } from '../core/objects/run-leases.ts'
import type { AssistantStore } from '../core/objects/assistants.ts'
import type { KeyStore } from '../core/tenancy/keys.ts'
import type { DeviceSignInStore } from '../core/sign-in/device-sign-in.ts'
import type { SignInReturns } from '../core/sign-in/identity-providers.ts'
import type { PasswordStore, SessionStore } from '../core/sign-in/sign-in.ts'
import type { TenancyStore, TenantDirectory } from '../core/tenancy/tenancy-store.ts'
import type { LedgerRetention } from '../core/ledger/usage-report.ts'
import type { LedgerRow } from '../core/ledger/ledger-columns.ts'
import type { LedgerTail } from '../core/ledger/ledger-tail.ts'
import { systemClock as clock } from '../lib/clock.ts'
import type { Clock } from '../lib/clock.ts'
import { KeyRing } from '../lib/encryption.ts'
import { endAll } from '../lib/end-all.ts'
import { Secret } from '../lib/secret.ts'
import { ConfiguredObjects } from '../store/objects/configured-objects.ts'
import { EncryptionKeys } from '../store/keys/encryption-keys.ts'
import { openBodyStore } from '../store/bodies/bodies.ts'
import type { RunningBodyStore } from '../store/bodies/bodies.ts'
import { createAssistantStore } from '../store/objects/assistants.ts'
import { createConversationStore } from '../store/objects/conversations.ts'
import type { RunningConversationStore } from '../store/objects/conversations.ts'
import { createIdempotentRequests } from '../store/objects/idempotent-requests.ts'
import { createFileStore } from '../store/objects/files.ts'
import type { RunningFileStore } from '../store/objects/files.ts'
import { createRunLeases } from '../store/objects/run-leases.ts'
import { RedisPins } from '../store/redis/redis-pins.ts'
import { createTroubleClaims } from '../store/redis/trouble-claims.ts'
import { createStorageGuard } from '../store/objects/storage-guard.ts'
import { openInstallation, restoreInstallation } from '../store/keys/installation.ts'
import type { Installation } from '../store/keys/installation.ts'
import { KeyCache } from '../store/keys/key-cache.ts'
import { createKeyReminderStore } from '../store/keys/key-reminders.ts'
import { createKeyStore } from '../store/keys/keys.ts'
import { loadPrincipal } from '../store/sign-in/principals.ts'
import { DeviceSignIns } from '../store/sign-in/device-sign-ins.ts'
import { createPasswordStore } from '../store/sign-in/passwords.ts'
import { createSessionStore } from '../store/sign-in/sessions.ts'
import { CallerLoader, subjectsOf, versionOf } from '../store/tenancy/caller-loader.ts'
import { changesSince } from '../store/tenancy/changes.ts'
import type { Subject } from '../store/tenancy/changes.ts'
import { createSignInReturns } from '../store/tenancy/sign-in-returns.ts'
import { createTenancyStore } from '../store/tenancy/store.ts'
import { openLedger } from '../store/ledger/ledger.ts'
import { adoptJournals } from './workers/adopt-journals.ts'
import { workerPrefix } from './workers/worker-messages.ts'
import { MemoryTail } from '../store/ledger/tail/tail.ts'
import { RedisTail } from '../store/ledger/tail/redis-tail.ts'
import { createUsageOutbox } from '../store/ledger/usage-outbox.ts'
import type { UsageOutbox } from '../core/ledger/usage-outbox.ts'
import type { JournalledLedger } from '../store/ledger/ledger.ts'
import type { RedisLimiter } from '../store/limits/limiter-redis.ts'
import type { Settings } from '../core/settings.ts'
import type { WorkerLink } from '../core/workers.ts'
import type { TroubleClaims } from '../core/trouble-claims.ts'
import { serverState } from '../store/database/open.ts'
import type { Database } from '../store/database/open.ts'
import { SharedClock } from '../store/database/shared-clock.ts'
import { claimSingleReplica } from '../store/database/replica-lock.ts'
import { createResponseStore } from '../store/objects/responses.ts'
import type { RunningResponseStore } from '../store/objects/responses.ts'
import type { Logger } from '../telemetry/log.ts'
import { openAnswerCache } from './answer-cache.ts'
import type { OpenedCache } from './answer-cache.ts'
import { openLimits } from './limits.ts'
import type { Limits } from './limits.ts'
import { catchUp, keepsKnownKeys, openWithSchema } from './start-without-database.ts'
import { countCacheHours } from '../store/answers/cache-hours.ts'
import type { RunningCacheHours } from '../store/answers/cache-hours.ts'
import type { OpenedDatabase } from './start-without-database.ts'

/** How limits are shared over Redis now. */
export type RedisState = Pick<RedisLimiter, 'reachable' | 'replicas' | 'roundTrips' | 'withoutRedis'>

/** As `/health/readiness` shows it. */
export type DatabaseState = 'connected' | 'read-only' | 'disconnected'

const installationNameBytes = 12

/** Is called with what has changed; undefined = everything may have. */
type TenancyFollower = (subjects: readonly Subject[] | undefined) => void

/** Open from start to shutdown. */
export interface Store {
  readonly database: Database
  readonly sharedClock: Clock
  readonly installation: Installation
  readonly keys: KeyStore
  readonly keyReminders: KeyReminderStore
  readonly tenancy: TenancyStore
  readonly directory: KeyCache
  readonly tenants: TenantDirectory
  readonly sessions: SessionStore
  readonly deviceSignIns: DeviceSignInStore
  readonly signInReturns: SignInReturns
  readonly passwords: PasswordStore
  readonly limits: Limits
  readonly answerCache: OpenedCache
  readonly cacheHours: RunningCacheHours
  readonly ledger: JournalledLedger
  readonly ledgerTail: LedgerTail
  readonly usageOutbox: UsageOutbox
  readonly responses: RunningResponseStore
  readonly assistants: AssistantStore
  readonly files: RunningFileStore
  readonly idempotentRequests: IdempotentRequests
  readonly conversations: RunningConversationStore
  readonly bodies: RunningBodyStore
  /** Models, credentials and access groups made by API. */
  readonly configured: ConfiguredObjects
  databaseReachable(): boolean
  /** What the last poll found; `read-only` = it answers, and takes no changes. */
  databaseState(): DatabaseState
  /** Since when without a break, monotonic; undefined = it is away. */
  databaseAnswersSinceMs(): number | undefined
  /** Calls it for every change of keys and tenancy, of this process or another. */
  followTenancy(follow: TenancyFollower): void
  /** The database was away at the start: the master key is stored when it answers. */
  readonly startedAway: boolean
  /** Absent = Redis is not configured. */
  readonly redis: RedisState | undefined
  /** Which of the replicas reports a trouble; undefined = there is no other one. */
  readonly troubleClaims?: TroubleClaims | undefined
  /** undefined = there is no other replica. */
  readonly runLeases?: RunLeases | undefined
  /** Where sessions are, over all replicas; undefined = there is no Redis. */
  readonly sessionPins?: RedisPins | undefined
  /** Without Redis: no other replica uses this database. */
  isOnlyReplica(): boolean
  close(): Promise<void>
}

type StoreSettings = Pick<
  Settings,
  'storageQuota' | 'limitsWithoutRedis' | 'ledgerRetention' | 'chatRetentionMs' | 'bodies'
>

/**
 * `settings` is read at each use. Throws if the database cannot be used; an unreachable Redis does not prevent the
 * start.
 */
export async function openStore(options: ServeOptions, logger: Logger, settings: () => StoreSettings): Promise<Store> {
  const { database, kept } = await openWithSchema(options, logger)
  const { worker, redisUrl } = options
  const replica = redisUrl === undefined ? await claimDatabase(options, logger, kept !== undefined) : undefined
  const sharedClock = new SharedClock(clock)
  const opened = { database, kept, sharedClock, names: databaseNames(logger) }
  const { installation, configured, keys, secrets } = await openKeys(options, logger, opened)
  let stopped = false
  if (kept) void catchUp({ database, installation, logger }, () => stopped)
  const { tail, exchange } = openTail(options, installation)
  const ledger = await openLedgerOf(options, logger, database, {
    retention: () => settings().ledgerRetention,
    settled: row => tail.settled(row),
  })
  const withoutRedis = () => settings().limitsWithoutRedis
  const name = installation.sign('name in Redis').toString('hex', 0, installationNameBytes)
  const named = { installation: name, idPrefix: worker && workerPrefix(worker.number) }
  const limits = await openLimits({ redisUrl, ...named, ...opened, ledger, logger, withoutRedis })
  keys.followTenancy(() => limits.survey.changed())
  const shared = sharedOverRedis(redisUrl, { installation: name, database })
  const isShared = worker !== undefined
  const answerCache = openAnswerCache({ redisUrl, isShared, sign: installation.sign, logger })
  const cacheHours = countCacheHours({ database, clock, counts: () => answerCache.answers.counts() })
  const objects = objectStores({ database, secrets, sharedClock, writer: limits.spendWriter }, settings, logger)
  const bodies = openBodiesOf(options, logger, { database, secrets, settings: () => settings().bodies })
  return {
    database,
    sharedClock,
    installation,
    keys: createKeyStore(database),
    signInReturns: createSignInReturns(database, clock),
    keyReminders: createKeyReminderStore(database),
    ...keys,
    limits,
    answerCache,
    cacheHours,
    ledger,
    ledgerTail: tail,
    usageOutbox: createUsageOutbox(database),
    configured,
    bodies,
    ...objects,
    redis: limits.redis,
    ...shared,
    isOnlyReplica: () => replica?.held ?? worker?.isOnlyReplica() ?? true,
    startedAway: kept !== undefined,
    close: () =>
      endAll([
        () => (stopped = true),
        ...Object.values(objects).map(one => () => 'stop' in one && one.stop()),
        () => keys.directory.stop(),
        () => bodies.close(),
        () => tail.close(),
        () => exchange?.stop(),
        () => ledger.close(),
        () => limits.redis?.close(),
        ...Object.values(shared).map(one => () => one.close()),
        () => cacheHours.stop(),
        () => answerCache.close(),
        () => replica?.release(),
        () => database.close(),
      ]),
  }
}

/** What replicas tell each other beside limits; empty = there is no Redis. */
function sharedOverRedis(
  redisUrl: string | undefined,
  { installation, database }: { readonly installation: string; readonly database: Database },
) {
  if (redisUrl === undefined) return {}
  const of = { redisUrl, installation }
  return {
    troubleClaims: createTroubleClaims({ ...of, database, clock }),
    runLeases: createRunLeases(of),
    sessionPins: new RedisPins(of),
  }
}

/** Passes on which database answers, as the poll sees it. */
function databaseNames(logger: Logger) {
  let present: string | null = null
  let tell = (_name: string): void => {}
  return {
    seen(name: string | null): void {
      if (name === null || name === present) return
      if (present !== null) logger.warn('another database answers, or a restarted server: budgets are read again')
      present = name
      tell(name)
    },
    follow(listener: (name: string) => void): void {
      tell = listener
      if (present !== null) listener(present)
    },
  }
}

type TimedDatabase = OpenedDatabase & {
  readonly sharedClock: SharedClock
  readonly names: ReturnType<typeof databaseNames>
}

/** The installation's secrets, callers, and what was made by API: what one poll of the database follows. */
async function openKeys(options: ServeOptions, logger: Logger, { database, kept, sharedClock, names }: TimedDatabase) {
  const given = { masterKey: options.masterKey, pepper: options.keyPepper }
  const installation = kept
    ? restoreInstallation(database, given, kept.installation)
    : await openInstallation(database, given)
  const secrets = new EncryptionKeys({ ...options, isShared: database.kind === 'postgres' })
  const configured = new ConfiguredObjects({ database, clock, keys: secrets, restored: kept?.configured })
  const keepKnown =
    database.kind === 'postgres' ? keepsKnownKeys(options, { installation, configured, logger }) : undefined
  let answersSinceMs: number | undefined = -Infinity
  let takesChanges = true
  let directory: KeyCache | undefined
  const changed = toldToWorkers(options.worker, () => directory)
  const { tenancy, tenants } = openTenancy({ database, sharedClock }, changed)
  const signingIn = { database, clock, hashKey: installation.hashKey, onChange: changed }
  const sessions = createSessionStore(signingIn)
  const passwords = createPasswordStore(signingIn)
  const deviceSignIns = new DeviceSignIns({ database, clock, revoke: (id, actor) => sessions.revoke(id, actor) })
  const followers: TenancyFollower[] = []
  directory = new KeyCache({
    clock,
    hashKey: installation.hashKey,
    hashImportedKey: installation.hashImportedKey,
    load: name => loadPrincipal(name, { tenants, sessions }),
    subjectsOf,
    versionOf,
    dropped(subjects) {
      tenants.drop(subjects)
      deviceSignIns.drop(subjects)
      for (const follow of followers) follow(subjects)
    },
    restored: kept && { snapshot: kept.keys, ageMs: clock.epochMs() - kept.savedAtMs },
    polled: keepKnown && (() => directory && keepKnown(directory)),
    async changesSince(revision) {
      const [changes, { isReadOnly, identity }] = await Promise.all([
        changesSince(database, revision),
        serverState(database, sharedClock),
        followMasterKey(installation, logger),
        configured.poll(),
      ])
      if (isReadOnly === takesChanges) logReadOnly(logger, isReadOnly)
      takesChanges = !isReadOnly
      names.seen(identity)
      return changes
    },
    reportReachable(now, reason) {
      answersSinceMs = now ? clock.monotonicMs() : undefined
      logReachable(logger, now, reason)
    },
  })
  await directory.start()
  return {
    installation,
    configured,
    secrets,
    keys: {
      tenancy,
      tenants,
      sessions,
      passwords,
      deviceSignIns,
      directory,
      databaseReachable: () => answersSinceMs !== undefined,
      databaseState: (): DatabaseState =>
        answersSinceMs === undefined ? 'disconnected' : takesChanges ? 'connected' : 'read-only',
      databaseAnswersSinceMs: () => answersSinceMs,
      followTenancy: (follow: TenancyFollower) => void followers.push(follow),
    },
  }
}

/** Is called with what this process has changed; the other workers ask for it at once, and this one for theirs. */
function toldToWorkers(worker: WorkerLink | undefined, directory: () => KeyCache | undefined) {
  worker?.onChanged(() => void directory()?.poll())
  return (subjects: readonly string[], revision?: number) => {
    directory()?.changed(subjects, revision)
    worker?.changed()
  }
}

/** `changed` is called with what this process has changed. */
function openTenancy(
  { database, sharedClock }: Pick<TimedDatabase, 'database' | 'sharedClock'>,
  changed: (subjects: readonly string[]) => void,
) {
  const tenancy = createTenancyStore({ database, clock: sharedClock, onChange: changed })
  return { tenancy, tenants: new CallerLoader(tenancy) }
}

function logReachable(logger: Logger, reachable: boolean, reason: string | undefined): void {
  if (reachable) logger.info('the database answers again')
  else logger.error('the database does not answer; known keys keep working, calls are kept in the journal', { reason })
}

function logReadOnly(logger: Logger, readOnly: boolean): void {
  if (readOnly) logger.error('the database takes no changes (read-only); calls are kept in the journal')
  else logger.info('the database takes changes again')
}

function objectStores(
  {
    database,
    secrets,
    sharedClock,
    writer,
  }: { database: Database; secrets: EncryptionKeys; sharedClock: SharedClock; writer: string },
  settings: () => Pick<Settings, 'storageQuota' | 'chatRetentionMs'>,
  logger: Logger,
) {
  const guard = createStorageGuard(database, () => settings().storageQuota)
  return {
    responses: createResponseStore({
      database,
      clock,
      guard,
      report: problem => logger.error('the response store reports a problem', { problem }),
    }),
    assistants: createAssistantStore(database, guard),
    files: createFileStore({
      database,
      clock,
      sharedClock,
      guard,
      writer,
      report: problem => logger.error('the store of files reports a problem', { problem }),
    }),
    conversations: createConversationStore({
      database,
      clock,
      guard,
      keys: secrets,
      retentionMsMax: () => settings().chatRetentionMs ?? null,
      report: problem => logger.error('the store of conversations reports a problem', { problem }),
    }),
    idempotentRequests: createIdempotentRequests({
      database,
      clock: sharedClock,
      guard,
      report: problem => logger.error('the record of idempotent requests reports a problem', { problem }),
    }),
  }
}

/** Calls as they end; over Redis those of the other replicas, too. */
function openTail({ redisUrl }: ServeOptions, { sign }: Installation) {
  const keys = new KeyRing([new Secret(sign('encryption of the live ledger').toString('hex'))])
  const exchange = redisUrl === undefined ? undefined : new RedisTail({ url: redisUrl, keys })
  return { tail: new MemoryTail(exchange), exchange }
}

function openLedgerOf(
  options: ServeOptions,
  logger: Logger,
  { openedFile, isSilent }: Database,
  hooks: { retention(): LedgerRetention; settled(row: LedgerRow): void },
): Promise<JournalledLedger> {
  const { databaseUrl, journalSegmentBytes } = options
  const journalDirectory = join(ownDirectory(options), 'journal')
  adoptJournals(options, journalDirectory)
  return openLedger({
    databaseUrl,
    openedFile,
    isSilent,
    journalDirectory,
    ...(journalSegmentBytes && { segmentBytes: journalSegmentBytes }),
    clock,
    ...hooks,
    report: problem => logger.error('the ledger reports a problem', { problem }),
    note: (text, { bytes, records, sinceMs }) =>
      logger.info(text, bytes > 0 ? { bytes, records, oldest: new Date(sinceMs).toISOString() } : {}),
  })
}

/** The variables that give keys to encrypt with. */
const keyVariables = ['MODELGATE_ENCRYPTION_KEY', 'LITELLM_SALT_KEY', 'MODELGATE_DECRYPTION_KEYS']

function openBodiesOf(
  { databaseUrl, dataDirectory, environment }: ServeOptions,
  logger: Logger,
  { database, secrets, settings }: { database: Database; secrets: EncryptionKeys; settings: () => Settings['bodies'] },
): RunningBodyStore {
  const given = keyVariables.flatMap(name => (environment[name] ? [[name, environment[name]] as const] : []))
  return openBodyStore({
    database,
    writer: { databaseUrl, dataDirectory, environment: Object.fromEntries(given) },
    keys: secrets,
    clock,
    settings,
    report: problem => logger.error('the store of bodies reports a problem', { problem }),
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

function claimDatabase({ databaseUrl }: ServeOptions, logger: Logger, later: boolean) {
  return claimSingleReplica(databaseUrl, { reportHeld: held => reportClaim(held, logger), later })
}

function reportClaim(held: boolean, logger: Logger): void {
  if (held) logger.info('this is the only replica on the database again')
  else
    logger.error(
      'another replica runs on this database, and without REDIS_URL limits are counted by each: not ready until it ' +
        'ends; stop one of them or set REDIS_URL',
    )
}
