/** Gemini's own API as served by AI Studio (ai.google.dev/api). */
import { headOf } from '../../core/target-cache.ts'
import type { Provider, Target, TranslatedCall } from '../../core/provider.ts'
import type { CallHead } from '../../core/transport.ts'
import { geminiFeatures } from '../../../rules/gemini.ts'
import { countResult } from './count.ts'
import { batchEmbedBody, batchEmbedResult, batchInputsMax, embeddingInput } from './embeddings.ts'
import { geminiFieldRules } from './field-rules.ts'
import { imagesBody, imagesResult, isImagen } from './images.ts'
import { generateReader, generateResult } from './read.ts'
import { generateBody } from './request.ts'
import { speechBody, speechResult } from './speech.ts'
import { argumentNames } from '../../core/dialects/exact-names.ts'

const host = { callIds: true, fileNames: false }

/** `models/x` for a model configured as `models/x` or `x`. The name is escaped, so that it stays one path segment. */
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

const embeddingsHead = (target: Target): CallHead => head(target, 'batchEmbedContents')

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

/** `gemini/...`: calls in Gemini's dialect are forwarded, all others are translated. */
export const gemini: Provider = {
  name: 'gemini',
  defaultBaseUrl: 'https://generativelanguage.googleapis.com/v1beta',
  apiKeyEnv: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
  ownNames: /^gemini-/,
  callersCredentials: { form: /^AIza/, header: 'x-goog-api-key', dialects: ['gemini-generate', 'gemini-count-tokens'] },
  // ai.google.dev, "Priority inference" (2026-11): what is above the limits of a tier is served by the standard one.
  tierHeader: 'x-gemini-service-tier',
  speaks: {
    'gemini-generate': generateHead,
    'gemini-count-tokens': target => head(target, 'countTokens'),
    'gemini-embeddings': embeddingsHead,
  },
  rules: geminiFieldRules,
  takesFormatBesideTools: ({ model }) => geminiFeatures(model).jsonBesideTools,
  chat: {
    request: (request, target) => ({
      head: headOf(target, generateHead, request.stream),
      ...generateBody(request, target, host),
    }),
    argumentNames: argumentNames.generate,
    result: generateResult,
    reader: generateReader,
  },
  countTokens: {
    request(request, target): TranslatedCall {
      const { body, dropped } = generateBody(request, target, host)
      // Tools and the system instruction are counted only within a `generateContentRequest`.
      return {
        head: head(target, 'countTokens'),
        body: { generateContentRequest: { model: modelPath(target.model), ...body } },
        dropped,
      }
    },
    result: countResult,
  },
  embedsTextOnly: true,
  embeddings: {
    request(request, target): TranslatedCall {
      const input = embeddingInput(request)
      const dropped = [...input.dropped, ...(input.autoTruncate === undefined ? [] : ['auto_truncate'])]
      const body = batchEmbedBody(input, modelPath(target.model))
      return { head: headOf(target, embeddingsHead), body, dropped }
    },
    result: batchEmbedResult,
    inputsMax: () => batchInputsMax,
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
  chatExtras: geminiChatExtras,
}
