/** Builds deployments from checked model entries: provider, address, key, timeouts, prices. */
import { defaultFieldNames, fieldDefaults, restrictionsIn } from '../../core/dialects/default-fields.ts'
import type { Deployment, Origin, Timeouts } from '../../core/deployment.ts'
import type { Provider, Target } from '../../core/provider.ts'
import { withDefaults } from '../../core/setting-keys.ts'
import { Secret } from '../../lib/secret.ts'
import { localModels, similarProvider } from '../../providers/index.ts'
import { azureIdentity } from './azure-identity.ts'
import { namedInRegion } from '../../providers/bedrock/address.ts'
import { bedrockOptions } from './bedrock-options.ts'
import { clientCredentialsOf } from './client-credentials.ts'
import { shownParams } from './shown-params.ts'
import { namedModel, readAddress } from '../checks/entry-checks.ts'
import { identityOf } from './deployment-ids.ts'
import type { Environment } from '../environment.ts'
import { modelFacts, tokenLimits } from './model-facts.ts'
import { placeOf } from '../prices/place-names.ts'
import { pricesInPlace } from '../prices/place-premiums.ts'
import { isReadPriceKey } from '../prices/read-price-keys.ts'
import type { ProxySettings } from './proxies.ts'
import { modelParamKeys } from '../sections/model-params.ts'
import { cachePointsOf, fieldKeys } from '../sections/request-fields.ts'
import { routerKeys } from '../sections/router.ts'
import type { ModelEntry } from '../sections/models.ts'
import { isKeyText } from '../checks/value-checks.ts'
import { vertexOptions } from './vertex-options.ts'

/** By provider name, the part before the slash of `provider/model`. */
export type Providers = ReadonlyMap<string, Provider>

/** Defaults and surroundings of an entry. */
export interface BuildContext {
  readonly providers: Providers
  readonly environment: Environment
  /** Those of `router_settings` and `settings`, in seconds; absent = the defaults there. */
  readonly timeoutS?: number | undefined
  readonly streamTimeoutS?: number | undefined
  /** Undefined = see `Deployment.dropParams`. */
  readonly dropParams: boolean | undefined
  /** Of entries that do not say it themselves; absent = none. */
  readonly droppedFields?: readonly string[] | undefined
  /** Absent = the default of `settings`. */
  readonly forwardUnknownFields?: boolean | undefined
  /** The providers whose credentials callers may bring; absent = none. */
  readonly forwardClientCredentials?: readonly string[] | undefined
  readonly forwardTraceparent?: boolean | undefined
  /** Absent = every upstream is reached without a proxy. */
  readonly proxies?: ProxySettings
  readonly origin: Origin
}

interface Mistake {
  readonly path: string[]
  readonly message: string
}

/** Returns a deployment, or a mistake with its path inside the entry. */
export function buildDeployment(entry: ModelEntry, context: BuildContext): Deployment | Mistake {
  const params = entry.proxy_params
  const { provider: providerName, model: named } = namedModel(params)
  const provider = providerName === undefined ? undefined : context.providers.get(providerName)
  if (!provider) return unknownProvider(params.model, params.custom_llm_provider)
  const model = provider.name === 'bedrock' ? namedInRegion(named).id : named
  const given = params.api_base ?? addressOfEnvironment(provider, context.environment) ?? provider.defaultBaseUrl
  if (given === undefined)
    return {
      path: ['proxy_params'],
      message: noAddress(provider),
    }
  const keys = keysOf(params, provider, context, given)
  if ('message' in keys) return keys
  const { apiKey, clientCredentials } = keys
  const cloud = ofCloud(provider, params, context.environment, { hasKey: apiKey !== undefined, baseUrl: given })
  if ('message' in cloud) return cloud
  if (entry.model_info?.chat_api === 'responses' && !provider.chatByResponses)
    return {
      path: ['model_info', 'chat_api'],
      message: `the provider ${provider.name} has no /responses; leave \`chat_api\` out`,
    }
  const { baseUrl, apiVersion = ofAzure(provider, context.environment) } = readAddress(given)
  const declared = { ...entry.model_info, ...pick(params, Object.keys(params).filter(isReadPriceKey)) }
  const place = placeOf(provider.name, cloud.options ?? {})
  const facts = modelFacts({ modelName: publicName(entry), model, provider: provider.name, place }, declared)
  const target: Target = {
    provider: speakingFor(provider, entry.model_info?.mode),
    model,
    baseUrl: cloud.baseUrl ?? baseUrl,
    apiKey: apiKey === undefined ? undefined : new Secret(apiKey),
    identity: cloud.identity,
    headers: lowerCased(params.extra_headers ?? {}),
    options: { ...cloud.options, ...ownOptions(entry, apiVersion) },
    limits: tokenLimits(facts.info),
  }
  return {
    id: identityOf(entry),
    modelName: publicName(entry),
    ...(entry.model_info?.team_id !== undefined && { teamId: entry.model_info.team_id }),
    ...facts,
    prices: pricesInPlace(facts, target),
    target,
    weight: params.weight ?? modelParamKeys.weight.default,
    order: params.order ?? modelParamKeys.order.default,
    ...(params.tags && { tags: params.tags }),
    ...rateLimitsOf(params),
    ...(params.cooldown_time !== undefined && { cooldownMs: params.cooldown_time * 1000 }),
    timeouts: timeouts(params, context),
    proxies: context.proxies?.rulesFor(params.proxy),
    ...fieldRules(params, context),
    ...(clientCredentials && { clientCredentials }),
    ...defaultsOf(params),
    ...marksOf(params),
    ...(params.guardrails && { guardrails: params.guardrails }),
    ...(params.credential_name !== undefined && { credentialName: params.credential_name }),
    writtenParams: shownParams(params),
    origin: context.origin,
  }
}

/** The gateway's own key, and whether callers may bring theirs, or a mistake with its path inside the entry. */
function keysOf(
  params: ModelEntry['proxy_params'],
  provider: Provider,
  { providers, environment, forwardClientCredentials: common }: BuildContext,
  baseUrl: string,
): (Pick<Deployment, 'clientCredentials'> & { readonly apiKey: string | undefined }) | Mistake {
  // AWS credentials in the entry have precedence over an API key of the environment.
  const signs =
    provider.name === 'bedrock' &&
    (params.aws_access_key_id ?? params.aws_secret_access_key ?? params.aws_role_name ?? params.aws_profile_name) !==
      undefined
  const variable = signs ? undefined : keyVariable(provider, environment)
  const apiKey = params.api_key ?? (variable === undefined ? undefined : environment[variable])
  const isKnown = (name: string): boolean => providers.has(name)
  const own = clientCredentialsOf(params, { provider, common, isKnown, baseUrl, hasKey: apiKey !== undefined })
  if ('message' in own) return own
  const isNeeded = !provider.keyless && params.api_base === undefined && own.clientCredentials === undefined
  if (apiKey === undefined && isNeeded)
    return { path: ['proxy_params'], message: `no key: give \`api_key\`, or set ${provider.apiKeyEnv.join(' or ')}` }
  if (apiKey !== undefined && !isKeyText(apiKey)) return { path: ['proxy_params'], message: unusableKey(variable) }
  return { apiKey, ...own }
}

/** Address, options and identity of a provider that is a cloud, or a mistake with its path inside the entry. */
function ofCloud(
  { name }: Provider,
  params: ModelEntry['proxy_params'],
  environment: Environment,
  given: { readonly hasKey: boolean; readonly baseUrl: string },
): Partial<Pick<Target, 'baseUrl' | 'options' | 'identity'>> | { path: string[]; message: string } {
  if (name === 'vertex_ai') return vertexOptions(params, environment, given.hasKey)
  if (name === 'bedrock') return bedrockOptions(params, environment, given.hasKey)
  const identity = name.startsWith('azure') ? azureIdentity(params, environment, given) : undefined
  return identity && 'message' in identity ? identity : { identity }
}

/** The name that clients use. */
const publicName = ({ model_name: name, model_info: info }: ModelEntry): string => info?.team_public_model_name ?? name

/** Keys that providers read under their own names. */
function ownOptions({ model_info: info, proxy_params: params }: ModelEntry, apiVersion: string | undefined) {
  return {
    ...(apiVersion !== undefined && { api_version: apiVersion }),
    ...(info?.base_model !== undefined && { base_model: info.base_model }),
    ...pick(params, ['api_version', 'organization', 'project', 'anthropic_version', 'anthropic_beta', 'max_tokens']),
    ...pick(params, ['num_ctx', 'keep_alive']),
    ...secrets(params, ['azure_ad_token']),
  }
}

function rateLimitsOf({ rpm_limit: requests, tpm_limit: tokens }: ModelEntry['proxy_params']) {
  if (requests === undefined && tokens === undefined) return undefined
  return { rateLimits: { requestsPerMinute: requests ?? null, tokensPerMinute: tokens ?? null } }
}

/** Empty = no marks are set. */
function marksOf(params: ModelEntry['proxy_params']): Pick<Deployment, 'promptMarks'> {
  const isAutomatic = params.prompt_caching === 'auto'
  const points = cachePointsOf(params.cache_control_injection_points ?? [])
  return points.length > 0 || isAutomatic ? { promptMarks: { points, isAutomatic } } : {}
}

function defaultsOf(params: ModelEntry['proxy_params']): Pick<Deployment, 'fieldDefaults' | 'restrictions'> {
  const defaults = fieldDefaults(pick(params, [...defaultFieldNames, 'extra_body']))
  const restrictions = restrictionsIn(params.extra_body)
  return { ...(defaults && { fieldDefaults: defaults }), ...(restrictions && { restrictions }) }
}

function fieldRules(
  given: ModelEntry['proxy_params'],
  {
    dropParams,
    droppedFields = [],
    forwardUnknownFields = fieldKeys.forward_unknown_fields.default,
    forwardTraceparent = fieldKeys.forward_traceparent.default,
  }: BuildContext,
): Pick<Deployment, 'allowedFields' | 'forwardsUnknownFields' | 'forwardsTrace' | 'dropParams' | 'droppedFields'> {
  const dropped = given.additional_drop_params ?? droppedFields
  return {
    allowedFields: new Set(given.allowed_fields),
    ...(dropped.length > 0 && { droppedFields: dropped }),
    forwardsUnknownFields: given.forward_unknown_fields ?? forwardUnknownFields,
    forwardsTrace: given.forward_traceparent ?? forwardTraceparent,
    dropParams: given.drop_params ?? dropParams,
  }
}

/** A declared mode says what the host has beside what is known of it. */
function speakingFor(provider: Provider, mode: string | undefined): Provider {
  const more = mode === 'moderation' ? provider.speaksByMode?.moderation : undefined
  return more ? { ...provider, speaks: { ...provider.speaks, ...more } } : provider
}

const everyVendor =
  'names no vendor: give an entry for each (`openai/*`, ...), or one with a `*` in `model_name` and without a key ' +
  'and an address, and every vendor with a key in the environment is served'

function unknownProvider(model: string, given: string | undefined) {
  const word = given ?? (model.includes('/') ? model.split('/')[0]! : undefined)
  const path = ['proxy_params', given === undefined ? 'model' : 'custom_llm_provider']
  if (word === undefined && model === '*') return { path, message: everyVendor }
  if (word === undefined)
    return { path, message: `must be \`provider/model\`, for example \`openai/${model}\`; or give \`api_base\`` }
  const near = similarProvider(word)
  return {
    path,
    message:
      'unknown provider ' +
      `\`${word}\`${near ? `, did you mean \`${near}\`?` : '; give `api_base` for any OpenAI-compatible host'}`,
  }
}

/** The environment variable that holds a key of this provider. */
function keyVariable(provider: Provider, environment: Environment): string | undefined {
  return provider.apiKeyEnv.find(name => environment[name] !== undefined && environment[name] !== '')
}

/** The variables of a provider's address, named after those of its key: `AZURE_API_BASE` beside `AZURE_API_KEY`. */
const addressVariables = ({ apiKeyEnv }: Provider): string[] =>
  apiKeyEnv.flatMap(name => (name.endsWith('_API_KEY') ? [name.replace(/_API_KEY$/, '_API_BASE')] : []))

/** The address that the environment gives, in LiteLLM's names; undefined = none. */
function addressOfEnvironment(provider: Provider, environment: Environment): string | undefined {
  const given = addressVariables(provider)
    .map(name => environment[name])
    .find(one => one)
  if (provider.name !== 'cloudflare') return given
  const { CLOUDFLARE_ACCOUNT_ID: account } = environment
  // LiteLLM's address is that of the dialect before OpenAI's.
  if (given) return given.replace(/\/ai\/run\/?$/, '/ai/v1')
  return account ? `https://api.cloudflare.com/client/v4/accounts/${encodeURIComponent(account)}/ai/v1` : undefined
}

function noAddress(provider: Provider): string {
  const variables = [
    ...addressVariables(provider),
    ...(provider.name === 'cloudflare' ? ['CLOUDFLARE_ACCOUNT_ID'] : []),
  ]
  const set = variables.length === 0 ? '' : `, or set ${variables.join(' or ')}`
  return `the provider ${provider.name} has no address of its own; give \`api_base\`${set}`
}

const ofAzure = ({ name }: Provider, { AZURE_API_VERSION: version }: Environment): string | undefined =>
  name === 'azure' ? version || undefined : undefined

function unusableKey(variable = 'api_key'): string {
  return (
    `the key in ${variable} has a blank, a line break or a character beyond ASCII, which no key has; look at ` +
    'its beginning and end'
  )
}

function timeouts(params: ModelEntry['proxy_params'], context: BuildContext): Timeouts {
  const { timeoutS = routerKeys.timeout.default, streamTimeoutS = routerKeys.stream_timeout.default } = context
  const given = withDefaults(modelParamKeys, params)
  return {
    connectMs: given.connect_timeout * 1000,
    firstByteMs: (given.timeout ?? timeoutS) * 1000,
    firstEventMs: (given.stream_timeout ?? given.timeout ?? streamTimeoutS) * 1000,
    idleMs: given.idle_timeout * 1000,
    firstContentMs: given.first_content_timeout * 1000,
    contentMs: given.content_timeout * 1000,
    totalMs: given.total_timeout * 1000,
  }
}

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}

function pick(from: Record<string, unknown>, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.filter(name => from[name] !== undefined).map(name => [name, from[name]]))
}

/** As `pick`, for values that must not be logged. */
function secrets(from: Record<string, unknown>, names: readonly string[]): Record<string, Secret> {
  return Object.fromEntries(
    names.flatMap(name => (typeof from[name] === 'string' ? [[name, new Secret(from[name])]] : [])),
  )
}

/** The built-in models, present unless disabled. */
export function localDeployments(context: Omit<BuildContext, 'origin'>): Deployment[] {
  const origin: Origin = { kind: 'built-in', where: 'local' }
  return localModels.map(({ modelName, mode }) => {
    const entry: ModelEntry = {
      model_name: modelName,
      proxy_params: { model: modelName },
      model_info: {
        mode,
        description: 'Simulated: no model behind it.',
        ...(mode === 'embedding' && { output_vector_size: 1024 }),
      },
    }
    return buildDeployment(entry, { ...context, origin }) as Deployment
  })
}

function remedyFor({ apiKeyEnv, defaultBaseUrl }: Provider): string {
  const list = 'put it into the `model_list` of a configuration'
  if (defaultBaseUrl === undefined) return `${list}, with its \`api_base\``
  if (defaultBaseUrl.startsWith('http://127.0.0.1:')) return `have it running before the gateway starts, or ${list}`
  return apiKeyEnv.length === 0 ? list : `set ${apiKeyEnv.join(' or ')} where the gateway runs, and start it again`
}

/** The deployments offered without a model list. */
export interface EnvironmentOffer {
  readonly deployments: readonly Deployment[]
  /** By provider: what to do so that its models are offered. Includes providers that are offered. */
  readonly missing: Readonly<Record<string, string>>
}

/**
 * Whether an entry stands for the models of every vendor: calls name the vendor in the place of its `*`, and the key is
 * in the environment.
 */
export function isEveryVendor({ model_name: name, proxy_params: params }: ModelEntry): boolean {
  const { model, custom_llm_provider: provider, api_base: address, api_key: key } = params
  return name.includes('*') && model === '*' && (provider ?? address ?? key) === undefined
}

/** An entry for the models of every vendor (`isEveryVendor`), and the names that have an entry of their own. */
export interface EveryVendor {
  readonly entry: ModelEntry
  readonly origin: Origin
  readonly otherNames: ReadonlySet<string>
}

/**
 * Without a model list, or for an entry that stands for every vendor: `provider/*` for every provider with a key in the
 * environment. `warn` is called for unusable keys.
 */
export function environmentDeployments(
  context: Omit<BuildContext, 'origin'>,
  warn: (text: string) => void,
  every?: EveryVendor,
): EnvironmentOffer {
  const deployments: Deployment[] = []
  const missing: Record<string, string> = {}
  for (const provider of context.providers.values()) {
    const variable = keyVariable(provider, context.environment)
    missing[provider.name] = remedyFor(provider)
    if (variable === undefined || provider.defaultBaseUrl === undefined) continue
    if (!isKeyText(context.environment[variable]!)) {
      missing[provider.name] = unusableKey(variable)
      warn(`${missing[provider.name]}; ${provider.name}/* is not offered`)
      continue
    }
    const model = `${provider.name}/*`
    const name = every ? publicName(every.entry).replace('*', model) : model
    if (every?.otherNames.has(name)) continue
    const { id: _, team_public_model_name: __, ...info } = every?.entry.model_info ?? {}
    const entry: ModelEntry = {
      model_name: name,
      proxy_params: { ...every?.entry.proxy_params, model },
      ...(every?.entry.model_info && { model_info: info }),
    }
    const origin: Origin = every?.origin ?? { kind: 'environment', where: variable }
    const built = buildDeployment(entry, { ...context, origin })
    // Some providers need more than a key (a region, a project); that is no mistake unless an entry names the provider.
    if ('message' in built) missing[provider.name] = built.message
    else deployments.push(built)
  }
  return { deployments, missing }
}
