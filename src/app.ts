/** The composition root: the one place where every part meets. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import packageJson from '../package.json' with { type: 'json' }
import { costNanoUsd, nanoUsdToText } from './accounts/cost.ts'
import { keyProblem } from './accounts/key.ts'
import { ModelIndex } from './accounts/model-index.ts'
import { concreteModel } from './config/model-facts.ts'
import type { ReloadReport, RunningServer, ServeOptions } from './config/serve-options.ts'
import { openSettings } from './config/settings-source.ts'
import type { SettingsSource } from './config/settings-source.ts'
import { countModels } from './config/summary.ts'
import type { Caller, VirtualKey } from './core/call.ts'
import type { Services } from './core/endpoint.ts'
import { GatewayError } from './core/errors.ts'
import type { AssistantStore, FileStore, KeyDirectory, Limiter } from './core/ports.ts'
import { endpoints } from './endpoints/index.ts'
import { createFrontDoor } from './endpoints/router.ts'
import type { FrontDoor, FrontDoorParts } from './endpoints/router.ts'
import { connectionLimit, connectionsVariable, descriptorsMax } from './http/connection-limit.ts'
import { listen } from './http/server.ts'
import type { ClientCounts, ConnectionLimit, HttpServer } from './http/server.ts'
import { systemClock } from './lib/clock.ts'
import { endAll } from './lib/end-all.ts'
import { QuietCollector } from './lib/quiet-collector.ts'
import { TimerWheel } from './lib/timer-wheel.ts'
import { Tokenizer } from './lib/tokenizer.ts'
import { createHttp1Transport } from './pipeline/http1/client.ts'
import { DetachedWork } from './pipeline/detached.ts'
import { createFileCalls } from './pipeline/file-call.ts'
import { createPlaceFiles } from './pipeline/named-files.ts'
import { createPreviewCall } from './pipeline/preview.ts'
import type { Rest } from './pipeline/cooldown.ts'
import { Router } from './pipeline/route.ts'
import { createCallModel } from './pipeline/serve.ts'
import { createPolicies } from './policies/index.ts'
import { modelAccess } from './policies/model-access.ts'
import { countRequests, rateLimit } from './policies/rate-limit.ts'
import { providers } from './providers/index.ts'
import { createAssistantStore } from './store/assistants.ts'
import { lockDataDirectory } from './store/data-lock.ts'
import type { DataLock } from './store/data-lock.ts'
import { createFileStore } from './store/files.ts'
import { openInstallation } from './store/installation.ts'
import type { Installation } from './store/installation.ts'
import { CachedKeyDirectory } from './store/key-directory.ts'
import { createKeyStore, keyChangesSince } from './store/keys.ts'
import { openLedger } from './store/ledger.ts'
import type { JournalledLedger } from './store/ledger.ts'
import { MemoryLimiter } from './store/limiter-memory.ts'
import { RedisLimiter } from './store/limiter-redis.ts'
import { migrate } from './store/migrate.ts'
import { openDatabase } from './store/open.ts'
import type { Database } from './store/open.ts'
import { claimSingleReplica } from './store/replica-lock.ts'
import { createResponseStore } from './store/responses.ts'
import type { RunningResponseStore } from './store/responses.ts'
import { createLogger } from './telemetry/log.ts'
import type { LogFields, Logger, LogLevel } from './telemetry/log.ts'
import { createMetrics } from './telemetry/prometheus.ts'

const clock = systemClock

/** What the operator is told once the gateway listens. */
export type Announcement = Pick<RunningServer, 'url' | 'models' | 'warnings' | 'firstMasterKey'>

/**
 * Starts everything and serves. Throws with a reason fit for the operator when it cannot. `announce` is called once and
 * writes out what it is given before it returns: a master key that was made is stored only after that.
 */
export async function startServer(options: ServeOptions, announce: (what: Announcement) => void = () => {}): Promise<RunningServer> {
  const { environment } = options
  const logger = createLogger({ level: logLevel(environment), clock })
  const source = openSettings({ configFile: options.configFile, environment, providers })
  mkdirSync(options.dataDirectory, { recursive: true, mode: 0o700 })
  const lock = lockDataDirectory(options.dataDirectory)
  let store: Store | undefined
  try {
    store = await openStore(options, logger)
    return await serveStore({ options, logger, source, lock, store, announce })
  } catch (error) {
    // What the start failed for is what the operator has to know.
    await endAll([() => store?.close(), () => lock.release(), () => logger.drain(1000)]).catch(() => {})
    throw error
  }
}

interface Serving {
  readonly options: ServeOptions
  readonly logger: Logger
  readonly source: SettingsSource
  readonly lock: DataLock
  readonly store: Store
  announce(what: Announcement): void
}

async function serveStore({ options, logger, source, lock, store, announce }: Serving): Promise<RunningServer> {
  const { environment } = options
  const connectionsMax = connectionLimit(environment[connectionsVariable], descriptorsMax())
  const parts = assemble({ options, source, store, logger, clients: () => server.clients() })
  const collector = new QuietCollector({
    isBusy: () => parts.transport.connections().busy > 0,
    isSettling: () => store.ledger.waitingBytes() > 0,
  })
  const server = listen({
    hostname: options.host,
    port: options.port,
    clock,
    wheel: parts.timers,
    handle: request => {
      collector.touch()
      return parts.door.handle(request)
    },
    refuse: refusal => parts.door.refuse(refusal),
    report: thrown => logger.error('the front door failed', { error: thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown) }),
    limit: limitOf(connectionsMax, parts.door, logger),
  })
  const facts = { url: server.url, models: countModels(source.current()), warnings: source.current().warnings }
  const firstMasterKey = await keepMasterKey(store, logger, made => announce({ ...facts, firstMasterKey: made })).catch((error: unknown) => {
    void server.stop()
    server.cut()
    throw error
  })
  source.watch(report => parts.reloaded(report))
  return {
    ...facts,
    firstMasterKey,
    connections: () => parts.transport.connections(),
    reload() {
      const report = source.reload()
      parts.reloaded(report)
      return report
    },
    report: (what, thrown) =>
      logger.error(what, { error: thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown) }),
    async stop() {
      source.close()
      collector.stop()
      parts.draining()
      const cutRequests = await stopServing(server, { environment, logger, upstreamCalls: parts.transport.connections().busy })
      await endAll([
        () => parts.detached.stop(), () => parts.tokenizer.stop(), () => parts.transport.close(), () => store.close(), () => lock.release(),
        () => logger.info('the gateway has stopped', { cut_requests: cutRequests }), () => logger.drain(1000),
      ])
    },
  }
}

/** The key that was made at this first start, if any. */
async function keepMasterKey({ installation }: Store, logger: Logger, show: (made: string | undefined) => void): Promise<string | undefined> {
  const { made, replaced } = await installation.keepMasterKey(show)
  if (replaced)
    logger.warn('the given master key replaces the one that was kept, which is no longer valid here nor on other replicas', {
      master_key_hash: installation.masterKeyName(),
    })
  return made
}

/** A call that ends, or a connection that has been idle for a second, makes place. */
const fullRetryMs = 1000

function limitOf(max: number, door: FrontDoor, logger: Logger): ConnectionLimit {
  const message = 'the gateway has as many connections as it can serve, and none is idle; try again in a second'
  return {
    max,
    turnAway: request => door.turnAway(request, new GatewayError('overloaded', message, { retryAfterMs: fullRetryMs })),
    reached: ({ turnedAway }) =>
      logger.warn(`clients are turned away, as many as can be served are connected; let the process open more files (ulimit -n), set ${connectionsVariable}, or run more replicas`, {
        connections_max: max, turned_away: turnedAway,
      }),
  }
}

function logLevel(environment: ServeOptions['environment']): LogLevel {
  const level = environment.MODELGATE_LOG_LEVEL ?? environment.LOG_LEVEL ?? 'info'
  return ['debug', 'info', 'warn', 'error', 'off'].includes(level) ? (level as LogLevel) : 'info'
}

interface Store {
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
  /** Absent = there is no Redis. */
  readonly redisReachable: (() => boolean) | undefined
  /** Without Redis: no other replica counts limits on this database. */
  isOnlyReplica(): boolean
  close(): Promise<void>
}

/** Everything that lasts longer than a call: database, keys, limits, ledger. */
async function openStore(options: ServeOptions, logger: Logger): Promise<Store> {
  const database = await openDatabase(options.databaseUrl)
  await migrate(database)
  const replica = options.redisUrl === undefined ? await claimSingleReplica(options.databaseUrl, { reportHeld: held => tellClaim(held, logger) }) : undefined
  const installation = await openInstallation(database, { masterKey: options.masterKey, pepper: options.keyPepper })
  let reachable = true
  let directory: CachedKeyDirectory | undefined
  const keys = createKeyStore({ database, clock, onChange: hash => directory?.changed(hash) })
  directory = new CachedKeyDirectory({
    store: keys,
    clock,
    hashKey: installation.hashKey,
    async changesSince(revision) {
      const [changes] = await Promise.all([keyChangesSince(database, revision), followMasterKey(installation, logger)])
      return changes
    },
    reportReachable(now, reason) {
      reachable = now
      if (now) logger.info('the database answers again')
      else logger.error('the database does not answer; known keys keep working, calls are kept in the journal', { reason })
    },
  })
  await directory.start()
  const redis = await openRedis(options.redisUrl, logger)
  const ledger = await openLedger({
    databaseUrl: options.databaseUrl,
    journalDirectory: join(options.dataDirectory, 'journal'),
    clock,
    report: problem => logger.error('the ledger reports a problem', { problem }),
  })
  const responses = createResponseStore({ database, clock, report: problem => logger.error('the response store reports a problem', { problem }) })
  return {
    database,
    installation,
    keys,
    directory,
    limiter: redis ?? new MemoryLimiter(clock),
    ledger,
    responses,
    assistants: createAssistantStore(database),
    files: createFileStore(database),
    databaseReachable: () => reachable,
    redisReachable: redis && (() => redis.reachable),
    isOnlyReplica: () => replica?.held ?? true,
    close: () =>
      endAll([
        () => responses.stop(), () => directory.stop(), () => ledger.close(), () => redis?.close(), () => replica?.release(), () => database.close(),
      ]),
  }
}

/** Asked at every poll of the keys, so that the other replicas know of a new master key as soon as of any other. */
async function followMasterKey(installation: Installation, logger: Logger): Promise<void> {
  const change = await installation.followMasterKey()
  if (change === 'none') return
  const message =
    change === 'followed'
      ? 'another replica was started with another master key, which is the valid one from now on; the one before is refused'
      : 'the database came back with an older master key; the present one was stored again'
  logger.warn(message, { master_key_hash: installation.masterKeyName() })
}

function tellClaim(held: boolean, logger: Logger): void {
  if (held) logger.info('this is the only replica on the database again')
  else logger.error('another replica runs on this database, and without REDIS_URL limits are counted by each: not ready until it ends; stop one of them or set REDIS_URL')
}

async function openRedis(url: string | undefined, logger: Logger): Promise<RedisLimiter | undefined> {
  if (url === undefined) return undefined
  const limiter = new RedisLimiter({
    url,
    fallback: new MemoryLimiter(clock),
    reportReachable: (reachable, reason) =>
      reachable
        ? logger.info('Redis answers again')
        : logger.error('Redis does not answer; limits hold for each replica by itself', { reason }),
  })
  await limiter.start()
  return limiter
}

interface Assembling {
  readonly options: ServeOptions
  readonly source: SettingsSource
  readonly store: Store
  readonly logger: Logger
  readonly clients: () => ClientCounts
}

/** Joins the parts of a running gateway; what a reload swaps is asked for anew on every call. */
function assemble({ options, source, store, logger, clients }: Assembling) {
  const transport = createHttp1Transport({ clock })
  const timers = new TimerWheel(clock)
  let index = new ModelIndex(source.current(), concreteModel)
  const settings = () => index.settings
  const metrics = createMetrics({
    upstreamConnections: () => transport.connections(), clientConnections: clients, ledger: store.ledger, droppedLogLines: () => logger.dropped(),
    restingDeployments: () => router.resting(), databaseReachable: () => store.databaseReachable(),
    redisReachable: store.redisReachable,
  })
  const policies = createPolicies({
    ledger: store.ledger,
    limiter: store.limiter,
    settings,
    models: () => index,
    log: settlement => logger.call(settlement),
    count: settlement => metrics.call(settlement),
  })
  const access = modelAccess(() => index)
  const router = new Router({ transport, timers, clock, random: Math.random, access, reportRest: rest => logger.warn('a deployment failed and rests, others go first', restFields(rest)) })
  let draining = false
  const detached = new DetachedWork()
  const tokenizer = new Tokenizer()
  const { uploadDirectory, fileCalls, placeFiles } = assembleFiles({ options, store, settings }, transport)
  const services: Services = {
    settings,
    models: () => index,
    callModel: createCallModel({
      policies, router, clock, settings, placeFiles, uploadDirectory, resolve: model => index.resolve(model), cost: costNanoUsd, costText: nanoUsdToText,
    }),
    previewCall: createPreviewCall({ clock, access, placeFiles }),
    tokenizer,
    keys: store.keys,
    ledger: store.ledger,
    responses: store.responses,
    assistants: store.assistants,
    files: store.files,
    fileCalls,
    detached,
    hashKey: store.installation.hashKey,
    metricsText: () => metrics.text(),
    readiness: () => readiness(store, draining),
    epochMs: () => clock.epochMs(),
    version: packageJson.version,
  }
  const door = createFrontDoor({
    endpoints,
    services,
    identify: identifier(store),
    reportInternal: (error, request) => tellInternal(logger, error, request),
    metricsRequireKey: () => settings().metricsRequireKey,
    countRequest: countRequests(store.limiter, settings),
  })
  return {
    transport,
    detached,
    tokenizer,
    timers,
    door,
    draining: () => void (draining = true),
    reloaded(report: ReloadReport) {
      if (report.applied) {
        index = new ModelIndex(source.current(), concreteModel)
        metrics.configured(index.settings.deployments)
      }
      tellReload(logger, report, index.settings)
    },
  }
}

type FrontDoorRequest = Parameters<FrontDoorParts['reportInternal']>[1]

function tellInternal(logger: Logger, { cause }: GatewayError, { id, method, path }: FrontDoorRequest): void {
  const error = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)
  logger.error('a request failed', { request_id: id, method, path, error })
}

function tellReload(logger: Logger, { applied, problems, atNextStart }: ReloadReport, settings: ModelIndex['settings']): void {
  if (!applied) return logger.error('the configuration was not changed', { problems: problems.join('\n') })
  const { own, builtIn } = countModels(settings)
  logger.info('the configuration was read anew', { models: own, built_in_models: builtIn })
  if (atNextStart) logger.warn('a setting was changed that takes effect at the next start', { settings: atNextStart.join(', ') })
}

function restFields({ deployment, restMs, failsInARow, error }: Rest): LogFields {
  return {
    deployment: deployment.id, model: deployment.modelName, provider: deployment.target.provider.name,
    rest_ms: restMs, failures: failsInARow, error: error.kind, error_message: error.message,
  }
}

type FilesOf = Pick<Assembling, 'options' | 'store'> & { settings(): ModelIndex['settings'] }

/** Files on their way to upstreams, by themselves and named in other calls. */
function assembleFiles({ options, store, settings }: FilesOf, transport: ReturnType<typeof createHttp1Transport>) {
  const uploadDirectory = join(options.dataDirectory, 'uploads')
  const fileCalls = createFileCalls({ transport, clock, settings, uploadDirectory, limits: rateLimit(store.limiter, settings) })
  return { uploadDirectory, fileCalls, placeFiles: createPlaceFiles({ files: store.files, fileCalls, clock, settings }) }
}

function readiness(store: Store, draining: boolean): { ready: boolean; details: Record<string, unknown> } {
  const database = store.databaseReachable() ? 'connected' : 'disconnected'
  // The database may be away for a while: known keys work and the journal keeps every call.
  // Two that count by themselves let through twice the limits, which a start refuses too: the one with the claim serves.
  const ready = !draining && store.ledger.healthy && store.isOnlyReplica()
  return {
    ready,
    details: {
      db: database,
      redis: store.redisReachable === undefined ? 'not configured' : store.redisReachable() ? 'connected' : 'disconnected',
      ledger: store.ledger.healthy ? (store.ledger.failure() ?? 'ok') : 'the journal cannot be written (disk full?)',
      ...(!store.isOnlyReplica() && { replicas: 'another replica runs on this database, and there is no REDIS_URL to share limits' }),
      ...(draining && { draining: true }),
    },
  }
}

const masterKeyRecord: VirtualKey = {
  id: 'master', alias: 'master key', userId: null, teamId: null, models: [], expiresAtMs: null, blocked: false,
  requestsPerMinute: null, tokensPerMinute: null, parallelRequests: null, metadata: {},
}

/** Key text to caller; synchronous for every key that is known here, and for the master key: it needs no database. */
function identifier(store: Store): (keyText: string) => Caller | undefined | Promise<Caller | undefined> {
  const admin: Caller = { role: 'admin', key: masterKeyRecord }
  /** One caller object a key: nothing is made on the path of a call. */
  const callers = new WeakMap<VirtualKey, Caller>()
  const callerOf = (key: VirtualKey | undefined): Caller | undefined => {
    if (!key || keyProblem(key, clock.epochMs())) return undefined
    let caller = callers.get(key)
    if (!caller) callers.set(key, (caller = { role: 'key', key }))
    return caller
  }
  return keyText => {
    const known = store.directory.lookup(keyText)
    if (known !== undefined && !(known instanceof Promise)) return callerOf(known)
    if (!store.installation.isMasterKey(keyText)) return known?.then(callerOf)
    // It is no virtual key, so whatever the database says, or does not say, is not waited for.
    known?.catch(() => {})
    return admin
  }
}

/** Of the 30 s that Kubernetes waits before it kills, the rest is for runs in the background and the ledger. */
const drainMs = 20_000
/** For what is told to end, to do so. */
const goodbyeMs = 1000

interface Stopping extends Pick<ServeOptions, 'environment'> {
  readonly logger: Logger
  readonly upstreamCalls: number
}

/**
 * Load balancers get time to look away, streams get time to end; what is left then is told so, and cut. Answers how
 * many requests were.
 */
async function stopServing(server: HttpServer, { environment, logger, upstreamCalls }: Stopping): Promise<number> {
  const limitMs = Number(environment.MODELGATE_DRAIN_MS ?? drainMs)
  logger.info('the gateway stops; what is under way may end', {
    open_requests: server.clients().busy, upstream_calls: upstreamCalls, drain_ms: limitMs,
  })
  await Bun.sleep(Number(environment.MODELGATE_DRAIN_DELAY_MS ?? 0))
  const ended = server.stop()
  const done = await Promise.race([ended.then(() => true), Bun.sleep(limitMs).then(() => false)])
  if (done) return 0
  const { busy } = server.clients()
  if (busy > 0) logger.warn('requests did not end in time and are cut', { cut_requests: busy })
  server.interrupt(new GatewayError('overloaded', 'the gateway is stopping; try again', { retryAfterMs: 1000 }))
  await Promise.race([ended, Bun.sleep(goodbyeMs)])
  server.cut()
  return busy
}
