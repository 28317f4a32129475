/** Gemini by its own API, as AI Studio serves it. */
import type { Provider, Target, TranslatedCall } from '../../core/provider.ts'
import type { CallHead } from '../../core/transport.ts'
import { countResult } from './count.ts'
import { batchEmbedBody, batchEmbedResult, embeddingWish } from './embeddings.ts'
import { googleFault } from './fault.ts'
import { imagesBody, imagesResult, isImagen } from './images.ts'
import { generateReader, generateResult } from './read.ts'
import { generateBody } from './request.ts'
import { speechBody, speechResult } from './speech.ts'

const host = { callIds: true, fileNames: false }

/** `models/x`, whether the operator wrote it so or as `x`. A model is always one step of the path. */
function modelPath(model: string): string {
  const [, kind = 'models', name = model] = /^(models|tunedModels)\/(.+)$/.exec(model) ?? []
  return `${kind}/${encodeURIComponent(name)}`
}

/** `api_base` may be given with or without `/v1beta`, as Google's own clients write it. */
function head(target: Target, action: string): CallHead {
  const base = /\/v\d+((alpha|beta)\d*)?$/.test(target.baseUrl) ? target.baseUrl : `${target.baseUrl}/v1beta`
  return {
    url: `${base}/${modelPath(target.model)}:${action}`,
    headers: {
      'content-type': 'application/json',
      ...(target.apiKey && { 'x-goog-api-key': target.apiKey.reveal() }),
      ...target.headers,
    },
  }
}

const generateHead = (target: Target, stream: boolean): CallHead =>
  head(target, stream ? 'streamGenerateContent?alt=sse' : 'generateContent')

/** Fields of chat beside those of the hub; on Vertex AI too. */
export const geminiChatExtras: readonly string[] = [
  'modalities',
  'audio',
  'web_search_options',
  'safety_settings',
  'cached_content',
]

/** `gemini/...`: clients that speak Gemini are forwarded, all others are translated. */
export const gemini: Provider = {
  name: 'gemini',
  defaultBaseUrl: 'https://generativelanguage.googleapis.com/v1beta',
  apiKeyEnv: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
  speaks: {
    'gemini-generate': generateHead,
    'gemini-count-tokens': target => head(target, 'countTokens'),
    'gemini-embeddings': target => head(target, 'batchEmbedContents'),
  },
  chat: {
    request: (request, target) => ({
      head: generateHead(target, request.stream),
      ...generateBody(request, target, host),
    }),
    result: generateResult,
    reader: generateReader,
  },
  countTokens: {
    request(request, target): TranslatedCall {
      const { body, dropped } = generateBody(request, target, host)
      // Only inside a whole request are tools and the system instruction counted.
      return {
        head: head(target, 'countTokens'),
        body: { generateContentRequest: { model: modelPath(target.model), ...body } },
        dropped,
      }
    },
    result: countResult,
  },
  embeddings: {
    request(request, target): TranslatedCall {
      const wish = embeddingWish(request)
      const dropped = [...wish.dropped, ...(wish.autoTruncate === undefined ? [] : ['auto_truncate'])]
      return { head: head(target, 'batchEmbedContents'), body: batchEmbedBody(wish, modelPath(target.model)), dropped }
    },
    result: batchEmbedResult,
  },
  images: {
    request: (request, target) => ({
      head: head(target, isImagen(target.model) ? 'predict' : 'generateContent'),
      ...imagesBody(request, target.model),
    }),
    result: imagesResult,
  },
  speech: {
    request: (request, target) => ({ head: generateHead(target, false), ...speechBody(request) }),
    result: speechResult,
  },
  fault: googleFault,
  chatExtras: geminiChatExtras,
}
