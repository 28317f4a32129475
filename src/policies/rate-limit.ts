/** Requests per minute, tokens per minute, parallel calls and budgets, taken together or not at all. */
import type { ModelLimits } from '../access/limits/limit-scopes.ts'
import type { Call, Settlement } from '../core/call.ts'
import type { RefusedLimit } from '../core/errors.ts'
import type { Limiter, LimitScope, LimitReservation, LimitVerdict } from '../core/tenancy/limits.ts'
import type { Policy, AdmittedRequest, RequestPolicy } from '../core/policy.ts'
import type { CurrentConfiguration } from '../core/model-directory.ts'
import type { Clock } from '../lib/clock.ts'
import { announcedBytesMax, bodyTokens, bytesPerToken } from './limits/body-tokens.ts'
import { reserveBatch } from './limits/reserve-batch.ts'
import { admitBudgets, reserveAmount, reserveAttempt } from './limits/reserve-budgets.ts'
import { admitModel, releaseModels } from './limits/reserve-model.ts'
import type { CallLimits } from './limits/call-limits.ts'
import { limitHeaders, limitRefusal } from './limits/refusal.ts'

/** What limits are counted with. */
export interface LimitParts {
  readonly limiter: Limiter
  /** That of all replicas, by which periods begin. */
  readonly clock: Clock
  readonly limits: CallLimits
}

/**
 * Before the body is read: takes a request, a parallel call and, where a length of at most 64 KiB is announced, a token
 * for every 4 bytes of it. After the body is read: takes the tokens of the others, estimated for a body of more than
 * 64 KiB, what holds for the model alone, and the money that the call can cost at most. Each further request to an
 * upstream takes a request more, and money for what an earlier one may be billed. The end of the call corrects the
 * tokens to what was used, or to the estimate of what was sent, and the money to the cost. Throws `rate-limited` and
 * `budget-exceeded` with the time to wait. Sets OpenAI's `x-ratelimit-*` headers.
 */
export function rateLimit(parts: LimitParts): { readonly onHead: Policy; readonly onBody: Policy } {
  const { limiter } = parts
  const callLimits = (call: Call) => parts.limits.of(call.caller, call.models.settings)
  return {
    onHead: {
      name: 'rate-limit',
      stage: 'head',
      admit(call) {
        const limits = callLimits(call)
        const bytes = promptBytes(call)
        const scopes = bytes === undefined ? limits.head : limits.all
        if (scopes.length > 0) return take(limiter, call, scopes, Math.ceil((bytes ?? 0) / bytesPerToken))
      },
      admitAttempt(call) {
        const scopes = callLimits(call).requests
        if (scopes.length === 0) return reserveAttempt(limiter, call)
        const taken = limiter.take(scopes, 0)
        const next = (verdict: LimitVerdict) => countAttempt(call, verdict) && reserveAttempt(limiter, call)
        return taken instanceof Promise ? taken.then(next) : next(taken)
      },
      admitModel: (call, model) => admitModel(parts, call, model),
      settled: settlement => release(settlement.call, settlement),
    },
    onBody: {
      name: 'token-limit',
      stage: 'body',
      dryRun: false,
      admit(call) {
        const ofCall = parts.limits.ofCall(call)
        return ofCall instanceof Promise ? takeLater(parts, call, ofCall) : takeOnBody(parts, call, ofCall)
      },
    },
  }
}

/** Apart from `admit`: what a closure captures is allocated whenever its function is entered. */
function takeLater(parts: LimitParts, call: Call, limits: Promise<ModelLimits>): Promise<void> {
  return limits.then(found => takeOnBody(parts, call, found))
}

/** What the head does not show: the tokens of most forms and long bodies, the limits of the model, and money. */
function takeOnBody(parts: LimitParts, call: Call, { limits, plan }: ModelLimits): void | Promise<void> {
  const isCounted = promptBytes(call) !== undefined
  const { tokens } = parts.limits.of(call.caller, call.models.settings)
  const scopes = isCounted ? limits : limits.length === 0 ? tokens : [...tokens, ...limits]
  if (call.tool) return takeForTool(parts, call, { scopes, plan })
  if (!call.format && !call.options.isCharged) return takeForObjects(parts, call, scopes)
  if (scopes.length === 0 && !plan) return
  const need = scopes.length === 0 ? 0 : bodyTokens(call)
  return plan
    ? admitBudgets(parts, call, { plan, scopes, tokens: need, apply: applierOf(call) })
    : take(parts.limiter, call, scopes, need)
}

/** A call about files and batches costs nothing by itself; a batch that it starts does. */
function takeForObjects(parts: LimitParts, call: Call, scopes: readonly LimitScope[]): void | Promise<void> {
  const taken = scopes.length === 0 ? undefined : take(parts.limiter, call, scopes, bodyTokens(call))
  const batch = call.options.startsBatch?.()
  return batch ? Promise.resolve(taken).then(() => reserveBatch(parts, call, batch)) : taken
}

/** A tool has a price a call, and no tokens. */
function takeForTool(
  { limiter, clock }: LimitParts,
  call: Call,
  { scopes, plan }: { readonly scopes: readonly LimitScope[]; readonly plan: ModelLimits['plan'] },
): void | Promise<void> {
  const nanoUsd = Number(call.tool!.costNanoUsd)
  if (plan && nanoUsd > 0)
    return reserveAmount({ limiter, clock }, call, { plan, scopes, tokens: 0, apply: applierOf(call) }, nanoUsd)
  return scopes.length === 0 ? undefined : take(limiter, call, scopes, 0)
}

function applierOf(call: Call): (verdict: LimitVerdict) => void {
  return verdict => applyVerdict(call, verdict)
}

function take(limiter: Limiter, call: Call, scopes: readonly LimitScope[], tokens: number): void | Promise<void> {
  const taken = limiter.take(scopes, tokens)
  // Only a limiter across replicas has to be waited for.
  if (taken instanceof Promise) return taken.then(applierOf(call))
  applyVerdict(call, taken)
}

/**
 * Bytes of the prompt by the head of the request; undefined = known only from the body (forms also contain files).
 */
function promptBytes({ format, announcedBytes = Infinity }: Call): number | undefined {
  if (!format) return 0
  return 'multipart' in format || announcedBytes > announcedBytesMax ? undefined : announcedBytes
}

const noScopes: readonly LimitScope[] = []

/**
 * Takes one request of the key where the limit counts all requests, and for an endpoint that asks for it also where it
 * counts calls. Throws `rate-limited`.
 */
export function countRequests(
  { limiter, limits, limited }: LimitParts & { limited(refused: RefusedLimit): void },
  current: CurrentConfiguration,
): RequestPolicy {
  const count = (request: AdmittedRequest, verdict: LimitVerdict): void => {
    const own = (request.answerHeaders ??= {})
    if (!verdict.allowed) {
      const refusal = limitRefusal(own, verdict)
      if (refusal.limited) limited(refusal.limited)
      throw refusal
    }
    verdict.release(0)
    if (verdict.requests) limitHeaders.requests(own, verdict.requests)
  }
  return {
    name: 'count-requests',
    stage: 'request',
    admit(request) {
      const { settings } = current
      const isCounted = request.takesRequest || settings.rateLimitCounts === 'requests'
      const scopes = isCounted ? limits.of(request.caller!, settings).requests : noScopes
      if (scopes.length === 0) return
      const taken = limiter.take(scopes, 0)
      if (taken instanceof Promise) return taken.then(verdict => count(request, verdict))
      count(request, taken)
    },
  }
}

/** A further request to an upstream is a further request of the caller. */
function countAttempt(call: Call, verdict: LimitVerdict): boolean {
  if (!verdict.allowed) return false
  verdict.release(0)
  if (verdict.requests) limitHeaders.requests(call.responseHeaders, verdict.requests)
  return true
}

function applyVerdict(call: Call, verdict: LimitVerdict): void {
  if (!verdict.allowed) throw limitRefusal(call.responseHeaders, verdict)
  const { taken } = call
  taken.reservation = taken.reservation ? together(taken.reservation, verdict) : verdict
  // The client left while a remote limiter was asked: its settlement has already passed.
  if (call.client.left) release(call, call.settlement)
  if (verdict.requests) limitHeaders.requests(call.responseHeaders, verdict.requests)
  if (verdict.tokens) limitHeaders.tokens(call.responseHeaders, verdict.tokens)
}

function together(first: LimitReservation, second: LimitReservation): LimitReservation {
  return {
    allowed: true,
    release(tokensUsed, nanoUsdUsed, own) {
      first.release(tokensUsed, nanoUsdUsed, own)
      second.release(tokensUsed, nanoUsdUsed, own)
    },
    keep() {
      first.keep()
      second.keep()
    },
  }
}

/** `end` undefined = nothing was used. */
function release(call: Call, end: Settlement | undefined): void {
  const { reservation, batch, byModel } = call.taken
  if (batch && !batch.isClaimed) batch.release()
  if (byModel) releaseModels(byModel, end?.ownUses)
  if (!reservation) return
  call.taken.reservation = undefined
  reservation.release(end?.countedTokens ?? 0, end?.charge?.nanoUsd ?? 0, end?.ownUses)
}
