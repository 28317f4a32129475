/** Anthropic: the Messages API, both directions. */
import type { ChatRequest } from '../../core/chat.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Provider, Target, TokenCount, TranslatedCall, UpstreamFault } from '../../core/provider.ts'
import type { CallHead } from '../../core/transport.ts'
import { generalFault } from '../fault.ts'
import { errorKinds, isMessageStop, messageReader, messageResult } from './read.ts'
import { messagesBody } from './request.ts'

const apiVersion = '2023-06-01'

/** `api_base` may be given with or without `/v1`, as Anthropic's own clients write it. */
function messagesHead(target: Target): CallHead {
  const base = /\/v\d+$/.test(target.baseUrl) ? target.baseUrl : `${target.baseUrl}/v1`
  const { anthropic_version: version, anthropic_beta: beta } = target.options
  return {
    url: `${base}/messages`,
    headers: {
      'content-type': 'application/json',
      'anthropic-version': typeof version === 'string' ? version : apiVersion,
      ...(typeof beta === 'string' && { 'anthropic-beta': beta }),
      ...(target.apiKey && { 'x-api-key': target.apiKey.reveal() }),
      ...target.headers,
    },
  }
}

function countHead(target: Target): CallHead {
  const { url, headers } = messagesHead(target)
  return { url: `${url}/count_tokens`, headers }
}

/** What the counter takes (docs: "Count tokens in a Message"); it refuses what only an answer needs. */
const counted = [
  'model',
  'messages',
  'system',
  'tools',
  'tool_choice',
  'thinking',
  'output_config',
  'cache_control',
  'speed',
] as const

function countCall(request: ChatRequest, target: Target): TranslatedCall {
  const { body } = messagesBody(request, target)
  const wanted = Object.fromEntries(counted.filter(name => body[name] !== undefined).map(name => [name, body[name]]))
  // What says nothing about the input is not missed here.
  return { head: countHead(target), body: wanted, dropped: [] }
}

/** Counting is free: nothing was used. */
function countResult(body: unknown): TokenCount {
  const inputTokens = (body as { input_tokens?: unknown } | null)?.input_tokens
  if (typeof inputTokens !== 'number' || !Number.isInteger(inputTokens) || inputTokens < 0)
    throw new GatewayError('upstream-broken', "the upstream's token count is not a number")
  return { inputTokens, usage: { inputTokens: 0, outputTokens: 0 } }
}

function fault(status: number, body: unknown): UpstreamFault {
  const general = generalFault(status, body)
  const type = (body as { error?: { type?: unknown } } | undefined)?.error?.type
  if (typeof type !== 'string') return general
  // `api_error` says nothing that the status does not say better.
  const kind = type === 'api_error' ? undefined : errorKinds.get(type)
  // The general rule sees in the message that a prompt is too long; Anthropic's type for it says much less.
  if (general.kind === 'context-too-long') return { kind: general.kind, message: general.message }
  return { ...general, kind: kind ?? general.kind, code: type }
}

/**
 * `anthropic/...`: clients that speak Messages are forwarded, to its token counter too; all others are translated.
 * `anthropic_version` and `anthropic_beta` of the configuration become headers.
 */
export const anthropic: Provider = {
  name: 'anthropic',
  defaultBaseUrl: 'https://api.anthropic.com/v1',
  apiKeyEnv: ['ANTHROPIC_API_KEY'],
  speaks: { 'anthropic-messages': messagesHead, 'anthropic-count-tokens': countHead },
  chat: {
    request: (request, target) => ({ head: messagesHead(target), ...messagesBody(request, target) }),
    result: messageResult,
    reader: messageReader,
    isLast: isMessageStop,
  },
  countTokens: { request: countCall, result: countResult },
  fault,
}
