/** Vertex AI: the translators of Gemini and Anthropic with Google Cloud's URLs and access tokens. */
import { headOf } from '../../core/target-cache.ts'
import type { ChatEvent } from '../../core/hub/chat.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Provider, Target, TranslatedCall } from '../../core/provider.ts'
import type { CallHead } from '../../core/transport.ts'
import type { Frame } from '../../lib/frame.ts'
import { isObject } from '../../lib/json/json-values.ts'
import { claudeRule } from '../../../rules/claude.ts'
import { geminiFeatures } from '../../../rules/gemini.ts'
import { isMessageStop, messageReader, messageResult } from '../anthropic/read.ts'
import { countResult } from '../gemini/count.ts'
import { embeddingInput } from '../gemini/embeddings.ts'
import { geminiFieldRules } from '../gemini/field-rules.ts'
import { imagesBody, imagesResult, isImagen } from '../gemini/images.ts'
import { geminiChatExtras } from '../gemini/index.ts'
import { generateReader, generateResult } from '../gemini/read.ts'
import { generateBody } from '../gemini/request.ts'
import { speechBody, speechResult } from '../gemini/speech.ts'
import { globalBaseUrl, isClaude, vertexHead } from './address.ts'
import { authorizeVertex } from './authorization.ts'
import { claudeCall, claudeCount, claudeCountCall } from './claude.ts'
import { predictBody, predictInputsMax, predictResult } from './embeddings.ts'
import { argumentNames } from '../../core/dialects/exact-names.ts'

const host = { callIds: false, fileNames: true }

const generateHead = (target: Target, stream: boolean): CallHead =>
  vertexHead(target, stream ? 'streamGenerateContent?alt=sse' : 'generateContent')

const predictHead = (target: Target): CallHead => vertexHead(target, 'predict')

/** Throws `invalid-request` for Claude, which does not take Gemini's dialect. */
function forwardHead(target: Target, make: () => CallHead): CallHead {
  if (!isClaude(target.model)) return make()
  throw new GatewayError(
    'invalid-request',
    'this model is not reached in the Gemini dialect; use /v1/chat/completions or /v1/messages',
    {
      param: 'model',
    },
  )
}

/** true = an answer, event or error of Claude: these have a `type`, Gemini's do not. */
const isFromClaude = (body: unknown): boolean => isObject(body) && typeof body.type === 'string'

function chatReader(): (frame: Frame) => readonly ChatEvent[] {
  let read: ((frame: Frame) => readonly ChatEvent[]) | undefined
  return frame => (read ??= isFromClaude(JSON.parse(frame.data)) ? messageReader() : generateReader())(frame)
}

/** `vertex_ai/...`: the dialect depends on the model's name. Gemini's is forwarded, Claude's is always translated. */
export const vertex: Provider = {
  name: 'vertex_ai',
  defaultBaseUrl: globalBaseUrl,
  apiKeyEnv: ['VERTEX_API_KEY', 'VERTEXAI_API_KEY'],
  // Without a key, tokens are fetched by credentials or from the metadata server.
  keyless: true,
  speaks: {
    'gemini-generate': (target, stream) => forwardHead(target, () => generateHead(target, stream)),
    'gemini-count-tokens': target => forwardHead(target, () => vertexHead(target, 'countTokens')),
  },
  forwards: target => !isClaude(target.model),
  rules: geminiFieldRules,
  takesFormatBesideTools: ({ model }) =>
    isClaude(model) ? claudeRule(model).outputSchema : geminiFeatures(model).jsonBesideTools,
  chat: {
    request: (request, target) =>
      isClaude(target.model)
        ? claudeCall(request, target)
        : { head: headOf(target, generateHead, request.stream), ...generateBody(request, target, host) },
    argumentNames: [...argumentNames.generate, ...argumentNames.messages],
    result: body => (isFromClaude(body) ? messageResult(body) : generateResult(body)),
    reader: chatReader,
    // Gemini's streams have no last frame; none of their frames is taken for Claude's.
    isLast: isMessageStop,
    endsSilently: true,
  },
  countTokens: {
    request(request, target): TranslatedCall {
      if (isClaude(target.model)) return claudeCountCall(request, target)
      const { body, dropped } = generateBody(request, target, host)
      const { contents, systemInstruction, tools } = body
      return {
        head: vertexHead(target, 'countTokens'),
        body: {
          contents,
          ...(systemInstruction !== undefined && { systemInstruction }),
          ...(tools !== undefined && { tools }),
        },
        dropped,
      }
    },
    result: body => claudeCount(body) ?? countResult(body),
  },
  embedsTextOnly: true,
  embeddings: {
    request(request, target): TranslatedCall {
      const input = embeddingInput(request)
      return { head: headOf(target, predictHead), body: predictBody(input), dropped: input.dropped }
    },
    result: predictResult,
    inputsMax: () => predictInputsMax,
  },
  images: {
    request: (request, target) => ({
      head: vertexHead(target, isImagen(target.model) ? 'predict' : 'generateContent'),
      ...imagesBody(request, target.model),
    }),
    result: imagesResult,
  },
  speech: {
    request: (request, target) => ({ head: generateHead(target, false), ...speechBody(request) }),
    result: speechResult,
  },
  authorize: authorizeVertex,
  chatExtras: geminiChatExtras,
}
