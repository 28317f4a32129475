/** What is behind the names of models: deployments one by one, and in pages. */
import { z } from 'zod'
import { mayCall, patternedDeployments, usableDeployments } from '../../access/models/model-access.ts'
import { priceFields } from '../../pricing/price-keys.ts'
import type { ShownPrices } from '../../pricing/price-keys.ts'
import { pricesAt } from '../../pricing/price-variants.ts'
import { mayReadAll } from '../../access/rights.ts'
import { isAdministrator } from '../../core/caller.ts'
import type { Caller } from '../../core/caller.ts'
import type { ConfiguredObject } from '../../core/objects/configured-objects.ts'
import type { Deployment } from '../../core/deployment.ts'
import type { Endpoint, Services } from '../../core/endpoint.ts'
import { shownBlock } from '../operation/common/model-blocks.ts'
import { readQuery } from '../common/checked-input.ts'
import { boolean, dateTime, described, integer, listOf, named, nullable, open, shape, text } from '../openapi/schema.ts'
import type { ValueOf } from '../openapi/schema.ts'
import { lazy } from '../../lib/lazy.ts'
import { noSuchModel } from '../common/answers.ts'
import { alwaysPriced, otherPrices, priceSource, withFacts } from '../common/model-answers.ts'
import { jsonEndpoint } from '../common/json-endpoint.ts'

const infoParams = (credentialName: string) =>
  open(
    described(
      'What the entry sets, as it was set, without secrets; others than administrators see `model` and the credential.',
      shape(
        { model: text },
        {
          api_base: described('It is absent where the provider has an address of its own.', text),
          [credentialName]: described('It is the credential that the model names.', text),
        },
      ),
    ),
  )

const modelInfoSchema = named('ModelInfo', () =>
  shape({
    model_name: text,
    proxy_params: infoParams('credential_name'),
    litellm_params: infoParams('litellm_credential_name'),
    model_info: open(
      withFacts(
        {
          id: described('It is the `x-proxy-model-id` of calls.', text),
          db_model: described('Whether it was made by API.', boolean),
          mode: text,
          provider: text,
          litellm_provider: described('It is the same as `provider`.', text),
          key: described('The name that the model has at its provider.', text),
          max_tokens: nullable(described('It is the same as `max_output_tokens`.', integer)),
          source: text,
          blocked: described('An administrator has switched it off: it gets no calls.', boolean),
          ...alwaysPriced,
          price_source: priceSource,
        },
        {
          ...otherPrices,
          source_where: described(
            '`config.yaml:12`, or the variable or address it comes from; for readers of all.',
            text,
          ),
          blocked_by: described('Of one that is blocked, for readers of all; so are the next two.', nullable(text)),
          blocked_at: nullable(dateTime),
          blocked_reason: nullable(text),
          version: integer,
          created_at: dateTime,
          created_by: text,
          updated_at: dateTime,
          updated_by: text,
        },
      ),
    ),
  }),
)

const modelInfoListSchema = named('ModelInfoList', () => shape({ data: listOf(modelInfoSchema) }))

const modelInfoPageSchema = named('ModelInfoPage', () =>
  shape({
    data: listOf(modelInfoSchema),
    total_count: integer,
    current_page: integer,
    total_pages: integer,
    size: integer,
  }),
)

const pageSizeMax = 500
const word = lazy(() => z.string().max(500).optional())
const infoQuery = lazy(() => z.object({ proxy_model_id: word(), litellm_model_id: word() }))
const sorts = ['model_name', 'created_at', 'updated_at', 'costs', 'status'] as const

const pagesQuery = lazy(() =>
  z.object({
    model: word(),
    modelId: word(),
    search: word(),
    user_models_only: z.stringbool().default(false),
    page: z.coerce.number().int().min(1).default(1),
    size: z.coerce.number().int().min(1).max(pageSizeMax).default(50),
    sortBy: z.enum(sorts).optional(),
    sortOrder: z.enum(['asc', 'desc']).default('asc'),
  }),
)

/** Those of other teams are shown to readers of everything. */
function visible({ current: { settings, models } }: Services, caller: Caller): readonly Deployment[] {
  if (!mayReadAll(caller)) return usableDeployments(caller, models.of(caller))
  return settings.deployments.filter(one => mayCall(caller, one.modelName, settings))
}

/** GET /model/info: the deployments behind the names. Keys are never shown, addresses to administrators only. */
export const modelInfo: Endpoint = jsonEndpoint(modelInfoListSchema, {
  method: 'GET',
  paths: ['/model/info', '/v1/model/info'],
  auth: 'key',
  doc: {
    operationId: 'listModelInfo',
    summary: 'Details of deployments, and of what is known of the vendors of patterns: mode, prices, limits',
    tag: 'Models',
    query: {
      proxy_model_id: {
        schema: { type: 'string' },
        description: 'Only this deployment (`x-proxy-model-id`) is listed.',
      },
      litellm_model_id: { schema: { type: 'string' }, description: 'It is the same as `proxy_model_id`.' },
    },
    failures: [404],
  },
  handle(request, services, caller) {
    const { proxy_model_id: ours, litellm_model_id: theirs } = readQuery(request, infoQuery())
    const id = ours ?? theirs
    const all = visible(services, caller!)
    const chosen = id === undefined ? all : all.filter(one => one.id === id)
    if (id !== undefined && chosen.length === 0)
      throw noSuchModel(id, ours === undefined ? 'litellm_model_id' : 'proxy_model_id')
    return {
      data: entriesOf(id === undefined ? [...chosen, ...patterned(services, caller!)] : chosen, services, caller!),
    }
  },
})

/** The models that are known of the vendors of patterns, each under its own name and the id of the pattern. */
function patterned({ current: { models } }: Services, caller: Caller): Deployment[] {
  return [...patternedDeployments(caller, models.of(caller))].flatMap(([modelName, deployments]) =>
    deployments.map(one => ({ ...one, modelName })),
  )
}

/** GET /v2/model/info: the same in pages, with search and order. */
export const modelInfoPages: Endpoint = jsonEndpoint(modelInfoPageSchema, {
  method: 'GET',
  paths: ['/v2/model/info'],
  auth: 'key',
  doc: {
    operationId: 'listModelInfoPages',
    summary: 'Details of deployments in pages, with search and order',
    tag: 'Models',
    query: {
      model: { schema: { type: 'string' }, description: 'Only deployments of this public name are listed.' },
      modelId: { schema: { type: 'string' }, description: 'Only this deployment is listed or checked.' },
      search: { schema: { type: 'string' }, description: 'The public name or the id contains this part, in any case.' },
      user_models_only: { schema: { type: 'boolean' }, description: 'Only those that the caller has made by API.' },
      page: {
        schema: { type: 'integer', minimum: 1, default: 1 },
        description: 'The number of the page, which is counted from 1.',
      },
      size: {
        schema: { type: 'integer', minimum: 1, maximum: pageSizeMax, default: 50 },
        description: 'How many deployments a page has.',
      },
      sortBy: {
        schema: { enum: sorts },
        description:
          '`costs` is the price of input, `status` puts those of the file first; else the order is as configured.',
      },
      sortOrder: {
        schema: { enum: ['asc', 'desc'], default: 'asc' },
        description: 'What is not known comes last in both directions.',
      },
    },
  },
  handle(request, services, caller) {
    const query = readQuery(request, pagesQuery())
    const searchText = query.search?.toLowerCase()
    const own = caller!.key.userId ?? caller!.key.id
    const stored = storedModels(services)
    const found = visible(services, caller!).filter(
      one =>
        (query.model === undefined || one.modelName === query.model) &&
        (query.modelId === undefined || one.id === query.modelId) &&
        (searchText === undefined ||
          one.modelName.toLowerCase().includes(searchText) ||
          one.id.toLowerCase().includes(searchText)) &&
        (!query.user_models_only || stored.get(one.id)?.createdBy === own),
    )
    const { sortBy, sortOrder, page, size } = query
    const sorted = sortBy === undefined ? found : sortedBy(found, keyOf(sortBy, stored, services), sortOrder === 'desc')
    return {
      data: entriesOf(sorted.slice((page - 1) * size, page * size), services, caller!),
      total_count: found.length,
      current_page: page,
      total_pages: Math.ceil(found.length / size),
      size,
    }
  },
})

type SortKey = (deployment: Deployment) => string | number | undefined

function keyOf(
  by: (typeof sorts)[number],
  stored: ReadonlyMap<string, ConfiguredObject>,
  { clock }: Services,
): SortKey {
  switch (by) {
    case 'model_name':
      return one => one.modelName
    case 'created_at':
      return one => stored.get(one.id)?.createdAtMs
    case 'updated_at':
      return one => stored.get(one.id)?.updatedAtMs
    case 'status':
      return one => (one.origin.kind === 'api' ? 1 : 0)
    case 'costs':
      return one => shownPrices(one, clock.epochMs()).input_cost_per_token ?? undefined
  }
}

/** What is not known comes last in both directions. */
function sortedBy(deployments: readonly Deployment[], key: SortKey, isDescending: boolean): Deployment[] {
  return deployments.toSorted((a, b) => {
    const [x, y] = [key(a), key(b)]
    if (x === undefined || y === undefined) return x === y ? 0 : x === undefined ? 1 : -1
    const order = x < y ? -1 : x > y ? 1 : 0
    return isDescending ? -order : order
  })
}

const storedModels = ({ configured }: Services): ReadonlyMap<string, ConfiguredObject> =>
  new Map(configured.objects().flatMap(one => (one.kind === 'model' ? [[one.id, one]] : [])))

function entriesOf(deployments: readonly Deployment[], services: Services, caller: Caller) {
  const stored = storedModels(services)
  const nowMs = services.clock.epochMs()
  const options = { nowMs, showAddress: isAdministrator(caller), showOrigin: mayReadAll(caller) }
  return deployments.map(one => infoEntry(one, stored.get(one.id), options))
}

/** Prices in dollars for one unit by LiteLLM's names, at one moment (epoch milliseconds). */
export const shownPrices = ({ prices, mode }: Deployment, nowMs: number): ShownPrices =>
  priceFields(prices && pricesAt(prices, nowMs), mode === 'audio_speech')

interface InfoOptions {
  readonly nowMs: number
  readonly showAddress: boolean
  readonly showOrigin: boolean
}

function infoEntry(
  deployment: Deployment,
  stored: ConfiguredObject | undefined,
  { nowMs, showAddress, showOrigin }: InfoOptions,
): ValueOf<typeof modelInfoSchema> {
  const { target, mode, credentialName } = deployment
  const maxTokens = deployment.info.max_output_tokens ?? deployment.info.max_tokens
  const { credential_name: _, ...written } = (showAddress && deployment.writtenParams) || {}
  const params = { ...written, model: `${target.provider.name}/${target.model}` }
  const withCredential = (name: string) => ({
    ...params,
    ...(credentialName !== undefined && { [name]: credentialName }),
  })
  return {
    model_name: deployment.modelName,
    proxy_params: withCredential('credential_name'),
    litellm_params: withCredential('litellm_credential_name'),
    model_info: {
      ...deployment.info,
      id: deployment.id,
      db_model: deployment.origin.kind === 'api',
      mode,
      provider: target.provider.name,
      // LiteLLM's names, which its clients read.
      litellm_provider: target.provider.name,
      key: target.model,
      max_tokens: typeof maxTokens === 'number' ? maxTokens : null,
      source: deployment.origin.kind,
      // The file may have the name of a folder of the operator's.
      ...(showOrigin && { source_where: deployment.origin.where }),
      blocked: deployment.blocked !== undefined,
      ...(showOrigin && deployment.blocked && shownBlock(deployment.blocked)),
      ...shownPrices(deployment, nowMs),
      price_source: deployment.priceSource ?? null,
      ...(stored && {
        version: stored.version,
        created_at: new Date(stored.createdAtMs).toISOString(),
        created_by: stored.createdBy,
        updated_at: new Date(stored.updatedAtMs).toISOString(),
        updated_by: stored.updatedBy,
      }),
    },
  }
}
