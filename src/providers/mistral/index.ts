/**
 * Mistral (docs.mistral.ai/api): OpenAI's format with differences (ids of tool calls, order of roles, content parts,
 * thinking) that cannot be edited into the bytes, so chat is always translated.
 */
import { headOf } from '../../core/target-cache.ts'
import { fieldRules, noFieldRules } from '../../core/dialects/field-rules.ts'
import type { FieldRules } from '../../core/dialects/field-rules.ts'
import type { Provider, Target } from '../../core/provider.ts'
import type { CallHead } from '../../core/transport.ts'
import { embeddingsAdapter } from '../openai-compatible/embeddings.ts'
import { compatibleHead } from '../openai-compatible/head.ts'
import { chatReader, chatResult, isDone } from '../openai-compatible/read.ts'
import { isFillInTheMiddle, mistralBody } from './request.ts'
import { moderationsBody, moderationsResult } from './moderations.ts'
import { argumentNames } from '../../core/dialects/exact-names.ts'

const chatHead = (target: Target): CallHead => compatibleHead(target, 'openai-chat')
const middleHead = (target: Target): CallHead => ({ ...chatHead(target), url: `${target.baseUrl}/fim/completions` })
const embeddingsHead = (target: Target): CallHead => compatibleHead(target, 'openai-embeddings')

/** The differences of embeddings, the only operation that is forwarded as JSON. */
const embeddingsRules: FieldRules = { fields: fieldRules(['user'], { dimensions: 'output_dimension' }) }

/** `mistral/...`: embeddings and transcriptions are forwarded; chat and moderations are translated for every client. */
export const mistral: Provider = {
  name: 'mistral',
  defaultBaseUrl: 'https://api.mistral.ai/v1',
  apiKeyEnv: ['MISTRAL_API_KEY'],
  ownNames: /^(?:mistral-(?:large|medium|small|embed|ocr|moderation)|codestral-|ministral-)/,
  speaks: {
    'openai-embeddings': embeddingsHead,
    'openai-transcriptions': target => compatibleHead(target, 'openai-transcriptions'),
  },
  rules: (_target, dialect) => (dialect === 'openai-embeddings' ? embeddingsRules : noFieldRules),
  chat: {
    request(request, target) {
      const head = isFillInTheMiddle(request) ? middleHead : chatHead
      return { head: headOf(target, head, request.stream), ...mistralBody(request, target) }
    },
    argumentNames: argumentNames.chat,
    result: chatResult,
    reader: chatReader,
    isLast: isDone,
  },
  embedsTextOnly: true,
  embeddings: embeddingsAdapter(embeddingsHead, { rules: embeddingsRules }),
  moderations: {
    request: (request, target) => ({
      head: compatibleHead(target, 'openai-moderations'),
      ...moderationsBody(request, target.model),
    }),
    result: moderationsResult,
  },
  chatExtras: ['prediction', 'prompt_cache_key'],
}
