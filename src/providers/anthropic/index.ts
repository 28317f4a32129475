/** Anthropic: the Messages API and its token counter (platform.claude.com/docs/en/api). */
import { headOf } from '../../core/target-cache.ts'
import type { ChatRequest } from '../../core/hub/chat.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Provider, Target, TokenCount, TranslatedCall } from '../../core/provider.ts'
import type { CallHead } from '../../core/transport.ts'
import { claudeRule } from '../../../rules/claude.ts'
import { claudeFieldRules } from './field-rules.ts'
import { isMessageStop, messageReader, messageResult } from './read.ts'
import { messagesBody } from './request.ts'
import { argumentNames } from '../../core/dialects/exact-names.ts'

const apiVersion = '2023-06-01'

/** URL and headers of `/v1/messages`. `api_base` may be given with or without `/v1`. */
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

/** The fields that the counter takes (docs: "Count tokens in a Message"); it refuses those that concern the answer. */
const countFields = [
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
  const taken = Object.fromEntries(countFields.filter(name => body[name] !== undefined).map(name => [name, body[name]]))
  // Fields without an effect on the count of the input are not reported as dropped.
  return { head: countHead(target), body: taken, dropped: [] }
}

/** Counting is free, so the usage is 0. Throws `upstream-broken` where there is no count. */
function countResult(body: unknown): TokenCount {
  const inputTokens = (body as { input_tokens?: unknown } | null)?.input_tokens
  if (typeof inputTokens !== 'number' || !Number.isInteger(inputTokens) || inputTokens < 0)
    throw new GatewayError('upstream-broken', "the upstream's token count is not a number")
  return { inputTokens, usage: { inputTokens: 0, outputTokens: 0 } }
}

const noWords: Readonly<Record<string, string>> = {}

/**
 * `anthropic/...`: calls in its own dialect are forwarded, also to its token counter; all others are translated.
 * `anthropic_version` and `anthropic_beta` of the configuration become headers.
 */
export const anthropic: Provider = {
  name: 'anthropic',
  leavesUnbilled: true,
  defaultBaseUrl: 'https://api.anthropic.com/v1',
  apiKeyEnv: ['ANTHROPIC_API_KEY'],
  ownNames: /^claude-/,
  callersCredentials: {
    form: /^sk-ant-/,
    header: 'x-api-key',
    dialects: ['anthropic-messages', 'anthropic-count-tokens'],
    besideHeaders: ['user-agent', 'x-app'],
    // Tokens of subscribers are taken only where this is asked for (Claude Code 2.1.330 asks in every call).
    demanded: text => (text.startsWith('sk-ant-oat') ? { 'anthropic-beta': 'oauth-2025-04-20' } : noWords),
  },
  speaks: { 'anthropic-messages': messagesHead, 'anthropic-count-tokens': countHead },
  rules: claudeFieldRules,
  takesFormatBesideTools: ({ model }) => claudeRule(model).outputSchema,
  chat: {
    request: (request, target) => ({
      head: headOf(target, messagesHead, request.stream),
      ...messagesBody(request, target),
    }),
    argumentNames: argumentNames.messages,
    result: messageResult,
    reader: messageReader,
    isLast: isMessageStop,
  },
  threads: true,
  chatExtras: ['web_search_options'],
  countTokens: { request: countCall, result: countResult },
}
