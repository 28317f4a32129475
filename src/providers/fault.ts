/** Reads error answers of OpenAI's shape and its variants, for vendors without a rule of their own. */
import type { ChatEvent } from '../core/hub/chat.ts'
import { readErrorBody } from '../core/dialects/error-body.ts'
import type { ErrorBody } from '../core/dialects/error-body.ts'
import type { FaultKind } from '../core/errors.ts'
import type { UpstreamFault } from '../core/provider.ts'

const contextMessage = new RegExp(
  'context[ _](length|window)|maximum context|too many (input )?tokens|prompt is too long|' +
    "exceeds? the (model'?s )?(maximum|context)|input is too long",
  'i',
)
/** OpenRouter's 403 for an input that its moderation flagged (openrouter.ai/docs, "Errors"). */
const flaggedMessage = /\b(flagged|moderation)\b/i
const policyMessage =
  /content[ _](policy|filter|management)|safety (system|policy)|responsible ai|violating our usage polic/i
/** `cyber_policy` is OpenAI's; its `invalid_prompt` stands for other errors too, and is judged by the message. */
const policyCodes: ReadonlySet<string> = new Set(['content_policy_violation', 'content_filter', 'cyber_policy'])

/**
 * Codes and types of errors that say of the account behind the key that it has no credit left, has reached its spending
 * limit, or is closed until it pays: OpenAI (platform.openai.com/docs/guides/error-codes), Anthropic, Groq
 * (its docs, "Spend limits"), Moonshot, DashScope, Volcengine, Novita, Vercel; 2026-11.
 */
const accountCodes: ReadonlySet<string> = new Set([
  'insufficient_quota',
  'billing_hard_limit_reached',
  'billing_not_active',
  'billing_error',
  'blocked_api_access',
  'exceeded_current_quota_error',
  'insufficient_balance',
  'insufficient_credits',
  'insufficient_funds',
  'arrearage',
  'accountoverdueerror',
  'not_enough_balance',
])
/** The same in words, for hosts whose status and code are those of other errors (Anthropic's 400, Z.ai's 429). */
const accountMessage = new RegExp(
  'credit balance is too low|(?:insufficient|not enough) (?:account )?(?:balance|credits?|funds)|' +
    'balance is (?:insufficient|not enough)|used all available credits|prepayment credits are depleted|' +
    '(?:reached|exceeded) (?:your|its|the) (?:monthly )?spend(?:ing)? limit|' +
    'account .{0,80}(?:is suspended|in arrears|is overdue|not active)',
  'i',
)

/** Moves an error behind the usage, which is billed, and drops the other events after it: an error ends an answer. */
export function errorLast(events: ChatEvent[]): ChatEvent[] {
  const at = events.findIndex(event => event.type === 'error')
  if (at < 0) return events
  return [...events.slice(0, at), ...events.slice(at + 1).filter(event => event.type === 'usage'), events[at]!]
}

/** The kind by the status, refined by code and message in the body. The message is the upstream's own. */
export function generalFault(status: number, body: unknown): UpstreamFault {
  const error = readErrorBody(body)
  const message = error.message || `the upstream answered with the status ${status}`
  return accountFault(status, error) ?? { kind: kindOf(status, error), message, code: error.code, param: error.param }
}

/**
 * The fault of an account that cannot pay: 402, and the words and codes of hosts that write it under another status;
 * undefined = it is another. The message says whose account it is, and the upstream's code is left out: no client is to
 * take it for its own.
 */
export function accountFault(status: number, { message, code }: ErrorBody): UpstreamFault | undefined {
  const isSaid = accountCodes.has(code?.toLowerCase() ?? '') || accountMessage.test(message)
  if (status !== 402 && !(isSaid && status >= 400 && status < 500)) return undefined
  const text = message || `the status ${status}`
  return { kind: 'upstream-credentials', message: `the gateway's account at the upstream cannot pay: ${text}` }
}

function kindOf(status: number, { message, code }: ErrorBody): FaultKind {
  if (status === 403 && (flaggedMessage.test(message) || policyMessage.test(message))) return 'content-policy'
  if (status === 401 || status === 403) return 'upstream-credentials'
  if (status === 429) return 'upstream-rate-limited'
  if (status === 408 || status === 504) return 'upstream-timeout'
  if (status === 503 || status === 529) return 'upstream-overloaded'
  if (status === 502) return 'upstream-broken'
  if (status >= 500) return 'upstream-failed'
  if (code === 'context_length_exceeded' || contextMessage.test(message)) return 'context-too-long'
  if (policyCodes.has(code ?? '') || policyMessage.test(message)) return 'content-policy'
  if (status === 404) return 'model-not-found'
  if (status === 413) return 'too-large'
  return 'upstream-refused'
}
