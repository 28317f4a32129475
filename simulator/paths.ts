/** Where a request goes: the end of its path decides, whatever stands before. */
import type { HttpRequest } from './request-parser.ts'
import type { Dialect } from './words.ts'

/** What is asked for. A name without a vendor is a path that several share. */
export type Endpoint =
  | 'chat'
  | 'completions'
  | 'fill-in'
  | 'embeddings'
  | 'models'
  | 'files'
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

/** `endpoint` undefined = no vendor has such a path; the dialect then decides how 404 is said. */
export interface Route {
  readonly endpoint: Endpoint | undefined
  readonly dialect: Dialect
  /** The model a path names: `/models/{model}`, `/deployments/{model}/...`, `/model/{model}/...`. */
  readonly model?: string
  /** The path says whether the answer is a stream; absent = the body does. */
  readonly streams?: boolean
}

interface Way {
  /** Its group, if it has one, is the model. */
  readonly end: RegExp
  readonly endpoint: Endpoint
  /** Absent = what headers and the path's beginning say. */
  readonly dialect?: Dialect
  readonly streams?: boolean
}

const googles = (action: string): RegExp => new RegExp(`/(?:models|tunedModels|endpoints)/([^/]+):${action}$`)

const ways: readonly Way[] = [
  { end: /\/models\/count-tokens:rawPredict$/, endpoint: 'count-tokens', dialect: 'anthropic' },
  { end: googles('rawPredict'), endpoint: 'messages', dialect: 'anthropic' },
  { end: googles('streamRawPredict'), endpoint: 'messages', dialect: 'anthropic' },
  { end: googles('generateContent'), endpoint: 'gemini-generate', dialect: 'gemini', streams: false },
  { end: googles('streamGenerateContent'), endpoint: 'gemini-generate', dialect: 'gemini', streams: true },
  { end: googles('countTokens'), endpoint: 'gemini-count', dialect: 'gemini' },
  { end: googles('embedContent'), endpoint: 'gemini-embed', dialect: 'gemini' },
  { end: googles('batchEmbedContents'), endpoint: 'gemini-embeds', dialect: 'gemini' },
  { end: googles('predict'), endpoint: 'gemini-predict', dialect: 'gemini' },
  { end: /\/model\/([^/]+)\/converse$/, endpoint: 'bedrock-converse', dialect: 'bedrock', streams: false },
  {
    end: /\/model\/([^/]+)\/converse-stream$/,
    endpoint: 'bedrock-converse',
    dialect: 'bedrock',
    streams: true,
  },
  { end: /\/model\/([^/]+)\/invoke$/, endpoint: 'bedrock-invoke', dialect: 'bedrock' },
  { end: /\/model\/([^/]+)\/count-tokens$/, endpoint: 'bedrock-count', dialect: 'bedrock' },
  { end: /\/v2\/chat$/, endpoint: 'cohere-chat', dialect: 'cohere' },
  { end: /\/v2\/embed$/, endpoint: 'cohere-embed', dialect: 'cohere' },
  { end: /\/v2\/rerank$/, endpoint: 'rerank', dialect: 'cohere' },
  { end: /\/api\/chat$/, endpoint: 'ollama-chat', dialect: 'ollama' },
  { end: /\/api\/embed$/, endpoint: 'ollama-embed', dialect: 'ollama' },
  { end: /\/api\/tags$/, endpoint: 'ollama-models', dialect: 'ollama' },
  { end: /\/chat\/completions\/?$/, endpoint: 'chat' },
  { end: /\/fim\/completions$/, endpoint: 'fill-in', dialect: 'mistral' },
  { end: /\/completions\/?$/, endpoint: 'completions' },
  { end: /\/embeddings\/?$/, endpoint: 'embeddings' },
  { end: /\/responses\/input_tokens$/, endpoint: 'input-tokens' },
  { end: /\/responses\/?$/, endpoint: 'responses' },
  { end: /\/moderations\/?$/, endpoint: 'moderations' },
  { end: /\/images\/generations\/?$/, endpoint: 'images' },
  { end: /\/images\/(?:edits|variations)\/?$/, endpoint: 'image-forms' },
  { end: /\/audio\/speech\/?$/, endpoint: 'speech' },
  { end: /\/audio\/(?:transcriptions|translations)\/?$/, endpoint: 'transcriptions' },
  { end: /\/rerank\/?$/, endpoint: 'rerank' },
  { end: /\/messages\/count_tokens\/?$/, endpoint: 'count-tokens', dialect: 'anthropic' },
  { end: /\/messages\/?$/, endpoint: 'messages', dialect: 'anthropic' },
  { end: /\/models\/(.+)$/, endpoint: 'models' },
  { end: /\/models\/?$/, endpoint: 'models' },
  { end: /\/files(?:\/[^/]+(?:\/content)?)?$/, endpoint: 'files' },
]

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Several vendors share OpenAI's paths: a step of the path before them, or a header, tells them apart. */
function dialectOf(path: string, { headers }: HttpRequest): Dialect {
  if (headers.has('anthropic-version')) return 'anthropic'
  if (path.includes('/mistral/')) return 'mistral'
  if (path.includes('/openai/deployments/') || (headers.has('api-key') && path.includes('/openai/'))) return 'azure'
  if (/\/v1(?:alpha|beta)\d*\//.test(path) || headers.has('x-goog-api-key')) return 'gemini'
  return 'openai'
}

/** Never throws. Whether the method fits is not looked at. */
export function routeOf(request: HttpRequest): Route {
  const path = request.target.split('?', 1)[0]!
  const way = ways.find(({ end }) => end.test(path))
  const dialect = way?.dialect ?? dialectOf(path, request)
  const named = way?.end.exec(path)?.[1] ?? /\/(?:deployments|engines)\/([^/]+)\//.exec(path)?.[1]
  return {
    endpoint: way?.endpoint,
    dialect,
    ...(named !== undefined && { model: decoded(named) }),
    ...(way?.streams !== undefined && { streams: way.streams }),
  }
}
