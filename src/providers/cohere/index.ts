/** Cohere: chat, embeddings and reranking of its v2 API (docs.cohere.com/reference). */
import { headOf } from '../../core/target-cache.ts'
import type { Provider, Target } from '../../core/provider.ts'
import type { CallHead } from '../../core/transport.ts'
import { embedBody, embedInputsMax, embedResult } from './embeddings.ts'
import { chatReader, chatResult, isMessageEnd } from './read.ts'
import { chatBody } from './request.ts'
import { rerankBody, rerankResult } from './rerank.ts'
import { argumentNames } from '../../core/dialects/exact-names.ts'

/** URL and headers of a v2 path. `api_base` may be given with or without a version. */
function cohereHead(target: Target, path: string): CallHead {
  return {
    url: `${target.baseUrl.replace(/\/v\d+$/, '')}/v2/${path}`,
    headers: {
      'content-type': 'application/json',
      ...(target.apiKey && { authorization: `Bearer ${target.apiKey.reveal()}` }),
      ...target.headers,
    },
  }
}

const chatHead = (target: Target): CallHead => cohereHead(target, 'chat')
const embedHead = (target: Target): CallHead => cohereHead(target, 'embed')
const rerankHead = (target: Target): CallHead => cohereHead(target, 'rerank')

/** `cohere/...`: calls in its own rerank dialect are forwarded, everything else is translated. */
export const cohere: Provider = {
  name: 'cohere',
  defaultBaseUrl: 'https://api.cohere.com',
  apiKeyEnv: ['COHERE_API_KEY', 'CO_API_KEY'],
  ownNames: /^(?:command(?:-|$)|embed-(?:english|multilingual|v4)|rerank-(?:english|multilingual|v))/,
  speaks: { 'cohere-rerank': rerankHead },
  // docs.cohere.com/reference/chat, of `response_format`: not in combination with `tools` (2026-11-28).
  takesFormatBesideTools: () => false,
  chat: {
    request: (request, target) => ({ head: headOf(target, chatHead, request.stream), ...chatBody(request, target) }),
    argumentNames: argumentNames.chat,
    result: chatResult,
    reader: chatReader,
    isLast: isMessageEnd,
  },
  embedsTextOnly: true,
  embeddings: {
    request: (request, target) => ({ head: headOf(target, embedHead), ...embedBody(request, target.model) }),
    result: embedResult,
    inputsMax: () => embedInputsMax,
  },
  rerank: {
    request: (request, target) => ({ head: headOf(target, rerankHead), ...rerankBody(request, target.model) }),
    result: rerankResult,
  },
}
