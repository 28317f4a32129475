/** Requests a minute, tokens a minute and calls at once, per key and per user, taken together or not at all. */
import { limitScopes } from '../accounts/key.ts'
import type { Call } from '../core/call.ts'
import type { Caller } from '../core/caller.ts'
import { GatewayError } from '../core/errors.ts'
import type { Limiter, LimitScope, LimitState, LimitVerdict } from '../core/limits.ts'
import type { CountedRequest, Policy } from '../core/policy.ts'
import type { Settings } from '../core/settings.ts'

/** An inline image says nothing about tokens: what is reserved ahead stays below this. */
const estimateTokensMax = 16_384

type ScopesOf = (caller: Caller, settings: Settings) => readonly LimitScope[]

/** The scopes of a caller under the settings of one moment: made once, not on the path of each call. */
function remembered(make: ScopesOf): ScopesOf {
  const known = new WeakMap<Caller, { under: Settings; scopes: readonly LimitScope[] }>()
  return (caller, under) => {
    let found = known.get(caller)
    if (found?.under !== under) known.set(caller, (found = { under, scopes: make(caller, under) }))
    return found.scopes
  }
}

/**
 * Reserves a token for every 4 bytes of the body, 16,384 at most; the end of the call puts in what it really used.
 * Throws `rate-limited` with the time to wait. Sets OpenAI's `x-ratelimit-*` headers.
 */
export function rateLimit(limiter: Limiter, settings: () => Settings): Policy {
  const scopesOf = remembered((caller, { userLimits, rateLimitCounts }) => {
    const scopes = limitScopes(caller, userLimits)
    // Taken at the front door, before anybody knew what was asked.
    return rateLimitCounts === 'requests' ? scopes.map(scope => ({ ...scope, requestsPerMinute: null })) : scopes
  })
  return {
    name: 'rate-limit',
    admit(call) {
      const scopes = scopesOf(call.caller, settings())
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

/** What the front door asks for every request of a key, when requests are what the limit counts. */
type CountRequest = (caller: Caller) => CountedRequest | Promise<CountedRequest> | undefined

/** undefined = nothing to count: calls are what the limit counts, or this caller has none. */
export function countRequests(limiter: Limiter, settings: () => Settings): CountRequest {
  const scopesOf = remembered((caller, { userLimits, rateLimitCounts }) =>
    rateLimitCounts === 'calls'
      ? []
      : limitScopes(caller, userLimits)
          .filter(scope => scope.requestsPerMinute !== null)
          .map(({ id, requestsPerMinute }) => ({
            id: `${id}:requests`,
            requestsPerMinute,
            tokensPerMinute: null,
            parallelRequests: null,
          })),
  )
  return caller => {
    const scopes = scopesOf(caller, settings())
    if (scopes.length === 0) return undefined
    const taken = limiter.take(scopes, 0)
    return taken instanceof Promise ? taken.then(counted) : counted(taken)
  }
}

function counted(verdict: LimitVerdict): CountedRequest {
  const own: Record<string, string> = {}
  if (!verdict.allowed) return { headers: own, refusal: refused(own, verdict) }
  verdict.release(0)
  if (verdict.requests) headers.requests(own, verdict.requests)
  return { headers: own }
}

function judge(call: Call, verdict: LimitVerdict): void {
  if (!verdict.allowed) throw refused(call.responseHeaders, verdict)
  call.taken = verdict
  // The client left while a remote limiter was asked: its settlement has already passed.
  if (call.client.left) release(call)
  if (verdict.requests) headers.requests(call.responseHeaders, verdict.requests)
  if (verdict.tokens) headers.tokens(call.responseHeaders, verdict.tokens)
}

function release(call: Call): void {
  const { taken, usage } = call
  if (!taken) return
  call.taken = undefined
  taken.release(usage ? usage.inputTokens + usage.outputTokens : 0)
}

/** OpenAI's header names, in its notation (`1.5s`). Written out: a name that is computed costs as much as the rest. */
const headers = {
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
  return `${Math.max(Math.round(ms) / 1000, 0)}s`
}

function refused(into: Record<string, string>, verdict: Extract<LimitVerdict, { allowed: false }>): GatewayError {
  const { state, kind } = verdict
  if (kind !== 'parallel_requests') headers[kind](into, state)
  const who = verdict.scope.split(':', 1)[0]
  const what = kind === 'parallel_requests' ? 'requests at once' : `${kind} per minute`
  const waitS = Math.max(1, Math.ceil(verdict.retryAfterMs / 1000))
  return new GatewayError(
    'rate-limited',
    `rate limit of this ${who} reached: ${state.limit} ${what}; try again in ${waitS} s`,
    { retryAfterMs: verdict.retryAfterMs },
  )
}
