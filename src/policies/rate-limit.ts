/** Requests a minute, tokens a minute and calls at once, per key and per user, taken together or not at all. */
import { limitScopes } from '../accounts/key.ts'
import type { Call, Caller } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import type { Limiter, LimitScope, LimitState, LimitVerdict } from '../core/ports.ts'
import type { Policy } from '../core/policy.ts'
import type { Settings } from '../core/settings.ts'

type UserLimits = Settings['userLimits']

/** An inline image says nothing about tokens: what is reserved ahead stays below this. */
const estimateTokensMax = 16_384

export function rateLimit(limiter: Limiter, settings: () => Settings): Policy {
  /** The scopes of a caller under the limits of one moment: made once, not on the path of each call. */
  const known = new WeakMap<Caller, { under: UserLimits; scopes: readonly LimitScope[] }>()
  const scopesOf = (caller: Caller, under: UserLimits): readonly LimitScope[] => {
    let found = known.get(caller)
    if (found?.under !== under) known.set(caller, (found = { under, scopes: limitScopes(caller, under) }))
    return found.scopes
  }
  return {
    name: 'rate-limit',
    admit(call) {
      const scopes = scopesOf(call.caller, settings().userLimits)
      if (scopes.length === 0) return
      const tokens = Math.min(Math.ceil((call.body?.size ?? 0) / 4), estimateTokensMax)
      const taken = limiter.take(scopes, tokens)
      // Only a limiter across replicas has to be waited for.
      if (taken instanceof Promise) return taken.then(verdict => judge(call, verdict))
      judge(call, taken)
    },
    settled: ({ call }) => release(call),
  }
}

function judge(call: Call, verdict: LimitVerdict): void {
  if (!verdict.allowed) throw refused(call, verdict)
  call.taken = verdict
  // The client left while a remote limiter was asked: its settlement has already passed.
  if (call.client.left) release(call)
  if (verdict.requests) headers.requests(call, verdict.requests)
  if (verdict.tokens) headers.tokens(call, verdict.tokens)
}

function release(call: Call): void {
  const { taken, usage } = call
  if (!taken) return
  call.taken = undefined
  taken.release(usage ? usage.inputTokens + usage.outputTokens : 0)
}

/** OpenAI's header names, in its notation (`1.5s`). Written out: a name that is computed costs as much as the rest. */
const headers = {
  requests({ responseHeaders }: Call, state: LimitState): void {
    responseHeaders['x-ratelimit-limit-requests'] = String(state.limit)
    responseHeaders['x-ratelimit-remaining-requests'] = String(Math.max(state.remaining, 0))
    responseHeaders['x-ratelimit-reset-requests'] = seconds(state.resetMs)
  },
  tokens({ responseHeaders }: Call, state: LimitState): void {
    responseHeaders['x-ratelimit-limit-tokens'] = String(state.limit)
    responseHeaders['x-ratelimit-remaining-tokens'] = String(Math.max(state.remaining, 0))
    responseHeaders['x-ratelimit-reset-tokens'] = seconds(state.resetMs)
  },
}

function seconds(ms: number): string {
  return `${Math.max(Math.round(ms) / 1000, 0)}s`
}

function refused(call: Call, verdict: Extract<LimitVerdict, { allowed: false }>): GatewayError {
  const { state, kind } = verdict
  if (kind !== 'parallel_requests') headers[kind](call, state)
  const who = verdict.scope.split(':', 1)[0]
  const what = kind === 'parallel_requests' ? 'requests at once' : `${kind} per minute`
  const waitS = Math.max(1, Math.ceil(verdict.retryAfterMs / 1000))
  return new GatewayError(
    'rate-limited',
    `rate limit of this ${who} reached: ${state.limit} ${what}; try again in ${waitS} s`,
    { retryAfterMs: verdict.retryAfterMs },
  )
}
