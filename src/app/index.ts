/** The composition root: the only place that connects all rooms. */
import { ownDirectory } from '../config/serve-options.ts'
import type { RunningServer, ServeOptions } from '../config/serve-options.ts'
import { SecretSources } from '../config/secret-sources.ts'
import { madeByApiKeys } from '../config/sections/made-by-api.ts'
import { openSettings } from '../config/settings-source.ts'
import type { SettingsSource } from '../config/settings-source.ts'
import { countModels } from '../config/model-counts.ts'
import { GatewayError } from '../core/errors.ts'
import type { RequestRouter } from '../endpoints/router.ts'
import { claimPort } from '../http/server/claim-port.ts'
import { connectionLimit, connectionsVariable } from '../http/server/connection-limit.ts'
import { listen } from '../http/server/server.ts'
import type { ConnectionLimit, HttpServer, TlsIdentity } from '../http/server/server.ts'
import { systemClock as clock } from '../lib/clock.ts'
import { endAll } from '../lib/end-all.ts'
import { tickClock } from '../lib/end-of-tick.ts'
import { providers } from '../providers/index.ts'
import { keepCompilersBehind } from '../platform/compiler-threads.ts'
import { lockDataDirectory } from '../platform/data-directory-lock.ts'
import type { DataLock } from '../platform/data-directory-lock.ts'
import { descriptorLimit } from '../platform/descriptor-limit.ts'
import { readGlobals } from '../platform/global-properties.ts'
import { keepPrivate } from '../platform/private-directory.ts'
import { finishRestore } from '../store/backup/finish-restore.ts'
import { createLogger, stackOf } from '../telemetry/log.ts'
import type { Logger, LogLevel } from '../telemetry/log.ts'
import { assemble } from './assemble.ts'
import { stopServing } from './stop.ts'
import { createSecretReaders } from './secret-readers.ts'
import { openStore } from './store.ts'
import { readTls, watchTls } from './tls-files.ts'
import type { Store } from './store.ts'
import { oldListReport } from '../core/usage/price-list-age.ts'

/** Shown to the operator once the gateway listens. */
export type Announcement = Pick<RunningServer, 'url' | 'models' | 'warnings' | 'leftOut' | 'firstMasterKey'>

/**
 * Starts everything and serves. Throws with a message for the operator when it cannot. `announce` is called once and
 * must have written its argument when it returns: a generated master key is stored only after that.
 */
export async function startServer(
  options: ServeOptions,
  announce: (what: Announcement) => void = () => {},
): Promise<RunningServer> {
  readGlobals()
  const { environment } = options
  const logger = createLogger({ level: logLevel(environment), clock, isShared: options.worker !== undefined })
  const readers = createSecretReaders(environment)
  const secrets = new SecretSources(readers)
  const source = await openSettings({
    configFile: options.configFile,
    environment: { ...environment, SERVER_ROOT_PATH: options.rootPath ?? '' },
    providers,
    secrets,
    readFile: options.readFile,
    leavesOut: true,
  })
  for (const problem of source.current().leftOut ?? [])
    logger.error('an entry of the configuration is left out', { problem })
  const prices = await source.fetchPrices()
  for (const problem of prices?.problems ?? []) logger.warn(problem)
  const old = oldListReport(source.current().priceLists, clock.epochMs())
  // Of several workers the first one says it for all.
  if (old && (options.worker?.number ?? 1) === 1) logger.warn(old.message, old.fields)
  const privacy = keepPrivate(options.dataDirectory)
  const about = { data_directory: options.dataDirectory }
  if (privacy === 'closed')
    logger.warn('other users could read the data directory; it is for the user of the gateway alone now', about)
  if (privacy === 'made-inside')
    logger.info('other users can enter the directory around it: the gateway keeps its files in one of its own', about)
  const lock = await lockOwn(options)
  let store: Store | undefined
  try {
    if (!options.worker) finishRestore(options.dataDirectory)
    store = await openStore(options, logger, () => source.current())
    return await serveStore({ options, logger, source, lock, store, readers, announce })
  } catch (error) {
    // Errors of the cleanup are ignored: the operator needs the reason of the failed start.
    await endAll([() => store?.close(), () => lock.release(), () => readers.close(), () => logger.drain(1000)]).catch(
      () => {},
    )
    throw error
  }
}

/** A worker that was killed a moment ago may not have left its directory yet. */
const lockWaitMs = 5000
const lockAgainMs = 100

/** A worker locks its own directory: that of all is locked by the process that started it. */
async function lockOwn(options: ServeOptions): Promise<DataLock> {
  const directory = ownDirectory(options)
  const untilMs = performance.now() + (options.worker ? lockWaitMs : 0)
  for (;;)
    try {
      return lockDataDirectory(directory)
    } catch (error) {
      if (performance.now() >= untilMs) throw error
      await Bun.sleep(lockAgainMs)
    }
}

interface ServerParts {
  readonly options: ServeOptions
  readonly logger: Logger
  readonly source: SettingsSource
  readonly lock: DataLock
  readonly store: Store
  readonly readers: { close(): void }
  announce(what: Announcement): void
}

async function serveStore(serving: ServerParts): Promise<RunningServer> {
  const { options, logger, source, lock, store, readers, announce } = serving
  const identity = options.tls && readTls(options.tls)
  await source.merged.useObjects(() => store.configured.objects())
  const secrets = refreshSecrets(source, logger)
  await secrets.readNew()
  const parts = assemble({ options, source, store, logger, clients: () => server.clients() })
  parts.objectsChanged()
  await parts.usageExport.begin()
  store.configured.onChange(() => tellObjects(parts, options))
  await claimOwnPort(options)
  const server = openServer(serving, parts, identity)
  const facts = servedFacts(server.url, source)
  const kept = keepMasterKey(store, logger, made => announce({ ...facts, firstMasterKey: made }))
  const firstMasterKey = await kept.catch((error: unknown) => giveUp(server, error))
  source.watch(report => parts.reloaded(report))
  secrets.start()
  const watches = [parts.watchBatches(), parts.watchKeys(), parts.watchHealth(), keepCompilersBehind()]
  if (identity) watches.push(watchTls(options.tls!, { identity, logger, renew: next => server.renewTls(next) }))
  return {
    ...facts,
    firstMasterKey,
    connections: () => parts.transport.connections(),
    async reload() {
      const report = await source.reload()
      parts.reloaded(report)
      return report
    },
    report: (what, thrown) => logger.error(what, { error: stackOf(thrown) }),
    async stop() {
      source.close()
      parts.draining()
      store.ledgerTail.close()
      const cutRequests = await stopServing(server, {
        environment: options.environment,
        logger,
        upstreamCalls: parts.transport.connections().busy,
      })
      await endAll([
        () => secrets.stop(),
        () => readers.close(),
        ...watches.map(one => () => one.stop()),
        () => parts.usageExport.stop(),
        () => parts.detached.stop(),
        () => parts.tokenizer.stop(),
        () => parts.signIn.flush(),
        () => parts.tools.close(),
        () => parts.telemetry.stop(),
        () => parts.transport.close(),
        () => store.close(),
        () => lock.release(),
        () => logger.info('the gateway has stopped', { cut_requests: cutRequests }),
        () => logger.drain(1000),
      ])
    },
  }
}

function giveUp(server: HttpServer, error: unknown): never {
  void server.stop()
  server.cut()
  throw error
}

/** Workers of a gateway that was killed a moment ago may not have left the port yet. */
const portWaitMs = 2000

/** Where the server itself would not notice that another one has the port. */
async function claimOwnPort({ host, port, tls, worker }: ServeOptions): Promise<void> {
  if (worker ? !worker.joinsOthers : tls !== undefined) await claimPort(host, port, worker ? portWaitMs : 0)
}

function openServer(
  { options, logger }: ServerParts,
  parts: ReturnType<typeof assemble>,
  tls: TlsIdentity | undefined,
): HttpServer {
  return listen({
    hostname: options.host,
    port: options.port,
    sharesPort: options.worker !== undefined,
    tls,
    clock: tickClock,
    wheel: parts.timers,
    handle: parts.router.handle,
    refuse: parts.router.refuse,
    report: thrown => logger.error('the router failed', { error: stackOf(thrown) }),
    limit: limitOf(options, parts.router, logger),
    bodyMemoryBytesMax: parts.bodyMemoryBytesMax,
  })
}

function servedFacts(url: string, source: SettingsSource): Omit<Announcement, 'firstMasterKey'> {
  const { warnings, leftOut = [] } = source.current()
  return { url, models: countModels(source.current()), warnings, leftOut }
}

function tellObjects(parts: { objectsChanged(): void }, { worker }: ServeOptions): void {
  parts.objectsChanged()
  worker?.changed()
}

/** Reads secrets that are kept elsewhere: those that are new, and from `start` on all of them from time to time. */
function refreshSecrets(source: SettingsSource, logger: Logger) {
  let timer: ReturnType<typeof setTimeout> | undefined
  let stopped = false
  const read = (which: 'all' | 'new') =>
    source.readSecrets(which, (reference, reason) =>
      logger.warn('a secret cannot be read; what was read last is used, where there is any', {
        // The words of a command may be secret.
        secret: reference.startsWith('command/') ? 'command/...' : reference,
        reason,
      }),
    )
  const plan = () => {
    if (stopped) return
    const seconds =
      source.config().general_settings?.secret_refresh_seconds ?? madeByApiKeys.secret_refresh_seconds.default
    timer = setTimeout(() => void read('all').finally(plan), seconds * 1000)
    timer.unref()
  }
  return {
    readNew: () => read('new'),
    start: plan,
    stop() {
      stopped = true
      clearTimeout(timer)
    },
  }
}

/** The master key that was generated at a first start, if any. */
async function keepMasterKey(
  { installation, startedAway }: Store,
  logger: Logger,
  show: (made: string | undefined) => void,
): Promise<string | undefined> {
  if (startedAway) {
    show(undefined)
    return undefined
  }
  const { made, replaced } = await installation.keepMasterKey(show)
  if (replaced)
    logger.warn(
      'the given master key replaces the one that was kept, which is no longer valid here nor on other replicas',
      {
        master_key_hash: installation.masterKeyName(),
      },
    )
  return made
}

/** The end of a call, or a connection idle for a second, frees a slot. */
const fullRetryMs = 1000

function limitOf({ environment }: ServeOptions, router: RequestRouter, logger: Logger): ConnectionLimit {
  const max = connectionLimit(environment[connectionsVariable], descriptorLimit())
  const message = 'the gateway has as many connections as it can serve, and none is idle; try again in a second'
  return {
    max,
    turnAway: request =>
      router.turnAway(request, new GatewayError('overloaded', message, { retryAfterMs: fullRetryMs })),
    reached: ({ turnedAway }) =>
      logger.warn(
        'clients are turned away, as many as can be served are connected; let the process open more files ' +
          `(ulimit -n), set ${connectionsVariable}, or run more replicas`,
        {
          connections_max: max,
          turned_away: turnedAway,
        },
      ),
  }
}

function logLevel(environment: ServeOptions['environment']): LogLevel {
  const level = environment.MODELGATE_LOG_LEVEL || environment.LOG_LEVEL || 'info'
  return ['debug', 'info', 'warn', 'error', 'off'].includes(level) ? (level as LogLevel) : 'info'
}
