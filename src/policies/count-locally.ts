/**
 * Counts tokens here for models whose upstream has no counter. Every policy and the router see an ordinary call of an
 * ordinary deployment; only its provider answers by itself, with an estimate. Nothing is sent anywhere, nothing is billed.
 */
import type { ChatRequest, Part, Source } from '../core/chat.ts'
import type { Deployment } from '../core/deployment.ts'
import { GatewayError } from '../core/errors.ts'
import type { Policy } from '../core/policy.ts'
import type { Provider, TokenCount, UnaryAdapter } from '../core/provider.ts'
import { imageTokens, pdfTokens, TextCounter } from '../lib/count-tokens.ts'

/** What a template puts around each message and each tool, about. */
const tokensPerMessage = 4
const tokensPerTool = 12
const charactersPerToken = 4
/** Speech, a second, as base64 of the least usual rate; vendors count 10 to 32 tokens a second. */
const audioTokensPerSecond = 32
const audioCharactersPerSecond = 10_000

/** Tells clients that nobody counted exactly. */
const sourceHeader = 'x-token-count-source'

/** After the policy that finds the candidates. A counter of the vendor's own wins over an estimate. */
export function countLocally(): Policy {
  const estimating = new WeakMap<Deployment, Deployment>()
  const withEstimate = (deployment: Deployment): Deployment => {
    let made = estimating.get(deployment)
    if (!made) {
      const target = { ...deployment.target, provider: estimatingProvider(deployment.target.provider) }
      estimating.set(deployment, (made = { ...deployment, target }))
    }
    return made
  }
  return {
    name: 'count-locally',
    admit(call) {
      if (call.operation !== 'count-tokens') return
      const counting = call.candidates.filter(one => one.target.provider.countTokens !== undefined)
      if (counting.length > 0) {
        call.candidates = counting
        return
      }
      call.candidates = call.candidates.map(withEstimate)
      call.responseHeaders[sourceHeader] = 'estimate'
    },
  }
}

/** The same provider, but it counts, and answers by itself. */
function estimatingProvider({ authorization: _, ...provider }: Provider): Provider {
  return {
    ...provider,
    speaks: {},
    countTokens: estimator,
    answer: (_head, body) => ({ status: 200, contentType: 'application/json', pieces: [JSON.stringify(body)] }),
  }
}

const estimator: UnaryAdapter<ChatRequest, TokenCount> = {
  request: request => ({ head: { url: '', headers: {} }, body: { input_tokens: estimateInput(request) }, dropped: [] }),
  result(body) {
    const { input_tokens: inputTokens } = body as { input_tokens?: unknown }
    if (typeof inputTokens !== 'number') throw new GatewayError('internal', 'the estimate of tokens is not a number')
    return { inputTokens, usage: { inputTokens: 0, outputTokens: 0 } }
  },
}

/** All that a model reads: messages, tools and the schema that the answer has to fit. */
export function estimateInput({ messages, tools = [], responseFormat }: ChatRequest): number {
  const texts = new TextCounter()
  let others = tokensPerMessage * messages.length + tokensPerTool * tools.length
  for (const { parts, name = '' } of messages) {
    texts.add(name)
    others += addParts(parts, texts)
  }
  for (const { name, description = '', parameters } of tools) {
    texts.add(name)
    texts.add(description)
    if (parameters) texts.add(JSON.stringify(parameters))
  }
  if (responseFormat?.type === 'json-schema') texts.add(JSON.stringify(responseFormat.schema))
  return texts.tokens + others
}

/** Gives the texts to the counter; the result is what is not text. */
const addParts = (parts: readonly Part[], texts: TextCounter): number => parts.reduce((sum, part) => sum + addPart(part, texts), 0)

function addPart(part: Part, texts: TextCounter): number {
  switch (part.type) {
    case 'text':
    case 'refusal':
      texts.add(part.text)
      return 0
    case 'reasoning':
      texts.add(part.text)
      // Hidden thinking is about as long as its cipher.
      return Math.ceil((part.redacted?.length ?? 0) / charactersPerToken)
    case 'image':
      return imageTokens(inlineData(part.source))
    case 'document':
      return addDocument(part.source, texts)
    case 'audio':
      return Math.ceil((part.data.length / audioCharactersPerSecond) * audioTokensPerSecond)
    case 'tool-call':
      texts.add(part.name)
      texts.add(part.arguments)
      return tokensPerMessage
    case 'tool-result':
      return tokensPerMessage + addParts(part.parts, texts)
  }
}

const inlineData = (source: Source): string | undefined => ('data' in source ? source.data : undefined)

function addDocument(source: Source, texts: TextCounter): number {
  if (!('data' in source && source.mediaType.startsWith('text/'))) return pdfTokens(inlineData(source))
  texts.add(Buffer.from(source.data, 'base64').toString('utf8'))
  return 0
}
