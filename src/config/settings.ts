/** A checked configuration as the settings that the program runs on. */
import type { Deployment } from '../core/deployment.ts'
import type { Settings } from '../core/settings.ts'
import { buildDeployment, environmentDeployments, localDeployments } from './deployments.ts'
import type { BuildContext, Environment, Providers } from './deployments.ts'
import { discoveredDeployments } from './discover.ts'
import type { DiscoveredModel } from './discover.ts'
import { nearest } from './nearest.ts'
import { readConfig } from './read.ts'
import type { ConfigReading } from './read.ts'
import type { Config } from './schema.ts'

const bodyMbDefault = 32
/** Names in one line of warning. */
const namedMax = 10

export interface SettingsReading {
  /** Undefined when there is a mistake. */
  readonly settings: Settings | undefined
  readonly config: Config
  readonly mistakes: readonly string[]
}

export interface SettingsInput {
  /** Absent = no configuration file. */
  readonly text?: string | undefined
  /** Its name, for messages. */
  readonly file?: string | undefined
  readonly environment: Environment
  readonly providers: Providers
  /** Models of servers on this machine; they count only where no model list stands. */
  readonly discovered?: readonly DiscoveredModel[] | undefined
}

/** Reads everything and finds every mistake at once. */
export function readSettings(input: SettingsInput): SettingsReading {
  const reading: ConfigReading =
    input.text === undefined
      ? { config: {}, entries: undefined, mistakes: [], warnings: [], lineOf: () => '', placeOf: () => '' }
      : readConfig(input.text, { file: input.file ?? 'config.yaml', environment: input.environment })
  const config = reading.config
  if (!config) return { settings: undefined, config: {}, mistakes: reading.mistakes }
  const mistakes = [...reading.mistakes]
  const deployments = allDeployments(config, reading, { input, mistakes })
  const warnings = [...reading.warnings, ...unpriced(deployments)]
  checkIds(deployments, { reading, mistakes })
  checkNames(config, deployments, { reading, mistakes })
  if (mistakes.length > 0) return { settings: undefined, config: reading.mistakes.length > 0 ? {} : config, mistakes: inOrder(mistakes) }
  const { settings: common = {}, router_settings: router = {}, general_settings: general = {} } = config
  const limits = common.default_internal_user_params ?? {}
  const settings: Settings = {
    deployments,
    aliases: router.model_group_alias ?? {},
    router: {
      retries: router.num_retries ?? common.num_retries ?? 2,
      allowedFails: router.allowed_fails ?? 3,
      cooldownMs: (router.cooldown_time ?? 5) * 1000,
      fallbacks: mergedFallbacks([...(common.fallbacks ?? []), ...(router.fallbacks ?? [])]),
    },
    userLimits: {
      requestsPerMinute: limits.rpm_limit ?? null,
      tokensPerMinute: limits.tpm_limit ?? null,
      parallelRequests: limits.max_parallel_requests ?? null,
    },
    rateLimitCounts: general.rate_limit_counts ?? 'calls',
    keysPerUser: general.max_keys_per_user ?? null,
    headerPrefix: general.header_prefix ?? 'x-proxy',
    accessGroups: accessGroups(deployments),
    metricsRequireKey: general.require_auth_for_metrics_endpoint ?? false,
    ...(general.response_retention_days !== undefined && { responseRetentionMs: general.response_retention_days * 86_400_000 }),
    bodyBytesMax: Math.floor((general.max_request_size_mb ?? bodyMbDefault) * 1024 * 1024),
    file: input.file ?? null,
    warnings,
  }
  return { settings, config, mistakes }
}

interface Collecting {
  readonly input: SettingsInput
  readonly mistakes: string[]
}

function allDeployments(config: Config, reading: ConfigReading, { input, mistakes }: Collecting): Deployment[] {
  const { settings: common = {}, router_settings: router = {}, general_settings: general = {} } = config
  const context: Omit<BuildContext, 'origin'> = {
    providers: input.providers,
    environment: input.environment,
    timeoutS: router.timeout ?? common.request_timeout,
    streamTimeoutS: router.stream_timeout,
    dropParams: common.drop_params ?? true,
  }
  const deployments: Deployment[] = []
  for (const { at, entry, lost } of reading.entries ?? []) {
    if (!entry) continue
    const where = reading.lineOf(['model_list', at])
    const built = buildDeployment(entry, { ...context, origin: { kind: 'config', where } })
    if (!('message' in built)) {
      // The id of what is not whole is no id: it may be that of another one.
      if (lost.length === 0 || entry.model_info?.id !== undefined) deployments.push(built)
    } else if (lost.length === 0 || (isAboutProvider(built.path) && !lost.some(path => addresses.has(path))))
      mistakes.push(mistake(reading, ['model_list', at, ...built.path], built.message))
  }
  if (reading.entries === undefined)
    deployments.push(...environmentDeployments(context), ...discoveredDeployments(input.discovered ?? [], context))
  if (!general.disable_local_models) deployments.push(...localDeployments(context))
  return deployments
}

/** What decides which provider an entry means. Other mistakes of an entry may only follow from what it has lost. */
const addresses: ReadonlySet<string> = new Set(['proxy_params', 'proxy_params.model', 'proxy_params.custom_llm_provider', 'proxy_params.api_base'])
const isAboutProvider = (path: readonly string[]): boolean => path[1] === 'model' || path[1] === 'custom_llm_provider'

/** By line and column; what has none stays where it is. */
function inOrder(mistakes: readonly string[]): string[] {
  const placeOf = (text: string): [number, number] => {
    const [, line, column] = /:(\d+)(?::(\d+))? /.exec(text) ?? []
    return [Number(line ?? 0), Number(column ?? 0)]
  }
  const placed = mistakes.map(text => ({ text, place: placeOf(text) }))
  return placed.sort((a, b) => a.place[0] - b.place[0] || a.place[1] - b.place[1]).map(one => one.text)
}

function mistake(reading: ConfigReading, path: readonly (string | number)[], message: string): string {
  return `${reading.placeOf(path)} ${path.join('.')}: ${message}`
}

/** One line, however many there are. */
function unpriced(deployments: readonly Deployment[]): string[] {
  const missing = deployments
    .filter(one => lacksPrice(one) && !one.modelName.includes('*'))
    .map(one => `${one.modelName} (${one.origin.where})`)
  if (missing.length === 0) return []
  const named = missing.slice(0, namedMax).join(', ')
  const more = missing.length > namedMax ? ` and ${missing.length - namedMax} more` : ''
  const fix = 'their calls cost null; give input_cost_per_token and output_cost_per_token, or output_cost_per_image and the like'
  return [`no price is known for ${missing.length} of the models: ${named}${more}; ${fix}`]
}

/** What such a model is asked for could not be charged. A text model needs two prices. */
function lacksPrice({ prices, mode }: Deployment): boolean {
  if (!prices) return true
  const { input, output, image, character, audioSecond, searchUnit, request } = prices.later?.at(-1)?.prices ?? prices
  const isText = mode === 'chat' || mode === 'completion'
  if ((image ?? character ?? audioSecond ?? searchUnit ?? request) !== undefined && !isText) return false
  return input === undefined || (isText && output === undefined)
}

interface Naming {
  readonly reading: ConfigReading
  readonly mistakes: string[]
}

/** Ids are unique, also those of entries from which nothing else can be made. */
function checkIds(deployments: readonly Deployment[], { reading, mistakes }: Naming): void {
  const given = (reading.entries ?? []).flatMap(({ at, entry }) => {
    const where = reading.lineOf(['model_list', at])
    const isBuilt = deployments.some(one => one.origin.kind === 'config' && one.origin.where === where)
    const id = entry?.model_info?.id
    return id === undefined || isBuilt ? [] : [{ id, where }]
  })
  const ids = new Map<string, string>()
  for (const { id, where } of [...deployments.map(one => ({ id: one.id, where: one.origin.where })), ...given]) {
    const other = ids.get(id)
    if (other !== undefined) mistakes.push(`${where} model_info.id: \`${id}\` is also the id of ${other}; ids must differ`)
    ids.set(id, where)
  }
}

/** Aliases and fallbacks name models that exist; an entry that cannot be used has its name nevertheless. */
function checkNames(config: Config, deployments: readonly Deployment[], { reading, mistakes }: Naming): void {
  const listed = reading.entries ?? []
  // A name that cannot be read may be the one that is looked for.
  if (reading.entries === null || listed.some(one => one.name === undefined)) return
  const names = new Set([...deployments.map(one => one.modelName), ...listed.map(one => one.name!)])
  const aliases = Object.entries(config.router_settings?.model_group_alias ?? {})
  const exists = (name: string) =>
    names.has(name) || aliases.some(([alias]) => alias === name) || [...names].some(one => one.includes('*') && name.startsWith(one.slice(0, one.indexOf('*'))))
  const check = (name: string, path: (string | number)[]) => {
    if (name === '*' || exists(name)) return
    const near = nearest(name, names)
    mistakes.push(mistake(reading, path, `no model is named \`${name}\`${near ? `, did you mean \`${near}\`?` : ''}`))
  }
  for (const [alias, name] of aliases) check(name, ['router_settings', 'model_group_alias', alias])
  for (const section of ['router_settings', 'settings'] as const)
    for (const [at, map] of (config[section]?.fallbacks ?? []).entries())
      for (const [from, to] of Object.entries(map))
        for (const name of [from, ...to]) check(name, [section, 'fallbacks', at, from])
}

function mergedFallbacks(list: readonly Record<string, string[]>[]): Record<string, readonly string[]> {
  return Object.fromEntries(list.flatMap(map => Object.entries(map)))
}

function accessGroups(deployments: readonly Deployment[]): Record<string, string[]> {
  const groups = new Map<string, Set<string>>()
  for (const { info, modelName } of deployments)
    for (const group of (info.access_groups as string[] | undefined) ?? []) {
      const names = groups.get(group) ?? new Set()
      groups.set(group, names.add(modelName))
    }
  return Object.fromEntries([...groups].map(([group, names]) => [group, [...names]]))
}
