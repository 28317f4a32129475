/** Requests a minute, tokens a minute and calls at once, per key and per user, taken together or not at all. */
import { limitScopes } from '../accounts/key.ts'
import type { Call } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import type { Limiter, LimitState, LimitVerdict } from '../core/ports.ts'
import type { Policy } from '../core/policy.ts'
import type { Settings } from '../core/settings.ts'

/** An inline image says nothing about tokens: what is reserved ahead stays below this. */
const estimateTokensMax = 16_384

export function rateLimit(limiter: Limiter, settings: () => Settings): Policy {
  return {
    name: 'rate-limit',
    handle(call, next) {
      const scopes = limitScopes(call.caller, settings().userLimits)
      if (scopes.length === 0) return next(call)
      const tokens = Math.min(Math.ceil((call.body?.size ?? 0) / 4), estimateTokensMax)
      const taken = limiter.take(scopes, tokens)
      // Only a limiter across replicas has to be waited for.
      if (taken instanceof Promise)
        return taken.then(verdict => {
          admit(call, verdict)
          return next(call)
        })
      admit(call, taken)
      return next(call)
    },
    settled: ({ call }) => release(call),
  }
}

function admit(call: Call, verdict: LimitVerdict): void {
  if (!verdict.allowed) throw refused(call, verdict)
  call.taken = verdict
  // The client left while a remote limiter was asked: its settlement has already passed.
  if (call.signal.aborted) release(call)
  if (verdict.requests) addHeaders(call, 'requests', verdict.requests)
  if (verdict.tokens) addHeaders(call, 'tokens', verdict.tokens)
}

function release(call: Call): void {
  const { taken, usage } = call
  if (!taken) return
  call.taken = undefined
  taken.release(usage ? usage.inputTokens + usage.outputTokens : 0)
}

/** OpenAI's header names; `reset` in its notation (`1.5s`). */
function addHeaders(call: Call, kind: 'requests' | 'tokens', state: LimitState): void {
  call.responseHeaders.push(
    [`x-ratelimit-limit-${kind}`, String(state.limit)],
    [`x-ratelimit-remaining-${kind}`, String(Math.max(state.remaining, 0))],
    [`x-ratelimit-reset-${kind}`, `${Math.max(Math.round(state.resetMs) / 1000, 0)}s`],
  )
}

function refused(call: Call, verdict: Extract<LimitVerdict, { allowed: false }>): GatewayError {
  const { state, kind } = verdict
  if (kind !== 'parallel_requests') addHeaders(call, kind, state)
  const who = verdict.scope.split(':', 1)[0]
  const what = kind === 'parallel_requests' ? 'requests at once' : `${kind} per minute`
  const waitS = Math.max(1, Math.ceil(verdict.retryAfterMs / 1000))
  return new GatewayError(
    'rate-limited',
    `rate limit of this ${who} reached: ${state.limit} ${what}; try again in ${waitS} s`,
    { retryAfterMs: verdict.retryAfterMs },
  )
}
