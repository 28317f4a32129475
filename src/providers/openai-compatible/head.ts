/** Paths and headers of OpenAI's dialects. */
import type { Dialect, Target } from '../../core/provider.ts'
import type { CallHead } from '../../core/transport.ts'

/** Paths under `baseUrl` (OpenAI API reference); `/rerank` is Jina's, which many hosts have as well. */
export const dialectPaths = {
  'openai-chat': '/chat/completions',
  'openai-completions': '/completions',
  'openai-embeddings': '/embeddings',
  'openai-responses': '/responses',
  'openai-moderations': '/moderations',
  'openai-images': '/images/generations',
  'openai-image-edits': '/images/edits',
  'openai-image-variations': '/images/variations',
  'openai-speech': '/audio/speech',
  'openai-transcriptions': '/audio/transcriptions',
  'openai-translations': '/audio/translations',
  'jina-rerank': '/rerank',
} as const satisfies Partial<Record<Dialect, string>>

/** The dialects that may be forwarded to a host of the catalogue. */
export type CompatibleDialect = keyof typeof dialectPaths

/** Forms with files, whose `content-type` holds the boundary and is set with the body. */
const multipart: ReadonlySet<CompatibleDialect> = new Set([
  'openai-image-edits',
  'openai-image-variations',
  'openai-transcriptions',
  'openai-translations',
])

/** `content-type`, where the dialect's bodies are JSON. */
export function contentHeaders(dialect: CompatibleDialect): Record<string, string> {
  return multipart.has(dialect) ? {} : { 'content-type': 'application/json' }
}

/** URL (`https://api.openai.com/v1` + `/chat/completions`) and headers, with the key and the configured headers. */
export function compatibleHead(target: Target, dialect: CompatibleDialect): CallHead {
  return headAt(target, dialectPaths[dialect], contentHeaders(dialect))
}

/** The same for any path under the base, such as `/files`. */
export function headAt(target: Target, path: string, headers: Readonly<Record<string, string>> = {}): CallHead {
  const { organization, project } = target.options
  return {
    url: `${target.baseUrl}${path}`,
    headers: {
      ...headers,
      ...(target.apiKey && { authorization: `Bearer ${target.apiKey.reveal()}` }),
      ...(typeof organization === 'string' && { 'openai-organization': organization }),
      ...(typeof project === 'string' && { 'openai-project': project }),
      ...target.headers,
    },
  }
}
