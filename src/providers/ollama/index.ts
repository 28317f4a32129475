/**
 * Ollama by its own API (github.com/ollama/ollama, docs/api.md). Chat is never forwarded to its `/v1`: there, the
 * length of the context and other options cannot be set, thinking comes under a name of its own, and fields that it does
 * not know vanish without a word. Text completions and embeddings lose nothing under `/v1`: their bytes go through.
 */
import type { Provider, Target } from '../../core/provider.ts'
import type { CallHead } from '../../core/transport.ts'
import { generalFault } from '../fault.ts'
import { embedBody, embedResult } from './embeddings.ts'
import { chatReader, chatResult, isDone } from './read.ts'
import { chatBody } from './request.ts'

/** `api_base` may end in `/v1` or `/api`, as clients of either API write it. */
function ollamaHead(target: Target, path: string): CallHead {
  return {
    url: `${target.baseUrl.replace(/\/(v1|api)$/, '')}${path}`,
    headers: {
      'content-type': 'application/json',
      // Only ollama.com asks for a key.
      ...(target.apiKey && { authorization: `Bearer ${target.apiKey.reveal()}` }),
      ...target.headers,
    },
  }
}

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
    request: (request, target) => ({ head: ollamaHead(target, '/api/chat'), ...chatBody(request, target) }),
    result: chatResult,
    reader: chatReader,
    isLast: isDone,
  },
  embeddings: {
    request: (request, target) => ({ head: ollamaHead(target, '/api/embed'), ...embedBody(request, target) }),
    result: embedResult,
  },
  fault: generalFault,
}
