/** Claude on Vertex AI: Anthropic's Messages API by `rawPredict` (docs.claude.com, "Claude on Vertex AI"). */
import { headOf } from '../../core/target-cache.ts'
import type { ChatRequest } from '../../core/hub/chat.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Target, TokenCount, TranslatedCall } from '../../core/provider.ts'
import type { CallHead } from '../../core/transport.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { claudeHostFields } from '../../../rules/claude.ts'
import { claudeHostRules } from '../anthropic/field-rules.ts'
import { messagesBody } from '../anthropic/request.ts'
import { refuseImageUrls } from '../common/image-urls.ts'
import { vertexHead } from './address.ts'

const version = 'vertex-2023-10-16'
/** The token counter is a model of its own; the model to count for is in the body. */
const counter = 'count-tokens'
const countFields = ['model', 'messages', 'system', 'tools', 'tool_choice', 'thinking'] as const

function withBetas(head: CallHead, target: Target): CallHead {
  const { anthropic_beta: beta } = target.options
  return typeof beta === 'string' ? { url: head.url, headers: { 'anthropic-beta': beta, ...head.headers } } : head
}

const predictHead = (target: Target, stream: boolean): CallHead =>
  withBetas(vertexHead(target, stream ? 'streamRawPredict' : 'rawPredict'), target)

/** Google's Claude takes images as bytes alone (docs.claude.com, "Vision"). */
function bytesOnlyBody(request: ChatRequest, target: Target): ReturnType<typeof messagesBody> {
  refuseImageUrls(request.messages, target)
  return messagesBody(request, target)
}

/** The model is in the path, the version in the body. Throws as `messagesBody` does, and for images by URL. */
export function claudeCall(request: ChatRequest, target: Target): TranslatedCall {
  const { body, dropped } = bytesOnlyBody(request, target)
  const { anthropic_version: configured } = target.options
  const taken: Json = { anthropic_version: typeof configured === 'string' ? configured : version }
  const lost: string[] = []
  const rules = claudeHostRules(claudeHostFields.vertex_ai, target)
  for (const [name, value] of Object.entries(body)) {
    const verdict = rules.get(name)?.(value, other => body[other]) ?? 'keep'
    if (verdict === 'drop') lost.push(name)
    else if (verdict === 'keep' && name !== 'model') taken[name] = value
  }
  return { head: headOf(target, predictHead, request.stream), body: taken, dropped: [...dropped, ...lost] }
}

/** `dropped` = the fields that the whole call would lose, also those without an effect on the input's count. */
export function claudeCountCall(request: ChatRequest, target: Target): TranslatedCall {
  const { body, dropped } = bytesOnlyBody(request, target)
  const head = vertexHead(target, 'rawPredict')
  // Project and publisher are those of the model; only the last path segment differs.
  const url = head.url.replace(/[^/]+$/, `${counter}:rawPredict`)
  const taken = Object.fromEntries(countFields.filter(name => body[name] !== undefined).map(name => [name, body[name]]))
  return { head: withBetas({ url, headers: head.headers }, target), body: taken, dropped }
}

/** Undefined = not an answer of Claude's counter. Throws `upstream-broken` on an invalid count. */
export function claudeCount(body: unknown): TokenCount | undefined {
  const { input_tokens: inputTokens } = (body ?? {}) as { input_tokens?: unknown }
  if (inputTokens === undefined) return undefined
  if (typeof inputTokens !== 'number' || !Number.isInteger(inputTokens) || inputTokens < 0)
    throw new GatewayError('upstream-broken', "the upstream's token count is not a number")
  return { inputTokens }
}
