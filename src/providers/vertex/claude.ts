/** Claude on Vertex AI: Anthropic's Messages API in Vertex AI's envelope (docs.claude.com, "Claude on Vertex AI"). */
import type { ChatRequest } from '../../core/chat.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Target, TokenCount, TranslatedCall } from '../../core/provider.ts'
import type { CallHead } from '../../core/transport.ts'
import { messagesBody } from '../anthropic/request.ts'
import { vertexHead } from './address.ts'

const version = 'vertex-2023-10-16'
/** The counter is a model of its own; the model that is meant stands in the body. */
const counter = 'count-tokens'
const counted = ['model', 'messages', 'system', 'tools', 'tool_choice', 'thinking'] as const

function withBetas(head: CallHead, target: Target): CallHead {
  const { anthropic_beta: beta } = target.options
  return typeof beta === 'string' ? { url: head.url, headers: { 'anthropic-beta': beta, ...head.headers } } : head
}

/** The model stands in the path, the version in the body. */
export function claudeCall(request: ChatRequest, target: Target): TranslatedCall {
  const { body, dropped } = messagesBody(request, target)
  const { model: _, ...rest } = body
  const { anthropic_version: asked } = target.options
  return {
    head: withBetas(vertexHead(target, request.stream ? 'streamRawPredict' : 'rawPredict'), target),
    body: { anthropic_version: typeof asked === 'string' ? asked : version, ...rest },
    dropped,
  }
}

/** `dropped` is what the whole call would lose, even where it says nothing about the input. */
export function claudeCountCall(request: ChatRequest, target: Target): TranslatedCall {
  const { body, dropped } = messagesBody(request, target)
  const head = vertexHead(target, 'rawPredict')
  // The project and the publisher are the model's; only the last step differs.
  const url = head.url.replace(/[^/]+$/, `${counter}:rawPredict`)
  const wanted = Object.fromEntries(counted.filter(name => body[name] !== undefined).map(name => [name, body[name]]))
  return { head: withBetas({ url, headers: head.headers }, target), body: wanted, dropped }
}

/** Undefined = not an answer of Claude's counter. Throws `upstream-broken` on a count that is none. */
export function claudeCount(body: unknown): TokenCount | undefined {
  const { input_tokens: inputTokens } = (body ?? {}) as { input_tokens?: unknown }
  if (inputTokens === undefined) return undefined
  if (typeof inputTokens !== 'number' || !Number.isInteger(inputTokens) || inputTokens < 0)
    throw new GatewayError('upstream-broken', "the upstream's token count is not a number")
  return { inputTokens }
}
