/** Vertex AI: Gemini's translators and Claude's under Google Cloud's addresses and tokens. */
import type { ChatEvent } from '../../core/chat.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Provider, Target, TranslatedCall, UpstreamFault } from '../../core/provider.ts'
import type { CallHead } from '../../core/transport.ts'
import type { Frame } from '../../lib/frame.ts'
import { isObject } from '../../lib/json/json-values.ts'
import { anthropic } from '../anthropic/index.ts'
import { isMessageStop, messageReader, messageResult } from '../anthropic/read.ts'
import { countResult } from '../gemini/count.ts'
import { embeddingWish } from '../gemini/embeddings.ts'
import { googleFault } from '../gemini/fault.ts'
import { imagesBody, imagesResult, isImagen } from '../gemini/images.ts'
import { geminiChatExtras } from '../gemini/index.ts'
import { generateReader, generateResult } from '../gemini/read.ts'
import { generateBody } from '../gemini/request.ts'
import { speechBody, speechResult } from '../gemini/speech.ts'
import { globalBaseUrl, isClaude, vertexHead } from './address.ts'
import { vertexAuthorization } from './authorization.ts'
import { claudeCall, claudeCount, claudeCountCall } from './claude.ts'
import { predictBody, predictResult } from './embeddings.ts'

const host = { callIds: false, fileNames: true }

const generateHead = (target: Target, stream: boolean): CallHead =>
  vertexHead(target, stream ? 'streamGenerateContent?alt=sse' : 'generateContent')

/** Bytes of Gemini's dialect mean nothing to Claude. */
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

/** Every event of Claude's has a `type`, no answer of Gemini's has. */
const isClaudes = (body: unknown): boolean => isObject(body) && typeof body.type === 'string'

function chatReader(): (frame: Frame) => readonly ChatEvent[] {
  let read: ((frame: Frame) => readonly ChatEvent[]) | undefined
  return frame => (read ??= isClaudes(JSON.parse(frame.data)) ? messageReader() : generateReader())(frame)
}

function fault(status: number, body: unknown): UpstreamFault | undefined {
  return isClaudes(body) ? anthropic.fault!(status, body) : googleFault(status, body)
}

/** `vertex_ai/...`: the model's name decides whose dialect it speaks. Gemini's is forwarded, Claude's never. */
export const vertex: Provider = {
  name: 'vertex_ai',
  defaultBaseUrl: globalBaseUrl,
  apiKeyEnv: ['VERTEX_API_KEY', 'VERTEXAI_API_KEY'],
  // Tokens come from credentials, or from the machine itself.
  keyless: true,
  speaks: {
    'gemini-generate': (target, stream) => forwardHead(target, () => generateHead(target, stream)),
    'gemini-count-tokens': target => forwardHead(target, () => vertexHead(target, 'countTokens')),
  },
  forwards: target => !isClaude(target.model),
  chat: {
    request: (request, target) =>
      isClaude(target.model)
        ? claudeCall(request, target)
        : { head: generateHead(target, request.stream), ...generateBody(request, target, host) },
    result: body => (isClaudes(body) ? messageResult(body) : generateResult(body)),
    reader: chatReader,
    // Gemini's streams have no last frame, and nothing in them looks like Claude's.
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
  embeddings: {
    request(request, target): TranslatedCall {
      const wish = embeddingWish(request)
      return { head: vertexHead(target, 'predict'), body: predictBody(wish), dropped: wish.dropped }
    },
    result: predictResult,
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
  authorization: vertexAuthorization,
  fault,
  chatExtras: geminiChatExtras,
}
