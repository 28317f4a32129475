/**
 * Ollama by its own API (github.com/ollama/ollama, docs/api.md). Chat is not forwarded to its `/v1`: there the context
 * length and other options cannot be set, thinking has a field name of its own, and unknown fields are silently
 * ignored. Text completions and embeddings lose nothing under `/v1` and are forwarded.
 */
import { headOf } from '../../core/target-cache.ts'
import type { Provider, Target } from '../../core/provider.ts'
import type { CallHead } from '../../core/transport.ts'
import { embedBody, embedResult } from './embeddings.ts'
import { chatReader, chatResult, isDone } from './read.ts'
import { chatBody } from './request.ts'
import { argumentNames } from '../../core/dialects/exact-names.ts'

/** URL and headers of `path`. `api_base` may end in `/v1` or `/api`, as clients of either API write it. */
function ollamaHead(target: Target, path: string): CallHead {
  return {
    url: `${target.baseUrl.replace(/\/(v1|api)$/, '')}${path}`,
    headers: {
      'content-type': 'application/json',
      // Only ollama.com requires a key.
      ...(target.apiKey && { authorization: `Bearer ${target.apiKey.reveal()}` }),
      ...target.headers,
    },
  }
}

const chatHead = (target: Target): CallHead => ollamaHead(target, '/api/chat')
const embedHead = (target: Target): CallHead => ollamaHead(target, '/api/embed')

/** `ollama/...`: completions and embeddings are forwarded to its `/v1`, chat is translated for every client. */
export const ollama: Provider = {
  name: 'ollama',
  defaultBaseUrl: 'http://127.0.0.1:11434',
  apiKeyEnv: ['OLLAMA_API_KEY'],
  keyless: true,
  speaks: {
    'openai-completions': target => ollamaHead(target, '/v1/completions'),
    'openai-embeddings': target => ollamaHead(target, '/v1/embeddings'),
  },
  chat: {
    framing: 'ndjson',
    request: (request, target) => ({ head: headOf(target, chatHead, request.stream), ...chatBody(request, target) }),
    argumentNames: argumentNames.chat,
    result: chatResult,
    reader: chatReader,
    isLast: isDone,
  },
  embedsTextOnly: true,
  embeddings: {
    request: (request, target) => ({ head: headOf(target, embedHead), ...embedBody(request, target) }),
    result: embedResult,
  },
}
