/** How answers report limits and budgets: OpenAI's headers, and one error for each kind. */
import { nanoUsdToText } from '../../pricing/cost.ts'
import { GatewayError } from '../../core/errors.ts'
import { thousandthsText } from '../../lib/text.ts'
import type { LimitRefusal, LimitState } from '../../core/tenancy/limits.ts'

/** OpenAI's header names, in its notation (`1.5s`). Literal names: computing them would double the cost (measured). */
export const limitHeaders = {
  requests(into: Record<string, string>, state: LimitState): void {
    into['x-ratelimit-limit-requests'] = String(state.limit)
    into['x-ratelimit-remaining-requests'] = String(Math.max(state.remaining, 0))
    into['x-ratelimit-reset-requests'] = seconds(state.resetMs)
  },
  tokens(into: Record<string, string>, state: LimitState): void {
    into['x-ratelimit-limit-tokens'] = String(state.limit)
    into['x-ratelimit-remaining-tokens'] = String(Math.max(state.remaining, 0))
    into['x-ratelimit-reset-tokens'] = seconds(state.resetMs)
  },
}

function seconds(ms: number): string {
  return Number.isFinite(ms) ? `${thousandthsText(Math.max(Math.round(ms), 0))}s` : `${ms}s`
}

/** The error for a refusal; its headers are added to `into`. */
export function limitRefusal(into: Record<string, string>, verdict: LimitRefusal): GatewayError {
  const { kind, scope } = verdict
  const error = errorOf(into, verdict)
  error.limited = { kind, scope: scope.split(':', 1)[0]! }
  return error
}

function errorOf(into: Record<string, string>, verdict: LimitRefusal): GatewayError {
  const { kind } = verdict
  if (kind === 'budget') return overBudget(into, verdict)
  if (kind !== 'parallel_requests') limitHeaders[kind](into, verdict.state)
  const who = nameOf(verdict.scope)
  const what = kind === 'parallel_requests' ? 'requests at once' : `${kind} per minute`
  if (verdict.state.limit === 0) return allowsNothing(into, who)
  const waitS = Math.max(1, Math.ceil(verdict.retryAfterMs / 1000))
  return new GatewayError(
    'rate-limited',
    `rate limit of this ${who} reached: ${verdict.state.limit} ${what}; try again in ${waitS} s`,
    { retryAfterMs: verdict.retryAfterMs },
  )
}

/** A limit of 0, of whichever kind: waiting does not help. */
function allowsNothing(into: Record<string, string>, who: string): GatewayError {
  into['x-should-retry'] = 'false'
  return new GatewayError(
    'rate-limited',
    `rate limit of this ${who} reached: one of its limits is 0 and allows no call; ask an administrator to raise it`,
  )
}

/** Ids stand in the scopes of a caller's own objects, which errors may name: `team:ID`, `key:ID:model:NAME`. */
function nameOf(scope: string): string {
  const [kind = '', ...rest] = scope.split(':')
  const model = /:model:(.*)$/s.exec(scope)?.[1]
  const name = kind.replaceAll('_', ' ')
  if (model !== undefined) return `${name} for the model '${model.slice(0, 100)}'`
  return kind === 'key' || rest.length === 0 ? name : `${name} '${rest.join(':').slice(0, 100)}'`
}

/** The first words are LiteLLM's, which users search for; its later releases send this status too. */
function overBudget(into: Record<string, string>, { scope, state, retryAfterMs }: LimitRefusal): GatewayError {
  const isSpent = retryAfterMs === state.resetMs
  // Its SDKs do not repeat a request that waiting for seconds does not help (openai-node, `shouldRetry`, 2026-11).
  if (isSpent) into['x-should-retry'] = 'false'
  const usd = (nanoUsd: number) => nanoUsdToText(BigInt(Math.round(nanoUsd)))
  const spent = usd(Math.max(state.limit - state.remaining, 0))
  const resets = Number.isFinite(state.resetMs)
    ? `it resets in ${Math.ceil(state.resetMs / 1000)} s`
    : 'it does not reset; ask an administrator to raise it'
  const rest = isSpent
    ? `the rest is too little for this call, which may ask for fewer output tokens; ${resets}`
    : `the rest is reserved by calls under way; try again in ${Math.ceil(retryAfterMs / 1000)} s`
  return new GatewayError(
    'budget-exceeded',
    `Budget has been exceeded! Scope: ${nameOf(scope)}, Current cost: ${spent}, ` +
      `Max budget: ${usd(state.limit)} USD; ${rest}`,
    Number.isFinite(retryAfterMs) ? { retryAfterMs } : {},
  )
}
