/** Builds the settings from a checked configuration. */
import type { Deployment } from '../core/deployment.ts'
import { unknownVendors } from './models/client-credentials.ts'
import type { Settings } from '../core/settings.ts'
import { buildDeployment, environmentDeployments, isEveryVendor, localDeployments } from './models/deployments.ts'
import type { Environment } from './environment.ts'
import type { BuildContext, EnvironmentOffer, Providers } from './models/deployments.ts'
import { vendorOf } from '../providers/index.ts'
import { discoveredDeployments } from './models/local-servers.ts'
import type { DiscoveredModel } from './models/local-servers.ts'
import { priceListsInForce } from './prices/catalogue.ts'
import { readIdentitySettings } from './identity-providers.ts'
import { entryProblems } from './checks/entry-checks.ts'
import { accessGroups } from '../access/models/access-groups.ts'
import { missingPriceWarnings } from './models/deployment-lists.ts'
import { pricesWithoutEffect } from './checks/price-entries.ts'
import { withoutBrokenEntries } from './left-out.ts'
import type { LeftOut } from './left-out.ts'
import { ListedDeployments } from './models/listed-deployments.ts'
import type { EntryContext, FileCredential } from './models/entry-context.ts'
import { idMistakes, mistakeAt, modelAliasesOf, nameFindings } from './checks/name-checks.ts'
import type { BuiltDeployments } from './checks/name-checks.ts'
import type { SecretSources } from './secret-sources.ts'
import { ProxySettings } from './models/proxies.ts'
import { operatorListInForce, useOperatorList } from './prices/catalogue.ts'
import type { OperatorList } from './prices/operator-list.ts'
import { isAddress, readListFile } from './prices/price-source.ts'
import type { PriceSettings } from './prices/price-source.ts'
import { noReading } from './reading/reading.ts'
import type { ConfigReading } from './reading/reading.ts'
import { agentSettingsOf } from './sections/agents.ts'
import { healthAlertsOf } from './sections/alerts.ts'
import { budgetSettingsOf } from './sections/budgets.ts'
import { cacheSettingsOf } from './sections/cache.ts'
import type { Config } from './sections/file.ts'
import { gatewaySettingsOf } from './sections/general.ts'
import { fileGuardrails } from './sections/guardrails.ts'
import { keyRotationOf } from './sections/key-age.ts'
import { ledgerRetentionOf } from './sections/ledger.ts'
import { limitSettingsOf } from './sections/limits.ts'
import { madeByApiSettingsOf } from './sections/made-by-api.ts'
import { publicModelsOf } from './sections/model-hub.ts'
import { newKeysOf, userSettingsOf, newTeamsOf } from './sections/new-keys.ts'
import { openTelemetryOf, openTelemetryProblem } from './sections/open-telemetry.ts'
import { readPriceTerms } from './sections/price-terms.ts'
import { requestSettingsOf } from './sections/request-fields.ts'
import { cooldownSecondsMax, filledRouter, retriesGranted, routerSettingsOf } from './sections/router.ts'
import { readSignInSettings } from './sections/sign-in.ts'
import { storageSettingsOf } from './sections/storage.ts'
import { bodySettingsOf } from './sections/stored-bodies.ts'
import { fileToolServers } from './sections/tool-servers.ts'
import { usageExportOf } from './sections/usage-export.ts'

/** Settings, or every mistake. */
export type SettingsReading = {
  readonly config: Config
  readonly mistakes: readonly string[]
  /** Filled also when there are mistakes. */
  readonly warnings: readonly string[]
} & (
  | {
      readonly settings: Settings
      /** Absent = everything is served. */
      readonly leftOut?: LeftOut
      /** What entries that are made by API are read with. */
      readonly entryContext: EntryContext
    }
  /** There is a mistake. */
  | { readonly settings: undefined }
)

/** What settings are built of. Files that an entry names (Google credentials) are read too. */
export interface SettingsInput {
  /** Absent = no configuration file. */
  readonly reading?: ConfigReading | undefined
  /** File name, for messages. */
  readonly file?: string | undefined
  readonly environment: Environment
  /** Absent = secrets that are kept elsewhere are not read, and what refers to them is not checked. */
  readonly secrets?: SecretSources | undefined
  readonly providers: Providers
  /** The list that was brought from the address of `prices`; undefined = not yet. */
  readonly downloadedPrices?: ((settings: PriceSettings) => OperatorList | undefined) | undefined
  /** true = broken entries of the model list are left out, where the file does not want to be strict. */
  readonly leavesOut?: boolean | undefined
  /** false = the list of `prices` is not read: it may be missing or damaged. */
  readonly readsPriceList?: boolean | undefined
  /** Models of servers on this machine; used only without a model list. */
  readonly discovered?: readonly DiscoveredModel[] | undefined
}

/**
 * Builds the settings and reports all mistakes at once, those of the reading too. Without mistakes its price list is in
 * force from then on (`useOperatorList`).
 */
export function settingsFrom(input: SettingsInput): SettingsReading {
  const before = operatorListInForce()
  const built = buildAll(input)
  const reading = built.settings || !input.leavesOut ? built : (withoutBroken(input, built.mistakes) ?? built)
  if (!reading.settings) useOperatorList(before)
  return reading
}

/** undefined = more is broken than may be left out, or the file wants to be strict. */
function withoutBroken(input: SettingsInput, mistakes: readonly string[]): SettingsReading | undefined {
  const found = input.reading && withoutBrokenEntries(input.reading, mistakes)
  if (!found) return undefined
  const { rest, leftOut } = found
  const built = buildAll({ ...input, reading: rest })
  if (!built.settings || built.settings.isStrict) return undefined
  return { ...built, settings: { ...built.settings, leftOut: leftOut.lines }, leftOut }
}

function buildAll(input: SettingsInput): SettingsReading {
  const { reading = noReading } = input
  const config = reading.config
  if (!config) return { settings: undefined, config: {}, mistakes: reading.mistakes, warnings: reading.warnings }
  const mistakes = [...reading.mistakes]
  const warnings = [...reading.warnings]
  const environment = { ...config.environment_variables, ...input.environment }
  const proxies = new ProxySettings(config.general_settings?.proxy, environment)
  const signIn = readSignInSettings(config.general_settings ?? {}, environment)
  mistakes.push(...signIn.mistakes)
  const identity = readIdentitySettings(config, environment, {
    proxies: proxies.rulesFor(undefined),
    placed: (path, message) => mistakeAt(reading, path, message),
  })
  mistakes.push(...identity.mistakes)
  warnings.push(...identity.warnings)
  const prices = operatorPrices(config, input)
  useOperatorList(prices.list)
  if (prices.mistake !== undefined) mistakes.push(mistakeAt(reading, ['prices', 'source'], prices.mistake))
  if (prices.warning !== undefined) warnings.push(mistakeAt(reading, ['prices', 'source'], prices.warning))
  const openTelemetry = openTelemetryOf(config.general_settings ?? {}, environment)
  const unusable = openTelemetryProblem(openTelemetry)
  if (unusable !== undefined) mistakes.push(unusable)
  const built = buildDeployments(config, reading, { input: { ...input, environment }, mistakes, warnings, proxies })
  const deployments = [...built.entries.values(), ...built.others]
  const names = nameFindings(config, reading, built)
  const guardrails = fileGuardrails(config)
  mistakes.push(...proxies.mistakes(deployments), ...idMistakes(reading, built))
  mistakes.push(...unknownVendors(config, input.providers).map(one => mistakeAt(reading, one.path, one.message)))
  // Models that do not exist yet may be made by API; a doubt is no reason to serve nothing.
  if (config.general_settings?.store_model_in_db || names.areDoubtful) warnings.push(...names.mistakes)
  else mistakes.push(...names.mistakes)
  warnings.push(...proxies.warnings, ...names.warnings)
  if (mistakes.length > 0)
    return {
      settings: undefined,
      config: reading.mistakes.length > 0 ? {} : config,
      mistakes: sortedByPosition(mistakes),
      warnings,
    }
  warnings.push(...missingPriceWarnings(deployments), ...routerWarnings(config, reading))
  const own = settingsOf(config, {
    deployments,
    missing: built.missing,
    signIn: signIn.settings,
    identity: identity.settings,
    publicModels: publicModelsOf(config.settings ?? {}, reading),
    file: input.file,
    openTelemetry,
    warnings,
  })
  const settings = { ...own, ...(guardrails.length > 0 && { guardrails }), ...toolServersOf(config) }
  const entryContext = {
    context: built.context,
    proxies,
    credentials: fileCredentials(config, reading),
    references: {
      variables: config.general_settings?.allowed_environment_references ?? [],
      directories: config.general_settings?.secret_file_directories ?? [],
      hostCredentials: config.general_settings?.host_credentials_by_api ?? [],
    },
    secrets: input.secrets?.known,
  }
  return { settings, config, mistakes, warnings, entryContext }
}

function toolServersOf(config: Config): Pick<Settings, 'toolServers'> {
  const toolServers = fileToolServers(config)
  return toolServers.length > 0 ? { toolServers } : {}
}

/** The price list of `prices`; one at an address is only there once it was brought. */
function operatorPrices(
  { prices }: Config,
  { file, downloadedPrices, readsPriceList = true }: SettingsInput,
): { readonly list?: OperatorList | undefined; readonly mistake?: string; readonly warning?: string } {
  if (!prices || !readsPriceList) return {}
  if (isAddress(prices.source)) {
    const list = downloadedPrices?.(prices)
    return list ? { list } : { warning: 'is read when the gateway runs; the built-in prices hold until it was' }
  }
  try {
    return { list: readListFile(prices, file) }
  } catch (error) {
    return { mistake: `${(error as Error).message}; \`modelgate prices update\` brings a list` }
  }
}

interface SettingsParts {
  readonly deployments: readonly Deployment[]
  readonly missing: EnvironmentOffer['missing'] | undefined
  readonly signIn: Settings['signIn']
  readonly identity: Settings['identity']
  readonly publicModels: Settings['publicModels']
  readonly openTelemetry: Settings['openTelemetry']
  readonly file: string | undefined
  readonly warnings: readonly string[]
}

function settingsOf(
  config: Config,
  { deployments, missing, signIn, identity, publicModels, openTelemetry, file, warnings }: SettingsParts,
): Settings {
  const { settings: common = {}, general_settings: general = {} } = config
  const aliases = modelAliasesOf(config)
  return {
    deployments,
    aliases: aliases.models,
    hiddenAliases: aliases.hidden,
    router: routerSettingsOf(config),
    ...userSettingsOf(common),
    newTeams: newTeamsOf(common),
    newKeys: newKeysOf(common),
    healthAlerts: healthAlertsOf(general),
    budgets: budgetSettingsOf(config),
    signIn,
    identity,
    ...limitSettingsOf(general),
    keyRotation: keyRotationOf(general),
    ...gatewaySettingsOf(general),
    accessGroups: accessGroups(deployments),
    ...madeByApiSettingsOf(general),
    publicModels,
    ...(missing && { notOffered: missing, vendorOf }),
    ...requestSettingsOf(general),
    spendTagHeaders: (common.extra_spend_tag_headers ?? []).map(name => name.toLowerCase()),
    ...storageSettingsOf(general),
    ...priceListsInForce(),
    priceTerms: readPriceTerms(common),
    usageExport: usageExportOf(general),
    openTelemetry,
    ledgerRetention: ledgerRetentionOf(general),
    bodies: bodySettingsOf(general, common),
    cache: cacheSettingsOf(common),
    agents: agentSettingsOf(general),
    file: file ?? null,
    warnings,
  }
}

function fileCredentials({ credential_list: list = [] }: Config, reading: ConfigReading): FileCredential[] {
  const all = list.map((one, at) => ({
    name: one.credential_name,
    info: one.credential_info ?? {},
    values: one.credential_values,
    where: reading.lineOf(['credential_list', at]),
  }))
  return all.filter(one => reading.credentials.has(one.name))
}

function routerWarnings(config: Config, reading: ConfigReading): string[] {
  const { router_settings: given = {} } = config
  const { max_attempts: attempts, enable_tag_filtering: filters } = filledRouter(config)
  const warnings: string[] = []
  const warn = (key: string, message: string) =>
    void warnings.push(mistakeAt(reading, ['router_settings', key], message))
  for (const [key, retries] of retriesGranted(given))
    if (retries >= attempts)
      warn(key, `at most ${attempts} attempts are made for a call (\`max_attempts\`); raise that, or lower this`)
  if ((given.cooldown_time ?? 0) > cooldownSecondsMax)
    warn('cooldown_time', `counts as ${cooldownSecondsMax} seconds, after which one call probes the deployment`)
  if (!filters)
    for (const { at, entry } of reading.entries ?? [])
      if (entry?.proxy_params.tags)
        warnings.push(
          mistakeAt(
            reading,
            ['model_list', at, 'proxy_params', 'tags'],
            'has no effect without `enable_tag_filtering: true` in `router_settings`',
          ),
        )
  return warnings
}

interface BuildInput {
  readonly input: SettingsInput
  readonly mistakes: string[]
  readonly warnings: string[]
  readonly proxies: ProxySettings
}

function buildDeployments(
  config: Config,
  reading: ConfigReading,
  { input, mistakes, warnings, proxies }: BuildInput,
): BuiltDeployments & {
  readonly missing: EnvironmentOffer['missing'] | undefined
  readonly context: EntryContext['context']
} {
  const { settings: common = {}, router_settings: router = {}, general_settings: general = {} } = config
  const context: Omit<BuildContext, 'origin'> = {
    providers: input.providers,
    environment: input.environment,
    timeoutS: router.timeout ?? common.request_timeout,
    streamTimeoutS: router.stream_timeout,
    dropParams: common.drop_params,
    droppedFields: common.additional_drop_params,
    forwardUnknownFields: common.forward_unknown_fields,
    forwardClientCredentials: common.forward_client_credentials,
    forwardTraceparent: common.forward_traceparent,
    proxies,
  }
  const list = new ListedDeployments(reading, text => void warnings.push(text))
  const add = (at: number, { path, message }: { readonly path: readonly string[]; readonly message: string }) =>
    void mistakes.push(mistakeAt(reading, ['model_list', at, ...path], message))
  for (const { at, entry, removed } of reading.entries ?? []) {
    if (!entry) continue
    for (const problem of entryProblems(entry)) add(at, problem)
    if (isEveryVendor(entry)) continue
    const where = reading.lineOf(['model_list', at])
    const built = buildDeployment(entry, { ...context, origin: { kind: 'config', where } })
    if (!('message' in built)) {
      for (const { path, message } of pricesWithoutEffect(entry, { mode: built.mode }))
        warnings.push(mistakeAt(reading, ['model_list', at, ...path], message))
      // The id of a partial entry may equal that of another entry, so it is not compared.
      if (removed.length === 0 || entry.model_info?.id !== undefined) list.add(at, entry, built)
    } else if (removed.length === 0 || (isAboutProvider(built.path) && !removed.some(path => providerFields.has(path))))
      add(at, built)
  }
  const offer = environmentOffer(reading, context, warnings)
  const others = [...(offer?.deployments ?? [])]
  if (reading.entries === undefined) others.push(...discoveredDeployments(input.discovered ?? [], context))
  if (!general.disable_local_models) others.push(...localDeployments(context))
  return { ...list.result, others, missing: offer?.missing, context }
}

/** What keys of the environment offer: without a model list, or for an entry that stands for every vendor. */
function environmentOffer(
  reading: ConfigReading,
  context: Omit<BuildContext, 'origin'>,
  warnings: string[],
): Partial<EnvironmentOffer> | undefined {
  const warn = (text: string) => void warnings.push(text)
  if (reading.entries === undefined) return environmentDeployments(context, warn)
  const listed = reading.entries ?? []
  const every = listed.flatMap(({ at, entry }) => (entry && isEveryVendor(entry) ? [{ at, entry }] : []))
  if (every.length === 0) return undefined
  const where = (at: number) => reading.lineOf(['model_list', at])
  const otherNames = new Set(listed.flatMap(({ name }) => name ?? []))
  const byName = Map.groupBy(every, one => one.entry.model_name)
  const offers = [...byName.values()].map(([first, ...more]) => {
    const { at, entry } = first!
    for (const one of more) warn(mistakeAt(reading, ['model_list', one.at], `has no effect beside ${where(at)}`))
    const origin = { kind: 'config', where: where(at) } as const
    const offer = environmentDeployments(context, warn, { entry, origin, otherNames })
    if (offer.deployments.length === 0) warn(mistakeAt(reading, ['model_list', at], noVendorOffered))
    return offer
  })
  // Names without a prefix are offered by `*` alone.
  const missing = byName.has('*') ? offers[0]!.missing : undefined
  return { deployments: offers.flatMap(offer => offer.deployments), missing }
}

const noVendorOffered =
  'offers no model: the environment has no key of a vendor without an entry of its own; set one, as OPENAI_API_KEY'

/** The fields that decide the provider. Other mistakes of a partial entry may be consequences of its missing parts. */
const providerFields: ReadonlySet<string> = new Set([
  'proxy_params',
  'proxy_params.model',
  'proxy_params.custom_llm_provider',
  'proxy_params.api_base',
])
const isAboutProvider = (path: readonly string[]): boolean => path[1] === 'model' || path[1] === 'custom_llm_provider'

/** By line and column; mistakes without a position come first. */
function sortedByPosition(mistakes: readonly string[]): string[] {
  const positionOf = (text: string): [number, number] => {
    const [, line, column] = /:(\d+)(?::(\d+))? /.exec(text) ?? []
    return [Number(line ?? 0), Number(column ?? 0)]
  }
  const positioned = mistakes.map(text => ({ text, position: positionOf(text) }))
  return positioned.sort((a, b) => a.position[0] - b.position[0] || a.position[1] - b.position[1]).map(one => one.text)
}
