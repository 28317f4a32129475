/** Routing: the end of the path selects the endpoint, so that any prefix works as base URL. */
import type { HttpRequest } from './request-parser.ts'
import type { Dialect } from '../dialects/conventions.ts'

/** Names without a vendor are paths that several vendors share. */
export type Endpoint =
  | 'chat'
  | 'completions'
  | 'fill-in'
  | 'embeddings'
  | 'models'
  | 'files'
  | 'batches'
  | 'responses'
  | 'input-tokens'
  | 'moderations'
  | 'images'
  | 'image-forms'
  | 'speech'
  | 'transcriptions'
  | 'messages'
  | 'count-tokens'
  | 'rerank'
  | 'gemini-generate'
  | 'gemini-count'
  | 'gemini-embed'
  | 'gemini-embeds'
  | 'gemini-predict'
  | 'cohere-chat'
  | 'cohere-embed'
  | 'ollama-chat'
  | 'ollama-embed'
  | 'ollama-models'
  | 'bedrock-converse'
  | 'bedrock-invoke'
  | 'bedrock-count'

/** `endpoint` undefined = no vendor has such a path; `dialect` then decides the form of the 404 response. */
export interface Route {
  readonly endpoint: Endpoint | undefined
  readonly dialect: Dialect
  /** The model named by the path: `/models/{model}`, `/deployments/{model}/...`, `/model/{model}/...`. */
  readonly model?: string
  /** Whether the path asks for a stream; absent = the body decides. */
  readonly streams?: boolean
  /** The host whose refusals are asked for: `/host/groq/v1/chat/completions`. */
  readonly host?: string
}

interface RoutePattern {
  /** The capturing group, if there is one, is the model. */
  readonly pathEnd: RegExp
  readonly endpoint: Endpoint
  /** Absent = decided by headers and by the beginning of the path. */
  readonly dialect?: Dialect
  readonly streams?: boolean
}

const googleAction = (action: string): RegExp => new RegExp(`/(?:models|tunedModels|endpoints)/([^/]+):${action}$`)

const routePatterns: readonly RoutePattern[] = [
  { pathEnd: /\/models\/count-tokens:rawPredict$/, endpoint: 'count-tokens', dialect: 'anthropic' },
  { pathEnd: googleAction('rawPredict'), endpoint: 'messages', dialect: 'anthropic' },
  { pathEnd: googleAction('streamRawPredict'), endpoint: 'messages', dialect: 'anthropic' },
  { pathEnd: googleAction('generateContent'), endpoint: 'gemini-generate', dialect: 'gemini', streams: false },
  { pathEnd: googleAction('streamGenerateContent'), endpoint: 'gemini-generate', dialect: 'gemini', streams: true },
  { pathEnd: googleAction('countTokens'), endpoint: 'gemini-count', dialect: 'gemini' },
  { pathEnd: googleAction('embedContent'), endpoint: 'gemini-embed', dialect: 'gemini' },
  { pathEnd: googleAction('batchEmbedContents'), endpoint: 'gemini-embeds', dialect: 'gemini' },
  { pathEnd: googleAction('predict'), endpoint: 'gemini-predict', dialect: 'gemini' },
  { pathEnd: /\/model\/([^/]+)\/converse$/, endpoint: 'bedrock-converse', dialect: 'bedrock', streams: false },
  {
    pathEnd: /\/model\/([^/]+)\/converse-stream$/,
    endpoint: 'bedrock-converse',
    dialect: 'bedrock',
    streams: true,
  },
  { pathEnd: /\/model\/([^/]+)\/invoke$/, endpoint: 'bedrock-invoke', dialect: 'bedrock' },
  { pathEnd: /\/model\/([^/]+)\/count-tokens$/, endpoint: 'bedrock-count', dialect: 'bedrock' },
  { pathEnd: /\/v2\/chat$/, endpoint: 'cohere-chat', dialect: 'cohere' },
  { pathEnd: /\/v2\/embed$/, endpoint: 'cohere-embed', dialect: 'cohere' },
  { pathEnd: /\/v2\/rerank$/, endpoint: 'rerank', dialect: 'cohere' },
  { pathEnd: /\/api\/chat$/, endpoint: 'ollama-chat', dialect: 'ollama' },
  { pathEnd: /\/api\/embed$/, endpoint: 'ollama-embed', dialect: 'ollama' },
  { pathEnd: /\/api\/tags$/, endpoint: 'ollama-models', dialect: 'ollama' },
  { pathEnd: /\/chat\/completions\/?$/, endpoint: 'chat' },
  { pathEnd: /\/fim\/completions$/, endpoint: 'fill-in', dialect: 'mistral' },
  { pathEnd: /\/completions\/?$/, endpoint: 'completions' },
  { pathEnd: /\/embeddings\/?$/, endpoint: 'embeddings' },
  { pathEnd: /\/responses\/input_tokens$/, endpoint: 'input-tokens' },
  { pathEnd: /\/responses\/?$/, endpoint: 'responses' },
  { pathEnd: /\/moderations\/?$/, endpoint: 'moderations' },
  { pathEnd: /\/images\/generations\/?$/, endpoint: 'images' },
  { pathEnd: /\/images\/(?:edits|variations)\/?$/, endpoint: 'image-forms' },
  { pathEnd: /\/audio\/speech\/?$/, endpoint: 'speech' },
  { pathEnd: /\/audio\/(?:transcriptions|translations)\/?$/, endpoint: 'transcriptions' },
  { pathEnd: /\/rerank\/?$/, endpoint: 'rerank' },
  { pathEnd: /\/messages\/count_tokens\/?$/, endpoint: 'count-tokens', dialect: 'anthropic' },
  { pathEnd: /\/messages\/?$/, endpoint: 'messages', dialect: 'anthropic' },
  { pathEnd: /\/models\/(.+)$/, endpoint: 'models' },
  { pathEnd: /\/models\/?$/, endpoint: 'models' },
  { pathEnd: /\/files(?:\/[^/]+(?:\/content)?)?$/, endpoint: 'files' },
  { pathEnd: /\/batches(?:\/[^/]+(?:\/cancel)?)?$/, endpoint: 'batches' },
]

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Several vendors share OpenAI's paths; a path segment or a header distinguishes them. */
function dialectOf(path: string, { headers }: HttpRequest): Dialect {
  if (headers.has('anthropic-version')) return 'anthropic'
  if (path.includes('/mistral/')) return 'mistral'
  if (path.includes('/openai/deployments/') || (headers.has('api-key') && path.includes('/openai/'))) return 'azure'
  if (/\/v1(?:alpha|beta)\d*\//.test(path) || headers.has('x-goog-api-key')) return 'gemini'
  return 'openai'
}

/** Never throws. The method is not checked here. */
export function matchRoute(request: HttpRequest): Route {
  const path = request.target.split('?', 1)[0]!
  const pattern = routePatterns.find(({ pathEnd }) => pathEnd.test(path))
  const dialect = pattern?.dialect ?? dialectOf(path, request)
  const named = pattern?.pathEnd.exec(path)?.[1] ?? /\/(?:deployments|engines)\/([^/]+)\//.exec(path)?.[1]
  const host = /^\/host\/([^/]+)\//.exec(path)?.[1]
  return {
    endpoint: pattern?.endpoint,
    dialect,
    ...(host !== undefined && { host }),
    ...(named !== undefined && { model: decoded(named) }),
    ...(pattern?.streams !== undefined && { streams: pattern.streams }),
  }
}
