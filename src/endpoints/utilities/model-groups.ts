/**
 * Public names of models, each with what is known of its deployments together: for callers, and for strangers where the
 * operator says so. Paths and fields as LiteLLM's users know them (docs.litellm.ai/docs/proxy/ai_hub).
 */
import { randomUUIDv7 } from 'bun'
import { z } from 'zod'
import { actorOf } from '../../access/actor.ts'
import { mayCall, patternedDeployments, usableDeployments } from '../../access/models/model-access.ts'
import type { Caller } from '../../core/caller.ts'
import { publicModelsName } from '../../core/objects/configured-objects.ts'
import type { Deployment } from '../../core/deployment.ts'
import type { Endpoint, Services } from '../../core/endpoint.ts'
import { GatewayError } from '../../core/errors.ts'
import { supportedParams } from '../../core/hub/params.ts'
import type { Settings } from '../../core/settings.ts'
import { recordOf } from '../../lib/record-of.ts'
import { lazy } from '../../lib/lazy.ts'
import { prepareChange } from '../common/configured-change.ts'
import { readQuery } from '../common/checked-input.ts'
import { answerFixed, fixedContent } from '../openapi/fixed-content.ts'
import type { FixedContent } from '../openapi/fixed-content.ts'
import {
  boolean,
  described,
  each,
  integer,
  json,
  listOf,
  mapOf,
  named,
  nullable,
  number,
  oneOf,
  open,
  shape,
  text,
} from '../openapi/schema.ts'
import { shownPrices } from './model-info.ts'
import { dollars, withFacts } from '../common/model-answers.ts'
import { jsonEndpoint, withBody } from '../common/json-endpoint.ts'

/** What a public name can do: true where one of its deployments can. */
const groupFlags = [
  'supports_vision',
  'supports_function_calling',
  'supports_parallel_function_calling',
  'supports_response_schema',
  'supports_web_search',
  'supports_reasoning',
  'supports_audio_input',
  'supports_audio_output',
  'supports_pdf_input',
  'supports_prompt_caching',
] as const

const groupPrices = {
  input_cost_per_token: dollars,
  output_cost_per_token: dollars,
  prices: described('Every price that is known, in dollars for one, by the name of its key.', mapOf(number)),
}

const groupFacts = {
  model_group: text,
  providers: listOf(text),
  mode: described('null = its deployments have several.', nullable(text)),
  description: nullable(text),
  aliases: described('Other names that it can be called by.', listOf(text)),
  max_input_tokens: nullable(integer),
  max_output_tokens: nullable(integer),
  ...each(groupFlags, nullable(boolean)),
  supports_thinking_mode: described('Whether a client may send `chat_template_kwargs.thinking_mode`.', boolean),
  supported_openai_params: described('The fields that every deployment takes.', listOf(text)),
  blocked: described('Every deployment is switched off; only fallbacks answer.', boolean),
  is_public_model_group: described('The model hub shows it without a key.', boolean),
  health_status: described(
    'Deployments that are blocked, or in a cooldown after failures: none, some, or all of them.',
    oneOf('healthy', 'degraded', 'unhealthy'),
  ),
}

const modelGroupListSchema = named('ModelGroupList', () =>
  shape({ data: listOf(open(withFacts({ ...groupPrices, ...groupFacts }, {}))) }),
)

const publicModelsSchema = named('PublicModels', () => listOf(open(withFacts(groupFacts, groupPrices))))

const publicModelNamesSchema = named('PublicModelNames', () =>
  shape({ message: text, public_model_groups: listOf(text), updated_by: text }),
)

const groupQuery = lazy(() => z.object({ model_group: z.string().max(500).optional() }))
const publicMax = 1000

const publicBody = lazy(() =>
  z.strictObject({
    model_groups: z
      .array(z.string().min(1).max(500))
      .max(publicMax)
      .describe('All names that callers without a key may see, in place of those until now; an empty list shows none.'),
  }),
)

/** GET /model_group/info: each public name with what its deployments have in common or at most. */
export const modelGroupInfo: Endpoint = jsonEndpoint(modelGroupListSchema, {
  method: 'GET',
  paths: ['/model_group/info'],
  auth: 'key',
  doc: {
    operationId: 'listModelGroups',
    summary: 'Public names with what is known of their deployments together',
    tag: 'Models',
    query: { model_group: { schema: { type: 'string' }, description: 'Only this public name is listed.' } },
  },
  handle(request, services, caller) {
    const { model_group: only } = readQuery(request, groupQuery())
    const own = services.current.models.of(caller!)
    const configured = Map.groupBy(usableDeployments(caller!, own), one => one.modelName)
    const groups = new Map([...configured, ...patternedDeployments(caller!, own)])
    const names = only === undefined ? [...groups.keys()] : [only].filter(name => groups.has(name))
    const seen = about(services, alias => mayCall(caller!, alias, own.settings))
    return { data: names.map(name => groupEntry(name, groups.get(name)!, seen)) }
  },
})

/** What a group is shown with, beside its deployments. */
interface GroupContext {
  readonly nowMs: number
  /** By id: a deployment that was read anew is another object. */
  readonly cooling: ReadonlySet<string>
  readonly isPublic: ReadonlySet<string>
  /** Public name -> its other names that the reader may see. */
  readonly aliases: ReadonlyMap<string, readonly string[]>
}

function about(services: Services, maySee: (alias: string) => boolean): GroupContext {
  const { aliases, publicModels } = services.current.settings
  const seen = Object.entries(aliases).filter(([alias]) => maySee(alias))
  const byModel = Map.groupBy(seen, ([, model]) => model)
  return {
    nowMs: services.clock.epochMs(),
    cooling: new Set(services.coolingDown().map(one => one.id)),
    isPublic: new Set(publicModels.names),
    aliases: new Map([...byModel].map(([model, pairs]) => [model, pairs.map(([alias]) => alias)])),
  }
}

/** The largest that is known; null = nothing is. */
function most(values: readonly unknown[]): number | null {
  const known = values.filter(value => typeof value === 'number')
  return known.length === 0 ? null : Math.max(...known)
}

/** What all of them take together; null = one has no limit. */
function sum(limits: readonly (number | null | undefined)[]): number | null {
  const known = limits.filter(one => typeof one === 'number')
  return known.length < limits.length || known.length === 0 ? null : known.reduce((total, one) => total + one, 0)
}

/** Prices and limits: the largest that is known; a flag: true where one deployment has it; null = nothing is known. */
function groupEntry(name: string, deployments: readonly Deployment[], seen: GroupContext) {
  const ofInfo = (field: string) => most(deployments.map(one => one.info[field]))
  const flag = (field: string): boolean | null => {
    const known = deployments.map(one => one.info[field]).filter(value => typeof value === 'boolean')
    return known.length === 0 ? null : known.includes(true)
  }
  const description = deployments.map(one => one.info.description).find(value => typeof value === 'string')
  const modes = new Set(deployments.map(one => one.mode))
  const prices = highestPrices(deployments, seen.nowMs)
  return {
    model_group: name,
    providers: [...new Set(deployments.map(one => one.target.provider.name))],
    mode: modes.size === 1 ? deployments[0]!.mode : null,
    description: description ?? null,
    aliases: seen.aliases.get(name) ?? [],
    max_input_tokens: ofInfo('max_input_tokens'),
    max_output_tokens: ofInfo('max_output_tokens'),
    input_cost_per_token: prices.input_cost_per_token ?? null,
    output_cost_per_token: prices.output_cost_per_token ?? null,
    prices,
    input_cost_per_pixel: null,
    tpm: sum(deployments.map(one => one.rateLimits?.tokensPerMinute)),
    rpm: sum(deployments.map(one => one.rateLimits?.requestsPerMinute)),
    ...recordOf(groupFlags, flag),
    // Its template takes `chat_template_kwargs.thinking_mode`.
    supports_thinking_mode: deployments.some(one => one.profile.thinking !== 'separate'),
    supported_openai_params: supportedParams(deployments),
    configurable_clientside_auth_params: null,
    blocked: deployments.every(one => one.blocked !== undefined),
    is_public_model_group: seen.isPublic.has(name),
    health_status: healthOf(deployments, seen.cooling),
  }
}

/** Every price that is known of one of the deployments, by LiteLLM's names. */
function highestPrices(deployments: readonly Deployment[], nowMs: number): Record<string, number> {
  const highest: Record<string, number> = {}
  for (const deployment of deployments)
    for (const [key, price] of Object.entries(shownPrices(deployment, nowMs)))
      if (price !== null) highest[key] = Math.max(highest[key] ?? 0, price)
  return highest
}

/** `degraded` = some of the deployments are blocked or cool down after failures here, `unhealthy` = all of them. */
function healthOf(
  deployments: readonly Deployment[],
  cooling: ReadonlySet<string>,
): 'healthy' | 'degraded' | 'unhealthy' {
  const down = deployments.filter(one => one.blocked !== undefined || cooling.has(one.id)).length
  return down === 0 ? 'healthy' : down < deployments.length ? 'degraded' : 'unhealthy'
}

/** How old the prices and health may be that callers without a key read. */
const publicAgeMs = 5000
const publicHeaders = { 'content-type': 'application/json', 'cache-control': 'no-cache' }

interface CachedContent {
  readonly content: FixedContent
  /** On the monotonic clock. */
  readonly atMs: number
}

/** What callers without a key see under given settings. */
const made = new WeakMap<Settings, CachedContent>()

/**
 * GET /public/model_hub: the names that `public_model_groups` lists, without addresses and ids; an empty list where it
 * lists none. The bytes are made once in five seconds, for all readers.
 */
export const publicModelHub: Endpoint = {
  method: 'GET',
  paths: ['/public/model_hub'],
  auth: 'none',
  doc: {
    operationId: 'listPublicModels',
    summary: 'The models that the operator shows without a key',
    tag: 'Models',
    success: json(publicModelsSchema),
    headers: ['etag'],
  },
  handle: (request, services) => answerFixed(request, publicContent(services)),
}

function publicContent(services: Services): FixedContent {
  const { settings } = services.current
  const nowMs = services.clock.monotonicMs()
  const before = made.get(settings)
  if (before && nowMs - before.atMs < publicAgeMs) return before.content
  const content = fixedContent(Buffer.from(JSON.stringify(publicEntries(services))), publicHeaders)
  // Slow readers of the same text share its bytes.
  const kept = before?.content.headers.etag === content.headers.etag ? before!.content : content
  made.set(settings, { content: kept, atMs: nowMs })
  return kept
}

const priceFields = ['input_cost_per_token', 'output_cost_per_token', 'prices'] as const

function publicEntries(services: Services): object[] {
  const { names, showPrices } = services.current.settings.publicModels
  const listed = new Set(names)
  const seen = about(services, alias => listed.has(alias))
  return names.flatMap(name => {
    const deployments = services.current.models.resolve(name)
    if (deployments.length === 0) return []
    const entry: object = groupEntry(name, deployments, seen)
    const shown = Object.entries(entry).filter(([field]) => showPrices || !priceFields.some(one => one === field))
    return [Object.fromEntries(shown)]
  })
}

/** POST /model_group/make_public: which names are shown without a key. 400 while the configuration file says it. */
export const makePublic: Endpoint = withBody(publicBody, {
  answer: publicModelNamesSchema,
  paths: ['/model_group/make_public'],
  auth: 'admin',
  operationId: 'makeModelsPublic',
  summary: 'Say which models the model hub shows without a key',
  tag: 'Models',
  failures: [400, 403, 404, 409],
  async handle(body, { services, caller }) {
    await prepareChange(services)
    const names = [...new Set(body.model_groups)]
    const { where } = services.current.settings.publicModels
    if (where !== null)
      throw new GatewayError('invalid-request', `the public models stand in ${where}; change them there`, {
        param: 'model_groups',
      })
    const unknown = names.find(name => name.includes('*') || services.current.models.resolve(name).length === 0)
    if (unknown !== undefined)
      throw new GatewayError('not-found', `no model is named '${unknown.slice(0, 200)}'; GET /v1/models lists them`, {
        param: 'model_groups',
      })
    await store(services, names, caller)
    const updated_by = actorOf(caller).id
    return { message: 'Successfully updated public model groups', public_model_groups: names, updated_by }
  },
})

async function store({ configured }: Services, names: readonly string[], caller: Caller): Promise<void> {
  const before = configured.objects().find(one => one.kind === 'public_models')
  const content = { kind: 'public_models', name: publicModelsName, body: { names }, secrets: null } as const
  const actor = actorOf(caller)
  if (before) await configured.update({ ...content, id: before.id, version: before.version }, actor)
  else await configured.insert({ ...content, id: randomUUIDv7() }, actor)
}
