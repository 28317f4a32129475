/** Creates the parts that work on calls and connects them. */
import { join } from 'node:path'
import packageJson from '../../package.json' with { type: 'json' }
import { ModelIndex } from '../access/models/model-index.ts'
import { knownModels } from '../config/prices/known-models.ts'
import { catalogueModel } from '../config/models/catalogue-model.ts'
import { concreteModel } from '../config/models/model-facts.ts'
import { catalogPrices } from '../config/prices/prices.ts'
import { watchRuns } from '../pipeline/background/run-watch.ts'
import type { BudgetCheck } from '../core/tenancy/budget-check.ts'
import type { ReloadReport, ServeOptions } from '../config/serve-options.ts'
import type { SettingsSource } from '../config/settings-source.ts'
import { countModels } from '../config/model-counts.ts'
import type { Deployment } from '../core/deployment.ts'
import type { Services } from '../core/endpoint.ts'
import type { Policy } from '../core/policy.ts'
import type { CurrentConfiguration } from '../core/model-directory.ts'
import type { Settings } from '../core/settings.ts'
import type { RunTool } from '../core/tools.ts'
import { watchBatches } from '../files/batch-watch.ts'
import { publicPaths } from '../endpoints/index.ts'
import { createRequestRouter } from '../endpoints/router.ts'
import { BuiltPages } from '../endpoints/common/built-pages.ts'
import type { ClientCounts } from '../http/server/server.ts'
import { systemClock as clock } from '../lib/clock.ts'
import { tickClock } from '../lib/end-of-tick.ts'
import { KeyRing } from '../lib/encryption.ts'
import { Secret } from '../lib/secret.ts'
import { TimerWheel } from '../lib/timer-wheel.ts'
import { Tokenizer } from '../lib/tokens/tokenizer.ts'
import { createSettleEnded } from '../pipeline/settlement/settle.ts'
import { callPolicies } from '../pipeline/admission/admission.ts'
import { DetachedWork } from '../pipeline/background/background-work.ts'
import { createAdmitLine, createCallObjects } from '../pipeline/call-objects.ts'
import { cloudCredentials } from './cloud-credentials.ts'
import { createPassThrough } from '../pipeline/pass-through.ts'
import { createFileCalls } from '../pipeline/files/file-call.ts'
import { createHttp1Transport } from '../http/client/client.ts'
import { Guardrails } from '../guardrails/policies.ts'
import { createPreviewCall } from '../pipeline/call-preview.ts'
import { Router } from '../pipeline/routing/deployment-router.ts'
import { createCallModel } from '../pipeline/serve.ts'
import type { ServeParts } from '../pipeline/serve.ts'
import { createRunTool } from '../pipeline/tool-call.ts'
import { createCallLimits } from '../policies/limits/call-limits.ts'
import { createBudgetCheck } from '../policies/limits/check-budgets.ts'
import { createAdmission } from '../policies/index.ts'
import { chatBodyOf, providers } from '../providers/index.ts'
import { storeBodies } from '../stored-bodies/policy.ts'
import { stackOf } from '../telemetry/log.ts'
import type { Logger } from '../telemetry/log.ts'
import { Tools } from '../tools/gateway.ts'
import type { createMetrics } from '../telemetry/prometheus.ts'
import type { Tracing } from '../telemetry/otel/tracing.ts'
import { unpricedModels } from '../telemetry/unpriced-models.ts'
import { clientDialects } from './answer-cache.ts'
import { createAlertDelivery } from './alert-delivery.ts'
import { reportCooldown } from './cooldown-report.ts'
import { readiness } from './readiness.ts'
import { createBudgetAlerts } from './budget-alerts.ts'
import { watchKeys } from './key-reminders.ts'
import { watchHealth } from './health-alerts.ts'
import { createMailer, withLog } from './mail.ts'
import { createReadmission, identityParts, signInServices, createRefusalReporter } from './sign-in.ts'
import { createJudgeClients } from './guardrail-judges.ts'
import type { Store } from './store.ts'
import { createTelemetryRelay } from './telemetry-relay.ts'
import { startTelemetry } from './telemetry.ts'
import { deploymentTroubleId, troublesOf } from './troubles.ts'
import { exportUsage } from './usage-export.ts'

/** What exists before the parts are created. */
export interface AssemblyParts {
  readonly options: ServeOptions
  readonly source: SettingsSource
  readonly store: Store
  readonly logger: Logger
  readonly clients: () => ClientCounts
}

/** What watches runs and answers that go on behind their requests. */
function watchesOf(store: Store): Pick<Services, 'runWatch' | 'answerWatch' | 'responseWatch' | 'liveAnswers'> {
  const answersSinceMs = () => (store.ledger.failure() === null ? store.databaseAnswersSinceMs() : undefined)
  const of = { clock: store.sharedClock, isAlone: isAlone(store), answersSinceMs, leases: store.runLeases }
  return {
    runWatch: watchRuns({ store: store.assistants, ...of }),
    answerWatch: watchRuns({ store: store.conversations, ...of }),
    responseWatch: watchRuns({ store: store.responses, ...of }),
    liveAnswers: new Map(),
  }
}

/** Creates the parts of a running gateway. A reload replaces the contents of `current`, which each call reads once. */
export function assemble(assembling: AssemblyParts) {
  const { options, source, store, logger } = assembling
  const [transport, timers] = [openTransport(logger), new TimerWheel(tickClock)]
  const current = currentOf(modelsOf(source))
  const cooldowns = () => calls.router.cooldownStates()
  const telemetry = startTelemetry(assembling, { transport, current, cooldowns })
  const { metrics, tracing } = telemetry
  const tokenizer = new Tokenizer()
  const calls = assembleCalls(assembling, { transport, timers, current, metrics, tokenizer, tracing })
  const { mailer, ...alerts } = assembleAlerts(assembling, { transport, current, router: calls.router })
  const signIn = signInServices({ store, current, transport, timers, logger, countRefusal: metrics.authFailure })
  options.worker?.onCooled(cooldown => calls.router.noteCooldown(cooldown, current.settings.deployments))
  let draining = false
  const use = () => useSettings(source, current, { metrics, tools: calls.services.tools })
  const detached = new DetachedWork()
  const services: Services = {
    current,
    ...calls.services,
    tokenizer,
    ...storedParts(store),
    mailer,
    ...signIn.services,
    checks: source.merged,
    notServed: () => source.merged.notServed,
    ...routerParts(calls.router),
    effectiveValues: () => effectiveOf(assembling),
    replicas: () => store.limits.redis?.replicas,
    detached,
    ...watchesOf(store),
    metrics: telemetry.exposition,
    readiness: () => readiness(store, options.worker, draining),
    ...fixedParts(options),
  }
  const router = createRequestRouter({
    rootPath: options.rootPath,
    ...publicPaths,
    services,
    policies: calls.requestPolicies,
    reportInternal: ({ cause }, { id, method, path }) =>
      logger.error('a request failed', { request_id: id, method, path, error: stackOf(cause) }),
    metricsRequireKey: () => current.settings.metricsRequireKey,
    passThroughProviders: () => current.settings.passThroughProviders,
    isTrustedProxy: address => current.settings.signIn.isTrustedProxy(address),
  })
  return {
    transport,
    tools: calls.services.tools,
    detached,
    tokenizer,
    telemetry,
    signIn,
    timers,
    router,
    bodyMemoryBytesMax: () => current.settings.bodyMemoryBytesMax,
    watchBatches: () =>
      watchBatches(services, {
        pollMs: current.settings.batchPollMs,
        report: (problem, error) => logger.warn(problem, { error: stackOf(error) }),
      }),
    ...alerts,
    draining: () => void (draining = true),
    reloaded(report: ReloadReport) {
      telemetry.reloaded(report)
      if (report.applied) use()
      tellReload(logger, report, current.settings)
    },
    /** What was made by API has changed, here or on another replica. */
    objectsChanged: () => useObjects(assembling, use),
  }
}

/** Puts what was made by API into the settings, at once unless what reads it has to be loaded first. */
function useObjects({ source, store, logger }: AssemblyParts, use: () => void): void {
  const merged = () => {
    use()
    logNotServed(logger, source)
    // Another replica may have made a model with secrets that were never read here.
    void source.readSecrets('new', (secret, reason) => logger.warn('a secret cannot be read', { secret, reason }))
  }
  const later = source.merged.useObjects(() => store.configured.objects())
  if (later) void later.then(merged)
  else merged()
}

/** What the router knows of the upstreams. */
function routerParts(router: Router): Pick<Services, 'coolingDown' | 'upstreams'> {
  return { coolingDown: () => router.coolingDown(), upstreams: router.upstreams }
}

/** Who is notified of budgets, of keys, and of usage. */
function assembleAlerts(
  { options, store, logger }: AssemblyParts,
  { transport, current, router }: { transport: Transport; current: CurrentConfiguration; router: Router },
) {
  const mailer = createMailer(options.environment)
  const deliver = createAlertDelivery({
    transport,
    mailer,
    logger,
    clock,
    webhookSecret: options.environment.ALERT_WEBHOOK_SECRET,
  })
  store.limits.onSoftBudget(createBudgetAlerts({ deliver, settings: () => current.settings.budgets }))
  const settings = () => current.settings.keyRotation
  const usageExport = exportUsage({
    outbox: store.usageOutbox,
    transport,
    clock,
    logger,
    environment: options.environment,
    settings: () => current.settings.usageExport,
  })
  return {
    mailer: mailer && withLog(mailer, logger),
    usageExport,
    watchKeys: () => watchKeys({ store: store.keyReminders, clock, logger, mailer, deliver, settings }),
    watchHealth: () =>
      watchHealth({
        clock,
        logger,
        deliver,
        claims: store.troubleClaims,
        settings: () => current.settings.healthAlerts,
        troubles: () =>
          troublesOf({ store, dataDirectory: options.dataDirectory, unwell: () => served(current, router) }),
        endOf: id =>
          router.unwell().some(one => deploymentTroubleId(one) === id)
            ? 'gets no calls any more: it was switched off or removed'
            : undefined,
      }),
  }
}

/** Of the unwell deployments those that get calls. */
function served({ settings }: CurrentConfiguration, router: Router): Deployment[] {
  const open = new Set(settings.deployments.filter(one => !one.blocked).map(one => one.id))
  return router.unwell().filter(one => open.has(one.id))
}

/** Loaded when it is requested: it needs the schema of the configuration file. */
async function effectiveOf({ options, source }: AssemblyParts) {
  const { effectiveValues } = await import('../config/effective/effective-values.ts')
  const { names, where } = source.current().publicModels
  const sent = where === null && names.length > 0 ? [['settings.public_model_groups', names] as const] : []
  return effectiveValues({ text: source.text(), options, sent: new Map(sent) })
}

/** No other process works on runs of this database. */
const isAlone = (store: Store) => () => store.redis === undefined && store.isOnlyReplica()

/** What no reload changes. The launcher and the demo (`scripts/demo`) set the variables. */
function fixedParts({ environment }: ServeOptions): Pick<Services, 'pages' | 'clock' | 'version' | 'providers'> {
  const pages = new BuiltPages(environment.MODELGATE_WEB_DIRECTORY || undefined, environment.MODELGATE_DEMO === '1')
  return { pages, clock, version: packageJson.version, providers }
}

function openTransport(logger: Logger) {
  return createHttp1Transport({
    clock: tickClock,
    unsolicited: (upstream, closed) =>
      logger.warn('an upstream sent bytes that no request asked for; its idle connections were closed', {
        upstream,
        closed_connections: closed,
      }),
  })
}

const currentOf = (models: ModelIndex) => ({ models, settings: models.settings })

function modelsOf(source: SettingsSource): ModelIndex {
  return new ModelIndex(source.current(), concreteModel, { find: catalogueModel, namesOf: knownModels })
}

type Transport = ReturnType<typeof createHttp1Transport>

interface CallParts {
  readonly transport: Transport
  readonly timers: TimerWheel
  readonly metrics: ReturnType<typeof createMetrics>
  readonly current: CurrentConfiguration
  readonly tokenizer: Tokenizer
  readonly tracing: Tracing
}

/** The policies around those that are always there. */
function recordedAndOwn(
  { bodies: sink }: Store,
  { policies: own = [] }: ServeOptions,
  { bodies: listener }: Tracing,
): { readonly storedBodies: Policy; readonly own: readonly Policy[] } {
  const answersChangeLater = own.some(policy => policy.answer || policy.answerTexts)
  return {
    storedBodies: storeBodies({ sink, listener, dialects: clientDialects, chatBodyOf, answersChangeLater }),
    own,
  }
}

function limitsOver({ tenants, sharedClock, limits: { limiter, spendWriter } }: Store, current: CurrentConfiguration) {
  const limits = createCallLimits(tenants, spendWriter)
  return { limiter, limits, sharedClock, budgets: createBudgetCheck({ limiter, clock: sharedClock, limits, current }) }
}

function guardrailsOver(
  transport: Transport,
  budgets: BudgetCheck,
  callModel: () => Services['callModel'],
): Guardrails {
  return new Guardrails({
    budgets,
    judges: createJudgeClients({ transport, callModel }),
    epochMs: () => clock.epochMs(),
    nowMs: () => clock.monotonicMs(),
  })
}

function toolsOver(logger: Logger, parts: Pick<CallParts, 'transport' | 'current'>, runTool: RunTool): Tools {
  const { transport, current } = parts
  const programSays = (server: string, line: string) =>
    logger.info('a tool server has written to its error output', { tool_server: server, line })
  return new Tools({ transport, clock, runTool, settings: () => current.settings, programSays })
}

/** Policies, router and settlement. */
function assembleCalls(
  { options, store, logger }: AssemblyParts,
  { transport, timers, metrics, current, tokenizer, tracing }: CallParts,
) {
  const uploadDirectory = join(options.dataDirectory, 'uploads')
  const upstreams = { transport, clock, credentials: cloudCredentials({ transport, clock, logger }) }
  const fileCalls = createFileCalls({ ...upstreams, uploadDirectory })
  const limited = limitsOver(store, current)
  const guardrails = guardrailsOver(transport, limited.budgets, () => callModel)
  const identity = identityParts(store, current, transport)
  const admission = createAdmission({
    ...identity,
    clock: tickClock,
    ...limited,
    tenants: store.tenants,
    ledger: store.ledger,
    current,
    files: store.files,
    fileCalls,
    tokenizer,
    guardrails: guardrails.policies(),
    ...recordedAndOwn(store, options, tracing),
    tracing: tracing.policies,
    cache: store.answerCache.answers,
    refused: createRefusalReporter(timers, logger, metrics.authFailure),
    providers: () => providers.values(),
    log: logger.call,
    count: metrics.call,
    limited: metrics.limited,
  })
  const policies = callPolicies(admission.filter(policy => policy.stage !== 'request'))
  const router = new Router({
    ...upstreams,
    timers,
    limiter: limited.limiter,
    sharedPins: store.sessionPins,
    random: Math.random,
    policies,
    isBlocked: id => current.models.isBlocked(id),
    countAttempt: metrics.attempt,
    countFallback: metrics.fallback,
    reportCooldown: cooldown => reportCooldown(cooldown, logger, options.worker),
  })
  const serving = {
    clock,
    current,
    tokenizer,
    policies,
    router,
    uploadDirectory,
    listedPrices: catalogPrices,
    reportUnpriced: unpricedModels(logger),
  }
  const callModel = createCallModel(serving)
  store.answerCache.useModels(callModel)
  return {
    router,
    requestPolicies: admission.filter(policy => policy.stage === 'request'),
    services: {
      ...createReadmission(identity),
      relayTelemetry: createTelemetryRelay(transport),
      fileCalls,
      passThrough: createPassThrough(upstreams),
      callModel,
      guardrails: guardrails.trials(),
      tools: toolsOver(logger, { transport, current }, createRunTool(serving)),
      ...otherCalls(serving),
    },
  }
}

/** What is admitted and settled as a call of a model is, and sends none. */
function otherCalls(serving: ServeParts): Pick<Services, 'callObjects' | 'admitLine' | 'settleEnded' | 'previewCall'> {
  return {
    callObjects: createCallObjects(serving),
    admitLine: createAdmitLine(serving),
    settleEnded: createSettleEnded(serving),
    previewCall: createPreviewCall(serving),
  }
}

function tellReload(logger: Logger, { applied, problems, atNextStart }: ReloadReport, settings: Settings): void {
  if (!applied) return logger.error('the configuration was not changed', { problems: problems.join('\n') })
  const { own, builtIn } = countModels(settings)
  logger.info('the configuration was read anew', { models: own, built_in_models: builtIn })
  if (atNextStart)
    logger.warn('a setting was changed that takes effect at the next start', { settings: atNextStart.join(', ') })
}

function storedParts(store: Store) {
  const { keys, tenancy, tenants, sessions, passwords, deviceSignIns, ledger, ledgerTail } = store
  const { responses, assistants, files, idempotentRequests, conversations, bodies, configured } = store
  const { hashKey, sign } = store.installation
  const sealingKeys = new KeyRing([new Secret(sign('encryption of sealed items').toString('hex'))])
  const access = { hashKey, sign, sealingKeys, keys, tenancy, tenants, sessions, passwords, deviceSignIns }
  const cache = (settings: Pick<Settings, 'cache'>) => store.answerCache.administration(settings.cache)
  const { limiter, survey: budgetSurvey } = store.limits
  return {
    ...access,
    sharedClock: store.sharedClock,
    ledger,
    ledgerTail,
    limiter,
    budgetSurvey,
    responses,
    assistants,
    files,
    idempotentRequests,
    conversations,
    bodies,
    configured,
    cache,
    cacheHours: store.cacheHours,
  }
}

function useSettings(
  source: SettingsSource,
  current: { models: ModelIndex; settings: Settings },
  { metrics, tools }: { readonly metrics: ReturnType<typeof createMetrics>; readonly tools: Tools },
): void {
  current.models = modelsOf(source)
  current.settings = current.models.settings
  metrics.configured(current.settings.deployments)
  tools.reloaded()
}

/** The reasons why models are not served, as last logged: each is logged once. */
const reportedReasons = new WeakMap<SettingsSource, ReadonlyMap<string, string>>()

function logNotServed(logger: Logger, source: SettingsSource): void {
  const { notServed } = source.merged
  const reported = reportedReasons.get(source)
  for (const [model, reason] of notServed)
    if (reported?.get(model) !== reason)
      logger.warn('a model that was made by API is not served', { deployment: model, reason })
  reportedReasons.set(source, notServed)
}
