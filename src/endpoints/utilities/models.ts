/** The lists of models. None calls an upstream: a provider that does not answer must not block a model picker. */
import { z } from 'zod'
import { pricesAt } from '../../pricing/price-variants.ts'
import { callerInTeam } from '../../access/caller.ts'
import {
  accessibleGroups,
  listedNames,
  mayCall,
  unaliased,
  visibleDeployments,
} from '../../access/models/model-access.ts'
import { administersAnything, mayReadAll, maySeeTeam } from '../../access/rights.ts'
import { priceFields } from '../../pricing/price-keys.ts'
import { jsonAnswer } from '../../core/answer.ts'
import type { Answer } from '../../core/answer.ts'
import { masterCaller } from '../../core/caller.ts'
import type { Caller } from '../../core/caller.ts'
import type { Deployment } from '../../core/deployment.ts'
import type { Endpoint, Services } from '../../core/endpoint.ts'
import type { HttpRequest } from '../../core/request.ts'
import { GatewayError, unprocessable } from '../../core/errors.ts'
import type { ModelDirectory } from '../../core/model-directory.ts'
import { fallbacksOf } from '../../core/settings.ts'
import type { Settings } from '../../core/settings.ts'
import { geminiErrorBody } from '../../formats/gemini/index.ts'
import { codexCatalogue, listEntry } from '../../formats/openai/models.ts'
import { readQuery } from '../common/checked-input.ts'
import { geminiModelAnswer, geminiModelsAnswer } from '../model-calls/gemini.ts'
import { lazy } from '../../lib/lazy.ts'

const pageModelsMax = 1000

/** The values of `fallback_type`, and the lists of the settings that they stand for. */
const fallbackTypes = {
  general: 'fallbacks',
  context_window: 'contextWindowFallbacks',
  content_policy: 'contentPolicyFallbacks',
} as const

type FallbackType = keyof typeof fallbackTypes
const booleanParameter = (description: string) => ({ schema: { type: 'boolean', default: false }, description })

/** Google's client of version 3 uses `/v1`, as OpenAI's clients do; a header identifies it. */
function isGeminiClient({ headers }: HttpRequest): boolean {
  return headers.has('x-goog-api-client') || headers.has('x-goog-api-key')
}

/** Errors in the dialect of the client, where one path has two. */
function inGemini(answer: () => Answer): Answer {
  try {
    return answer()
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown
    return jsonAnswer(geminiErrorBody(thrown), thrown.status)
  }
}

/** GET /models: one answer that OpenAI's, Anthropic's and Codex' clients all read. */
export const modelsList: Endpoint = {
  method: 'GET',
  paths: ['/models', '/v1/models', '/openai/v1/models', '/anthropic/v1/models', '/openai/models'],
  auth: 'key',
  doc: {
    operationId: 'listModels',
    summary: 'List the models this key may use',
    tag: 'Models',
    query: {
      return_wildcard_routes: booleanParameter('Whether patterns such as `openai/*` are listed as well.'),
      team_id: {
        schema: { type: 'string' },
        description: 'Only the models of this team are listed, which must be your own unless you are an admin.',
      },
      include_model_access_groups: booleanParameter('Whether the names of access groups are listed as well.'),
      only_model_access_groups: booleanParameter('Whether nothing but access groups is listed.'),
      include_metadata: booleanParameter('Whether each model has `metadata.fallbacks`.'),
      fallback_type: {
        schema: { enum: Object.keys(fallbackTypes) },
        description: 'Which kind of fallbacks `include_metadata` adds is chosen here.',
      },
      scope: { schema: { enum: ['expand'] }, description: 'Administrators are shown every model of the gateway.' },
      limit: {
        schema: { type: 'integer', minimum: 1, maximum: pageModelsMax },
        description: 'How many models a page has; without it the list is whole.',
      },
      after_id: {
        schema: { type: 'string' },
        description: 'Models behind this one are listed: it is the `last_id` of the page before.',
      },
      before_id: {
        schema: { type: 'string' },
        description: 'Models just before this one are listed: it is the `first_id` of the page behind.',
      },
    },
    success: async () => (await import('../common/model-answers.ts')).modelListSuccess,
    failures: [400, 404],
  },
  handle(request, services, caller) {
    if (isGeminiClient(request)) return inGemini(() => geminiModelsAnswer(request, services, caller!))
    const options = readOptions(request)
    const team = request.query.get('team_id')
    // Clients that are no admins send it, too: the peer ignores it then.
    if (options.expand && administersAnything(caller!)) return listAnswer(request, services, masterCaller, options)
    if (team === null || team === caller!.key.teamId) return listAnswer(request, services, caller!, options)
    return callerOfTeam(team, services, caller!).then(member => listAnswer(request, services, member, options))
  },
}

/**
 * The caller as a member of the team. Throws the same 404 for a team that does not exist and for one that is not the
 * caller's, so that it finds none out.
 */
async function callerOfTeam(teamId: string, { tenancy }: Services, caller: Caller): Promise<Caller> {
  const team = await tenancy.find('team', teamId)
  if (team && maySeeTeam(caller, team)) {
    const { organizationId } = team
    return callerInTeam(
      caller,
      team,
      organizationId === null ? undefined : await tenancy.find('organization', organizationId),
    )
  }
  const why = mayReadAll(caller) ? 'POST /team/new makes one' : 'GET /team/list shows yours'
  throw new GatewayError(
    'not-found',
    `there is no team '${teamId.slice(0, 100)}' here; ${why}, or leave \`team_id\` out`,
    {
      param: 'team_id',
    },
  )
}

function listAnswer(request: HttpRequest, services: Services, caller: Caller, options: ListOptions): Answer {
  const index = services.current.models.of(caller)
  const ids = visibleIds(index, caller, options)
  if (request.query.has('client_version'))
    return jsonAnswer(codexCatalogue(ids.map(id => ({ id, info: infoOf(index, id) }))))
  const page = pageOf(ids, readQuery(request, pageQuery()))
  const data = page.ids.map(id => {
    const entry = listedModel(id, index.resolve(unaliased(caller, id))[0], services)
    return options.metadata
      ? { ...entry, metadata: { fallbacks: shownFallbacks(id, options.fallbackType, index.settings) } }
      : entry
  })
  return jsonAnswer({
    object: 'list',
    data,
    has_more: page.hasMore,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  })
}

/** The query of Anthropic's clients (platform.claude.com/docs/en/api/models-list). */
const pageQuery = lazy(() =>
  z.object({
    limit: z.coerce.number().int().min(1).max(pageModelsMax).optional(),
    after_id: z.string().optional(),
    before_id: z.string().optional(),
  }),
)

interface ModelPage {
  readonly ids: readonly string[]
  /** In the direction of the paging. */
  readonly hasMore: boolean
}

/** The whole list unless a page is requested: OpenAI's clients do not page. */
function pageOf(
  ids: readonly string[],
  { limit = ids.length, after_id: after, before_id: before }: z.infer<ReturnType<typeof pageQuery>>,
): ModelPage {
  const refuse = (name: string, msg: string) => unprocessable([{ loc: ['query', name], msg, type: 'invalid' }])
  if (after !== undefined && before !== undefined)
    throw refuse('before_id', 'cannot stand beside after_id; send one of them')
  const indexOfModel = (name: string, id: string): number => {
    const at = ids.indexOf(id)
    if (at < 0) throw refuse(name, 'is none of the listed models; send first_id or last_id of a page')
    return at
  }
  if (before !== undefined) {
    const end = indexOfModel('before_id', before)
    const start = Math.max(end - limit, 0)
    return { ids: ids.slice(start, end), hasMore: start > 0 }
  }
  const start = after === undefined ? 0 : indexOfModel('after_id', after) + 1
  return { ids: ids.slice(start, start + limit), hasMore: start + limit < ids.length }
}

interface ListOptions {
  readonly expand: boolean
  readonly wildcards: boolean
  readonly groups: boolean
  readonly onlyGroups: boolean
  readonly metadata: boolean
  readonly fallbackType: FallbackType
}

function readOptions(request: HttpRequest): ListOptions {
  const { query } = request
  const scope = query.get('scope')
  if (scope !== null && scope !== 'expand')
    throw new GatewayError('invalid-request', "`scope` accepts only 'expand'", { param: 'scope' })
  const fallbackType = query.get('fallback_type') ?? 'general'
  if (!isFallbackType(fallbackType))
    throw new GatewayError(
      'invalid-request',
      `\`fallback_type\` must be one of ${Object.keys(fallbackTypes).join(', ')}`,
      {
        param: 'fallback_type',
      },
    )
  return {
    expand: scope === 'expand',
    wildcards: flag(query, 'return_wildcard_routes'),
    groups: flag(query, 'include_model_access_groups'),
    onlyGroups: flag(query, 'only_model_access_groups'),
    metadata: flag(query, 'include_metadata'),
    fallbackType,
  }
}

const isFallbackType = (text: string): text is FallbackType => Object.hasOwn(fallbackTypes, text)

function flag(query: URLSearchParams, name: string): boolean {
  // Python's clients send True.
  const value = query.get(name)?.toLowerCase()
  if (value === undefined || value === 'false' || value === '0') return false
  if (value === 'true' || value === '1' || value === '') return true
  throw unprocessable([{ loc: ['query', name], msg: 'must be true or false', type: 'wrong_type' }])
}

function visibleIds(index: ModelDirectory, caller: Caller, options: ListOptions): string[] {
  const mayUse = (name: string) => mayCall(caller, name, index.settings)
  const groups = accessibleGroups(caller, index.settings)
  if (options.onlyGroups) return groups
  const ids = [...listedNames(caller, index)]
  if (options.wildcards) ids.push(...index.wildcardNames().filter(mayUse))
  if (options.groups) ids.push(...groups)
  return [...new Set(ids)]
}

/** The list's entry of a model: what its first deployment can do and costs. */
function listedModel(
  id: string,
  deployment: Deployment | undefined,
  services: Services,
): { id: string } & Record<string, unknown> {
  if (!deployment) return listEntry(id, {})
  const { info, mode, prices, priceSource = null, blocked } = deployment
  const shown = Object.entries(info).filter(
    ([key]) => key.startsWith('supports_') || key.startsWith('supported_') || key === 'max_input_tokens',
  )
  const now = prices && pricesAt(prices, services.clock.epochMs())
  return {
    ...listEntry(id, info),
    mode,
    ...Object.fromEntries(shown),
    ...priceFields(now, mode === 'audio_speech'),
    price_source: priceSource,
    ...(blocked && { blocked: true }),
  }
}

/** Without the model itself, which `*` may list. */
function shownFallbacks(id: string, type: FallbackType, settings: Settings): string[] {
  return fallbacksOf(settings.router[fallbackTypes[type]], id, settings).filter(name => name !== id)
}

function infoOf(index: ModelDirectory, id: string): Readonly<Record<string, unknown>> {
  return index.resolve(id)[0]?.info ?? {}
}

/** GET /models/{id}: 404 for a model that does not exist or that the key may not see. */
export const modelsOne: Endpoint = {
  method: 'GET',
  paths: [
    '/models/{model_id+}',
    '/v1/models/{model_id+}',
    '/openai/v1/models/{model_id+}',
    '/anthropic/v1/models/{model_id+}',
    '/openai/models/{model_id+}',
  ],
  auth: 'key',
  doc: {
    operationId: 'getModel',
    summary: 'One model',
    tag: 'Models',
    success: async () => (await import('../common/model-answers.ts')).modelSuccess,
  },
  handle(request, services, caller) {
    const id = request.params.model_id!
    if (isGeminiClient(request)) return inGemini(() => geminiModelAnswer(id, services, caller!))
    const [deployment] = visibleDeployments(caller!, unaliased(caller!, id), services.current.models.of(caller!))
    if (!deployment)
      throw new GatewayError(
        'model-not-found',
        `the model '${id.slice(0, 200)}' does not exist or is not yours to use`,
        {
          param: 'model_id',
        },
      )
    return jsonAnswer(listedModel(id, deployment, services))
  },
}
