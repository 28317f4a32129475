/** Where OpenAI's dialects are spoken, and with which headers. */
import type { Dialect, Target } from '../../core/provider.ts'
import type { CallHead } from '../../core/transport.ts'

/** Paths under the base (OpenAI API reference); reranking is Jina's addition, which many hosts took over. */
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

/** The dialects whose bytes a host may take under one of those paths. */
export type CompatibleDialect = keyof typeof dialectPaths

/** Forms with files: their body says its own type, with the boundary of its parts. */
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

/** `https://api.openai.com/v1` + `/chat/completions`, with the key and what the operator configured. */
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
