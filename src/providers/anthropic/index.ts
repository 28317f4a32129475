/** Anthropic: the Messages API, both directions. */
import type { Target } from '../../core/deployment.ts'
import type { CallHead, Provider, UpstreamFault } from '../../core/provider.ts'
import { generalFault } from '../fault.ts'
import { errorKinds, messageReader, messageResult } from './read.ts'
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

function fault(status: number, body: unknown): UpstreamFault {
  const general = generalFault(status, body)
  const type = (body as { error?: { type?: unknown } } | undefined)?.error?.type
  if (typeof type !== 'string') return general
  // `api_error` says nothing that the status does not say better.
  const kind = type === 'api_error' ? undefined : errorKinds[type]
  // The general rule sees in the message that a prompt is too long.
  return { ...general, kind: general.kind === 'context-too-long' ? general.kind : (kind ?? general.kind), code: type }
}

export const anthropic: Provider = {
  name: 'anthropic',
  defaultBaseUrl: 'https://api.anthropic.com/v1',
  apiKeyEnv: ['ANTHROPIC_API_KEY'],
  speaks: { 'anthropic-messages': messagesHead },
  chat: {
    request: (request, target) => ({ head: messagesHead(target), ...messagesBody(request, target) }),
    result: messageResult,
    reader: messageReader,
  },
  fault,
  chatParams: [
    'messages', 'model', 'max_tokens', 'max_completion_tokens', 'temperature', 'top_p', 'stop', 'stream', 'stream_options',
    'tools', 'tool_choice', 'parallel_tool_calls', 'functions', 'function_call', 'response_format', 'reasoning_effort', 'user',
    'service_tier',
  ],
}
