/** Requests per minute, tokens per minute and parallel calls, per key and per user, taken together or not at all. */
import { limitScopes } from '../accounts/key.ts'
import type { Call } from '../core/call.ts'
import type { Caller } from '../core/caller.ts'
import { GatewayError } from '../core/errors.ts'
import { estimatedInput } from '../core/input-tokens.ts'
import type { Limiter, LimitScope, LimitState, LimitVerdict } from '../core/limits.ts'
import type { Policy, RequestHead, RequestPolicy } from '../core/policy.ts'
import type { CurrentConfiguration } from '../core/ports.ts'
import type { Settings } from '../core/settings.ts'

/** The tokens of larger bodies are taken once they are read: the bytes of an inline picture say little about them. */
const announcedBytesMax = 64 * 1024
const bytesPerToken = 4

type ScopesOf = (caller: Caller, settings: Settings) => readonly LimitScope[]

/** The scopes of a caller under one set of settings: computed once, not for each call. */
function remembered(make: ScopesOf): ScopesOf {
  const known = new WeakMap<Caller, { under: Settings; scopes: readonly LimitScope[] }>()
  return (caller, under) => {
    let found = known.get(caller)
    if (found?.under !== under) known.set(caller, (found = { under, scopes: make(caller, under) }))
    return found.scopes
  }
}

/** Requests and parallel calls, which are counted before the body is read. */
const headScopes = remembered((caller, { userLimits, rateLimitCounts }) =>
  limitScopes(caller, userLimits).flatMap(scope => {
    // Requests were counted by `countRequests`.
    const requestsPerMinute = rateLimitCounts === 'requests' ? null : scope.requestsPerMinute
    if (requestsPerMinute === null && scope.parallelRequests === null) return []
    return [{ ...scope, requestsPerMinute, tokensPerMinute: null }]
  }),
)

/** Tokens alone: where the body's length is not announced, they are taken once it is read. */
const tokenScopes = remembered((caller, { userLimits }) =>
  limitScopes(caller, userLimits).flatMap(({ id, tokensPerMinute }) =>
    tokensPerMinute === null ? [] : [{ id, requestsPerMinute: null, tokensPerMinute, parallelRequests: null }],
  ),
)

const allScopes = remembered((caller, { userLimits, rateLimitCounts }) =>
  limitScopes(caller, userLimits).map(scope =>
    rateLimitCounts === 'requests' ? { ...scope, requestsPerMinute: null } : scope,
  ),
)

/** Requests alone, where `count-requests` takes them or this policy does. */
const requestScopes = remembered((caller, { userLimits, rateLimitCounts }) =>
  limitScopes(caller, userLimits).flatMap(({ id, requestsPerMinute }) =>
    requestsPerMinute === null
      ? []
      : [
          {
            id: rateLimitCounts === 'requests' ? `${id}:requests` : id,
            requestsPerMinute,
            tokensPerMinute: null,
            parallelRequests: null,
          },
        ],
  ),
)

/**
 * Before the body is read: takes a request, a parallel call and, where a length of at most 64 KiB is announced, a token
 * for every 4 bytes of it. After the body is read: takes the tokens of the others, estimated for a body of more than
 * 64 KiB. Each further request to an upstream takes a request more. The end of the call corrects the tokens to what was
 * used, or to the estimate of what was sent. Throws
 * `rate-limited` with the time to wait. Sets OpenAI's `x-ratelimit-*` headers.
 */
export function rateLimit(limiter: Limiter): { readonly onHead: Policy; readonly onBody: Policy } {
  const take = (call: Call, scopes: readonly LimitScope[], tokens: number): void | Promise<void> => {
    const taken = limiter.take(scopes, tokens)
    // Only a limiter across replicas has to be waited for.
    if (taken instanceof Promise) return taken.then(verdict => applyVerdict(call, verdict))
    applyVerdict(call, taken)
  }
  return {
    onHead: {
      name: 'rate-limit',
      stage: 'head',
      admit(call) {
        const { caller, models } = call
        const bytes = promptBytes(call)
        const scopes = (bytes === undefined ? headScopes : allScopes)(caller, models.settings)
        if (scopes.length > 0) return take(call, scopes, Math.ceil((bytes ?? 0) / bytesPerToken))
      },
      admitAttempt(call) {
        const scopes = requestScopes(call.caller, call.models.settings)
        if (scopes.length === 0) return true
        const taken = limiter.take(scopes, 0)
        return taken instanceof Promise ? taken.then(verdict => countAttempt(call, verdict)) : countAttempt(call, taken)
      },
      settled: ({ call }) => release(call),
    },
    onBody: {
      name: 'token-limit',
      stage: 'body',
      dryRun: false,
      admit(call) {
        if (promptBytes(call) !== undefined) return
        const scopes = tokenScopes(call.caller, call.models.settings)
        if (scopes.length > 0) return take(call, scopes, bodyTokens(call))
      },
    },
  }
}

/**
 * Bytes of the prompt by the head of the request; undefined = known only from the body (forms also contain files).
 */
function promptBytes({ format, announcedBytes = Infinity }: Call): number | undefined {
  if (!format) return 0
  return 'multipart' in format || announcedBytes > announcedBytesMax ? undefined : announcedBytes
}

function bodyTokens(call: Call): number {
  const bytes = call.body?.size ?? 0
  return bytes > announcedBytesMax ? estimatedInput(call) : Math.ceil(bytes / bytesPerToken)
}

const noScopes: readonly LimitScope[] = []

/**
 * Takes one request of the key where the limit counts all requests, and for an endpoint that asks for it also where it
 * counts calls. Throws `rate-limited`.
 */
export function countRequests(limiter: Limiter, current: CurrentConfiguration): RequestPolicy {
  return {
    name: 'count-requests',
    stage: 'request',
    admit(request) {
      const { settings } = current
      const isCounted = request.takesRequest || settings.rateLimitCounts === 'requests'
      const scopes = isCounted ? requestScopes(request.caller!, settings) : noScopes
      if (scopes.length === 0) return
      const taken = limiter.take(scopes, 0)
      if (taken instanceof Promise) return taken.then(verdict => countRequest(request, verdict))
      countRequest(request, taken)
    },
  }
}

function countRequest(request: RequestHead, verdict: LimitVerdict): void {
  const own = (request.answerHeaders ??= {})
  if (!verdict.allowed) throw refused(own, verdict)
  verdict.release(0)
  if (verdict.requests) headers.requests(own, verdict.requests)
}

/** A further request to an upstream is a further request of the caller. */
function countAttempt(call: Call, verdict: LimitVerdict): boolean {
  if (!verdict.allowed) return false
  verdict.release(0)
  if (verdict.requests) headers.requests(call.responseHeaders, verdict.requests)
  return true
}

function applyVerdict(call: Call, verdict: LimitVerdict): void {
  if (!verdict.allowed) throw refused(call.responseHeaders, verdict)
  const { taken } = call
  call.taken = taken ? together(taken, verdict) : verdict
  // The client left while a remote limiter was asked: its settlement has already passed.
  if (call.client.left) release(call)
  if (verdict.requests) headers.requests(call.responseHeaders, verdict.requests)
  if (verdict.tokens) headers.tokens(call.responseHeaders, verdict.tokens)
}

type Taken = Extract<LimitVerdict, { allowed: true }>

function together(first: Taken, second: Taken): Taken {
  return {
    allowed: true,
    release(tokensUsed) {
      first.release(tokensUsed)
      second.release(tokensUsed)
    },
  }
}

function release(call: Call): void {
  const { taken, countedTokens } = call
  if (!taken) return
  call.taken = undefined
  taken.release(countedTokens)
}

/** OpenAI's header names, in its notation (`1.5s`). Literal names: computing them would double the cost (measured). */
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
