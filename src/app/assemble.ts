/** Everything that works on calls, put together. */
import { join } from 'node:path'
import packageJson from '../../package.json' with { type: 'json' }
import { costNanoUsd, nanoUsdToText } from '../accounts/cost.ts'
import { mayCall } from '../accounts/model-access.ts'
import { ModelIndex } from '../accounts/model-index.ts'
import { concreteModel } from '../config/models/model-facts.ts'
import type { ReloadReport, ServeOptions } from '../config/serve-options.ts'
import type { SettingsSource } from '../config/settings-source.ts'
import { countModels } from '../config/model-counts.ts'
import type { Services } from '../core/endpoint.ts'
import { endpoints } from '../endpoints/index.ts'
import { createFrontDoor } from '../endpoints/router.ts'
import type { ClientCounts } from '../http/server/server.ts'
import { systemClock as clock } from '../lib/clock.ts'
import { TimerWheel } from '../lib/timer-wheel.ts'
import { Tokenizer } from '../lib/tokens/tokenizer.ts'
import type { Rest } from '../pipeline/cooldown.ts'
import { DetachedWork } from '../pipeline/background-work.ts'
import { createFileCalls } from '../pipeline/files/file-call.ts'
import { createHttp1Transport } from '../http/client/client.ts'
import { createPlaceFiles } from '../pipeline/files/named-files.ts'
import { createPreviewCall } from '../pipeline/preview.ts'
import { Router } from '../pipeline/route.ts'
import { createCallModel } from '../pipeline/serve.ts'
import { createPolicies } from '../policies/index.ts'
import { modelAccess } from '../policies/model-access.ts'
import { countRequests, rateLimit } from '../policies/rate-limit.ts'
import { stackOf } from '../telemetry/log.ts'
import type { LogFields, Logger } from '../telemetry/log.ts'
import { createMetrics } from '../telemetry/prometheus.ts'
import { identifier } from './caller.ts'
import type { Store } from './store.ts'

/** What the parts are joined around. */
export interface Assembling {
  readonly options: ServeOptions
  readonly source: SettingsSource
  readonly store: Store
  readonly logger: Logger
  readonly clients: () => ClientCounts
}

/** Joins the parts of a running gateway; what a reload swaps is asked for anew on every call. */
export function assemble({ options, source, store, logger, clients }: Assembling) {
  const transport = createHttp1Transport({ clock })
  const timers = new TimerWheel(clock)
  let index = new ModelIndex(source.current(), concreteModel)
  const settings = () => index.settings
  const metrics = createMetrics({
    upstreamConnections: () => transport.connections(),
    clientConnections: clients,
    ledger: store.ledger,
    droppedLogLines: () => logger.dropped(),
    restingDeployments: () => router.resting(),
    databaseReachable: () => store.databaseReachable(),
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
  const router = new Router({
    transport,
    timers,
    clock,
    random: Math.random,
    access,
    reportRest: rest => logger.warn('a deployment failed and rests, others go first', restFields(rest)),
  })
  let draining = false
  const detached = new DetachedWork()
  const tokenizer = new Tokenizer()
  const { uploadDirectory, fileCalls, placeFiles } = assembleFiles({ options, store, settings }, transport)
  const services: Services = {
    settings,
    models: () => index,
    callModel: createCallModel({
      policies,
      router,
      clock,
      settings,
      placeFiles,
      uploadDirectory,
      resolve: model => index.resolve(model),
      cost: costNanoUsd,
      costText: nanoUsdToText,
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
    reportInternal: ({ cause }, { id, method, path }) =>
      logger.error('a request failed', { request_id: id, method, path, error: stackOf(cause) }),
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

function tellReload(
  logger: Logger,
  { applied, problems, atNextStart }: ReloadReport,
  settings: ModelIndex['settings'],
): void {
  if (!applied) return logger.error('the configuration was not changed', { problems: problems.join('\n') })
  const { own, builtIn } = countModels(settings)
  logger.info('the configuration was read anew', { models: own, built_in_models: builtIn })
  if (atNextStart)
    logger.warn('a setting was changed that takes effect at the next start', { settings: atNextStart.join(', ') })
}

function restFields({ deployment, restMs, failsInARow, error }: Rest): LogFields {
  return {
    deployment: deployment.id,
    model: deployment.modelName,
    provider: deployment.target.provider.name,
    rest_ms: restMs,
    failures: failsInARow,
    error: error.kind,
    error_message: error.message,
  }
}

type FilesOf = Pick<Assembling, 'options' | 'store'> & { settings(): ModelIndex['settings'] }

/** Files on their way to upstreams, by themselves and named in other calls. */
function assembleFiles({ options, store, settings }: FilesOf, transport: ReturnType<typeof createHttp1Transport>) {
  const uploadDirectory = join(options.dataDirectory, 'uploads')
  const fileCalls = createFileCalls({
    transport,
    clock,
    settings,
    uploadDirectory,
    limits: rateLimit(store.limiter, settings),
  })
  const placeFiles = createPlaceFiles({
    files: store.files,
    fileCalls,
    clock,
    settings,
    mayCall: (caller, model) => mayCall(caller, model, settings()),
  })
  return { uploadDirectory, fileCalls, placeFiles }
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
      redis:
        store.redisReachable === undefined ? 'not configured' : store.redisReachable() ? 'connected' : 'disconnected',
      ledger: store.ledger.healthy ? (store.ledger.failure() ?? 'ok') : 'the journal cannot be written (disk full?)',
      ...(!store.isOnlyReplica() && {
        replicas: 'another replica runs on this database, and there is no REDIS_URL to share limits',
      }),
      ...(draining && { draining: true }),
    },
  }
}
