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
import type { Caller, VirtualKey } from './core/call.ts'
import type { Services } from './core/endpoint.ts'
import type { AssistantStore, FileStore, KeyDirectory, Limiter } from './core/ports.ts'
import { endpoints } from './endpoints/index.ts'
import { createFrontDoor } from './endpoints/router.ts'
import { listen } from './http/server.ts'
import type { HttpServer } from './http/server.ts'
import { systemClock } from './lib/clock.ts'
import { QuietCollector } from './lib/quiet-collector.ts'
import { TimerWheel } from './lib/timer-wheel.ts'
import { Tokenizer } from './lib/tokenizer.ts'
import { createHttp1Transport } from './pipeline/http1/client.ts'
import { DetachedWork } from './pipeline/detached.ts'
import { createFileCalls } from './pipeline/file-call.ts'
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

/** Starts everything and serves. Throws with a reason fit for the operator when it cannot. */
export async function startServer(options: ServeOptions): Promise<RunningServer> {
  const { environment } = options
  const logger = createLogger({ level: logLevel(environment), clock })
  const source = openSettings({ configFile: options.configFile, environment, providers })
  mkdirSync(options.dataDirectory, { recursive: true, mode: 0o700 })
  const lock = lockDataDirectory(options.dataDirectory)
  try {
    const store = await openStore(options, logger)
    const parts = assemble({ options, source, store, logger })
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
    })
    source.watch(report => parts.reloaded(report))
    return {
      url: server.url,
      firstMasterKey: store.installation.newMasterKey,
      models: source.current().deployments.length,
      warnings: source.current().warnings,
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
        await stopServing(server, environment)
        await parts.detached.stop()
        parts.tokenizer.stop()
        parts.transport.close()
        await store.close()
        lock.release()
        await logger.drain(1000)
      },
    }
  } catch (error) {
    lock.release()
    throw error
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
  close(): Promise<void>
}

/** Everything that lasts longer than a call: database, keys, limits, ledger. */
async function openStore(options: ServeOptions, logger: Logger): Promise<Store> {
  const database = await openDatabase(options.databaseUrl)
  await migrate(database)
  const replica = options.redisUrl === undefined ? await claimSingleReplica(options.databaseUrl) : undefined
  const installation = await openInstallation(database, { masterKey: options.masterKey, pepper: options.keyPepper })
  if (installation.replacedMasterKey) logger.warn('the given master key replaces the one that was kept, which is no longer valid')
  let reachable = true
  let directory: CachedKeyDirectory | undefined
  const keys = createKeyStore({ database, clock, onChange: hash => directory?.changed(hash) })
  directory = new CachedKeyDirectory({
    store: keys,
    clock,
    hashKey: installation.hashKey,
    changesSince: revision => keyChangesSince(database, revision),
    reportReachable(now) {
      reachable = now
      if (now) logger.info('the database answers again')
      else logger.error('the database does not answer; known keys keep working, calls are kept in the journal')
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
    async close() {
      responses.stop()
      await directory.stop()
      await ledger.close()
      redis?.close()
      await replica?.release()
      await database.close()
    },
  }
}

async function openRedis(url: string | undefined, logger: Logger): Promise<RedisLimiter | undefined> {
  if (url === undefined) return undefined
  const limiter = new RedisLimiter({
    url,
    fallback: new MemoryLimiter(clock),
    reportReachable: reachable =>
      reachable ? logger.info('Redis answers again') : logger.error('Redis does not answer; limits hold for each replica by itself'),
  })
  try {
    await limiter.connect()
  } catch (error) {
    logger.error('Redis cannot be reached at the start; limits hold for each replica by itself', {
      reason: error instanceof Error ? error.message : String(error),
    })
  }
  return limiter
}

interface Assembling {
  readonly options: ServeOptions
  readonly source: SettingsSource
  readonly store: Store
  readonly logger: Logger
}

/** Joins the parts of a running gateway; what a reload swaps is asked for anew on every call. */
function assemble({ options, source, store, logger }: Assembling) {
  const transport = createHttp1Transport({ clock })
  const timers = new TimerWheel(clock)
  let index = new ModelIndex(source.current(), concreteModel)
  const settings = () => index.settings
  const metrics = createMetrics({
    upstreamConnections: () => transport.connections(), ledger: store.ledger, droppedLogLines: () => logger.dropped(),
    restingDeployments: () => router.resting(), databaseReachable: () => store.databaseReachable(),
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
  const uploadDirectory = join(options.dataDirectory, 'uploads')
  const services: Services = {
    settings,
    models: () => index,
    callModel: createCallModel({
      policies, router, clock, settings, uploadDirectory, resolve: model => index.resolve(model), cost: costNanoUsd, costText: nanoUsdToText,
    }),
    previewCall: createPreviewCall({ clock, access }),
    tokenizer,
    keys: store.keys,
    ledger: store.ledger,
    responses: store.responses,
    assistants: store.assistants,
    files: store.files,
    fileCalls: createFileCalls({ transport, clock, settings, uploadDirectory, limits: rateLimit(store.limiter, settings) }),
    detached,
    hashKey: store.installation.hashKey,
    metricsText: () => metrics.text(),
    readiness: () => readiness(options, store, draining),
    epochMs: () => clock.epochMs(),
    version: packageJson.version,
  }
  const door = createFrontDoor({
    endpoints,
    services,
    identify: identifier(store),
    reportInternal: (error, request) =>
      logger.error('a request failed', {
        request_id: request.id, method: request.method, path: request.path,
        error: error.cause instanceof Error ? (error.cause.stack ?? error.cause.message) : String(error.cause),
      }),
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
      if (!report.applied) return logger.error('the configuration was not changed', { problems: report.problems.join('\n') })
      index = new ModelIndex(source.current(), concreteModel)
      logger.info('the configuration was read anew', { models: index.settings.deployments.length })
    },
  }
}

function restFields({ deployment, restMs, failsInARow, error }: Rest): LogFields {
  return {
    deployment: deployment.id, model: deployment.modelName, provider: deployment.target.provider.name,
    rest_ms: restMs, failures: failsInARow, error: error.kind, error_message: error.message,
  }
}

function readiness(options: ServeOptions, store: Store, draining: boolean): { ready: boolean; details: Record<string, unknown> } {
  const database = store.databaseReachable() ? 'connected' : 'disconnected'
  // The database may be away for a while: known keys work and the journal keeps every call.
  const ready = !draining && store.ledger.healthy
  return {
    ready,
    details: {
      db: database,
      redis: options.redisUrl === undefined ? 'not configured' : 'configured',
      ledger: store.ledger.healthy ? (store.ledger.failure() ?? 'ok') : 'the journal cannot be written (disk full?)',
      ...(draining && { draining: true }),
    },
  }
}

const masterKeyRecord: VirtualKey = {
  id: 'master', alias: 'master key', userId: null, teamId: null, models: [], expiresAtMs: null, blocked: false,
  requestsPerMinute: null, tokensPerMinute: null, parallelRequests: null, metadata: {},
}

/** Key text to caller; synchronous for every key that is known here. */
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
    if (known instanceof Promise)
      return known.then(key => callerOf(key) ?? (store.installation.isMasterKey(keyText) ? admin : undefined))
    return callerOf(known) ?? (store.installation.isMasterKey(keyText) ? admin : undefined)
  }
}

const drainMs = 30_000

/** Load balancers get time to look away, streams get time to end; what is left then is cut. */
async function stopServing(server: HttpServer, environment: ServeOptions['environment']): Promise<void> {
  await Bun.sleep(Number(environment.MODELGATE_DRAIN_DELAY_MS ?? 0))
  const ended = server.stop()
  const done = await Promise.race([ended.then(() => true), Bun.sleep(Number(environment.MODELGATE_DRAIN_MS ?? drainMs)).then(() => false)])
  if (!done) server.cut()
}
