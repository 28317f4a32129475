/** Every public path: what calls need from the start, and groups that are loaded at the first request for them. */
import type { Endpoint } from '../core/endpoint.ts'
import { keyDerive } from './tenancy/derived-keys.ts'
import { liveliness, readiness, metrics } from './operation/health.ts'
import { keyInfo, keyList, keyInfos, keyAliases, keyHealth } from './tenancy/key-lists.ts'
import {
  keyGenerate,
  keyUpdate,
  keyBlocking,
  keyDelete,
  serviceAccountGenerate,
  keyBulkUpdate,
  keyRegenerate,
} from './tenancy/keys.ts'
import { keyLimits } from './tenancy/key-limits.ts'
import { speech, transcriptions, translations } from './model-calls/audio.ts'
import { chatCompletions } from './model-calls/chat-completions.ts'
import { completions } from './model-calls/completions.ts'
import { embeddings } from './model-calls/embeddings.ts'
import { geminiEndpoints } from './model-calls/gemini.ts'
import { images, imageEdits, imageVariations } from './model-calls/images.ts'
import { messages, messagesCountTokens } from './model-calls/messages.ts'
import { moderations } from './model-calls/moderations.ts'
import { rerank, rerankTwo } from './model-calls/rerank.ts'
import {
  responsesCompact,
  responsesCreate,
  responsesInputTokens,
  responsesRetrieve,
  responsesDelete,
  responsesCancel,
  responsesInputItems,
} from './model-calls/responses.ts'
import { modelsList, modelsOne } from './utilities/models.ts'
import { openapiEndpoints } from './openapi.ts'
import type { LazyGroup } from './endpoint-table.ts'
import { routesEndpoint } from './utilities/routes.ts'
import { webPages } from './web/pages.ts'

const calls: readonly Endpoint[] = [
  chatCompletions,
  completions,
  responsesCompact,
  responsesCreate,
  responsesInputTokens,
  responsesRetrieve,
  responsesDelete,
  responsesCancel,
  responsesInputItems,
  embeddings,
  moderations,
  images,
  imageEdits,
  imageVariations,
  speech,
  transcriptions,
  translations,
  rerank,
  rerankTwo,
  messages,
  messagesCountTokens,
  ...geminiEndpoints,
  modelsList,
  modelsOne,
  keyGenerate,
  keyDerive,
  keyInfo,
  keyList,
  keyUpdate,
  ...keyBlocking,
  keyDelete,
  serviceAccountGenerate,
  keyBulkUpdate,
  keyRegenerate,
  keyInfos,
  keyAliases,
  keyHealth,
  keyLimits,
  liveliness,
  readiness,
  metrics,
]

/**
 * `segments`: of the paths in it, the first segment that distinguishes them from others (`/v1/files/{file_id}`: files).
 * A lazy group has no path that another one has, or that fits a pattern of another one (lazy/lazy-groups.test.ts).
 */
const lazyGroups: readonly LazyGroup[] = [
  {
    segments: ['passthrough'],
    load: async () => (await import('./model-calls/pass-through.ts')).passThroughEndpoints,
  },
  {
    segments: ['assistants', 'threads', 'chat', 'files', 'batches'],
    load: async () => (await import('./lazy/stored-objects.ts')).endpoints,
  },
  {
    segments: [
      'access_group',
      'unified_access_group',
      'audit',
      'budget',
      'customer',
      'end_user',
      'key',
      'organization',
      'scim',
      'tag',
      'team',
      'user',
    ],
    load: async () => (await import('./lazy/tenancy.ts')).endpoints,
  },
  {
    segments: [
      'cache',
      'config',
      'credentials',
      'guardrails',
      'health',
      'model',
      'model_group',
      'overview',
      'providers',
      'public',
      'utils',
    ],
    load: async () => (await import('./lazy/operation.ts')).endpoints,
  },
  {
    segments: ['cost', 'customer', 'end_user', 'global', 'organization', 'spend', 'tag', 'team', 'user'],
    load: async () => (await import('./lazy/spend.ts')).endpoints,
  },
  {
    segments: [
      '.well-known',
      'device',
      'fallback',
      'invitation',
      'login',
      'logs',
      'managed',
      'metrics',
      'oauth',
      'onboarding',
      'sign-in',
      'sso',
      'traces',
    ],
    load: async () => (await import('./lazy/sign-in.ts')).endpoints,
  },
  {
    segments: ['mcp', 'mcp-rest'],
    load: async () => (await import('./lazy/tools.ts')).endpoints,
  },
]

const inLazyGroups = async () => (await Promise.all(lazyGroups.map(group => group.load()))).flat()
const documents: readonly Endpoint[] = [
  routesEndpoint(allEndpoints),
  ...openapiEndpoints(async () => [...calls, ...(await inLazyGroups()), ...documents]),
]

/**
 * What a gateway has from its start, and what it loads later. Exact paths win over patterns; patterns are tried in this
 * order. The pages are for people, and no part of the API that is described.
 */
export const publicPaths: { readonly endpoints: readonly Endpoint[]; readonly lazyGroups: readonly LazyGroup[] } = {
  endpoints: [...calls, ...documents, webPages],
  lazyGroups,
}

/** Every public path, for documents and tests. Loads all lazy groups. */
export async function allEndpoints(): Promise<readonly Endpoint[]> {
  return [...calls, ...(await inLazyGroups()), ...documents, webPages]
}
