/** Everything that works on calls, put together. */
import { join } from 'node:path'
import packageJson from '../../package.json' with { type: 'json' }
import { costBounds } from '../accounts/cost-bounds.ts'
import { costNanoUsd, nanoUsdToText } from '../accounts/cost.ts'
import { mayCall } from '../accounts/model-access.ts'
import { ModelIndex } from '../accounts/model-index.ts'
import { concreteModel } from '../config/model-facts.ts'
import type { ReloadReport, ServeOptions } from '../config/serve-options.ts'
import type { SettingsSource } from '../config/settings-source.ts'
import { countModels } from '../config/summary.ts'
import type { Services } from '../core/endpoint.ts'
import { watchBatches } from '../endpoints/files/batch-watch.ts'
import { endpoints } from '../endpoints/index.ts'
import { createFrontDoor } from '../endpoints/router.ts'
import type { ClientCounts } from '../http/server/server.ts'
import { systemClock as clock } from '../lib/clock.ts'
import { TimerWheel } from '../lib/timer-wheel.ts'
import { Tokenizer } from '../lib/tokens/tokenizer.ts'
import { createSettleEnded } from '../pipeline/settle.ts'
import type { Rest } from '../pipeline/cooldown.ts'
import { callPolicies } from '../pipeline/admission.ts'
import { DetachedWork } from '../pipeline/background-work.ts'
import { createAdmitLine, createCallObjects } from '../pipeline/call-objects.ts'
import { createFileCalls } from '../pipeline/files/file-call.ts'
import { createHttp1Transport } from '../http/client/client.ts'
import { createPlaceFiles } from '../pipeline/files/named-files.ts'
import { createPreviewCall } from '../pipeline/preview.ts'
import { Router } from '../pipeline/route.ts'
import { createCallModel } from '../pipeline/serve.ts'
import { createAdmission } from '../policies/index.ts'
import { stackOf } from '../telemetry/log.ts'
import type { LogFields, Logger } from '../telemetry/log.ts'
import { createMetrics } from '../telemetry/prometheus.ts'
import { callerFinder } from './caller.ts'
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
  const { uploadDirectory, fileCalls, placeFiles } = assembleFiles({ options, store }, transport)
  const admission = createAdmission({
    findCaller: callerFinder(store),
    limiter: store.limiter,
    ledger: store.ledger,
    settings,
    placeFiles,
    log: settlement => logger.call(settlement),
    count: settlement => metrics.call(settlement),
  })
  const policies = callPolicies(admission.filter(policy => policy.stage !== 'request'))
  const router = new Router({
    transport,
    timers,
    clock,
    random: Math.random,
    policies,
    reportRest: rest => logger.warn('a deployment failed and rests, others go first', restFields(rest)),
  })
  let draining = false
  const detached = new DetachedWork()
  const tokenizer = new Tokenizer()
  const serving = {
    clock,
    models: () => index,
    boundsOf: costBounds,
    policies,
    router,
    uploadDirectory,
    cost: costNanoUsd,
    costText: nanoUsdToText,
  }
  const services: Services = {
    settings,
    models: () => index,
    callModel: createCallModel(serving),
    callObjects: createCallObjects(serving),
    admitLine: createAdmitLine(serving),
    settleEnded: createSettleEnded(serving),
    previewCall: createPreviewCall({ ...serving, placeFiles }),
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
    policies: admission.filter(policy => policy.stage === 'request'),
    reportInternal: ({ cause }, { id, method, path }) =>
      logger.error('a request failed', { request_id: id, method, path, error: stackOf(cause) }),
    metricsRequireKey: () => settings().metricsRequireKey,
  })
  return {
    transport,
    detached,
    tokenizer,
    timers,
    door,
    watchBatches: () =>
      watchBatches(services, {
        pollMs: settings().batchPollMs,
        report: (problem, error) => logger.warn(problem, { error: stackOf(error) }),
      }),
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

/** Files on their way to upstreams, by themselves and named in other calls. */
function assembleFiles(
  { options, store }: Pick<Assembling, 'options' | 'store'>,
  transport: ReturnType<typeof createHttp1Transport>,
) {
  const uploadDirectory = join(options.dataDirectory, 'uploads')
  const fileCalls = createFileCalls({ transport, clock, uploadDirectory })
  const placeFiles = createPlaceFiles({
    files: store.files,
    fileCalls,
    clock,
    mayCall: ({ caller, models }, model) => mayCall(caller, model, models.settings),
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
