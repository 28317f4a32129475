/** Reserves what a call can cost at most in all of its budgets, and charges what it cost. */
import type { BudgetPlan } from '../../access/limits/budget-plan.ts'
import { costNanoUsd } from '../../pricing/cost.ts'
import type { BudgetReservation, BudgetScopes } from '../../core/tenancy/budget-charge.ts'
import type { BudgetSettings } from '../../core/tenancy/budgets.ts'
import type { Call } from '../../core/call.ts'
import { credentialFor } from '../../core/client-credential.ts'
import type { Deployment } from '../../core/deployment.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Limiter, LimitScope, LimitReservation, LimitVerdict } from '../../core/tenancy/limits.ts'
import type { Clock } from '../../lib/clock.ts'
import {
  fitsWell,
  freeShare,
  leastOf,
  leftIn,
  measureWhereTight,
  nanoUsdOf,
  outputTokensMin,
  requestedMaximum,
} from './closer-bound.ts'
import { reserveModelAttempt } from './reserve-model.ts'

/** A call without a maximum of output tokens gets at least so many, as far as the money reaches. */
const freeOutputTokens = 4096
/** More than the output of any model. */
const outputTokensMax = 1_048_576
/** Where nothing is known to be reserved: a budget that is spent has no room for it. Nano-dollars. */
export const leastNanoUsd = 1

interface BudgetRequest {
  readonly plan: BudgetPlan
  /** Limits that are taken in the same step. */
  readonly scopes: readonly LimitScope[]
  readonly tokens: number
  /** Throws where it is a refusal. */
  apply(verdict: LimitVerdict): void
}

interface BudgetParts {
  readonly limiter: Limiter
  readonly clock: Clock
}

/**
 * Takes the limits and, in the same step, the money that the call can cost at most. Throws `budget-exceeded`, and
 * `invalid-request` for a model without a price where the configuration refuses these. A call that asks for no maximum
 * of output tokens, or for more than is left where the configuration says `shrink`, gets one that fits.
 */
export function admitBudgets(
  { limiter, clock }: BudgetParts,
  call: Call,
  request: BudgetRequest,
): void | Promise<void> {
  const budgets = request.plan.at(clock.epochMs())
  const loading = limiter.prepare(budgets.scopes)
  const admission = { budgets, request }
  if (loading) return loading.then(() => reserveCloseEnough(limiter, call, admission))
  return reserveCloseEnough(limiter, call, admission)
}

/** The same for a call whose cost is known before it is made. Nano-dollars, more than 0. */
export function reserveAmount(
  { limiter, clock }: BudgetParts,
  call: Call,
  request: BudgetRequest,
  nanoUsd: number,
): void | Promise<void> {
  const budgets = request.plan.at(clock.epochMs())
  const loading = limiter.prepare(budgets.scopes)
  const take = () => reserve(limiter, call, { budgets, request }, nanoUsd)
  return loading ? loading.then(take) : take()
}

interface Admission {
  readonly budgets: BudgetScopes
  readonly request: BudgetRequest
}

/** Where the bytes of the call fit well, nothing of it is counted. */
function reserveCloseEnough(limiter: Limiter, call: Call, admission: Admission): void | Promise<void> {
  const { scopes } = admission.budgets
  if (call.operation === 'count-tokens') return reserve(limiter, call, admission, 0)
  const bound = nanoUsdOf(call.bounds().costNanoUsdMax)
  const left = leftIn(limiter, scopes)
  if (fitsWell(bound, left)) return reserve(limiter, call, admission, bound)
  const measuring = measureWhereTight(call, left)
  if (measuring) return measuring.then(() => reserve(limiter, call, admission, amountOf(limiter, call, scopes)))
  return reserve(limiter, call, admission, amountOf(limiter, call, scopes))
}

function reserve(
  limiter: Limiter,
  call: Call,
  { budgets, request: { scopes, tokens, apply } }: Admission,
  nanoUsd: number,
): void | Promise<void> {
  const money = nanoUsd > 0 ? budgets.scopes : []
  if (money.length + scopes.length === 0) return
  const taken = limiter.take(scopes.length === 0 ? money : [...scopes, ...money], tokens, nanoUsd)
  const admit = (verdict: LimitVerdict) => {
    if (verdict.allowed && nanoUsd > 0) call.taken.reserved = { budgets, nanoUsd, boundNanoUsd: nanoUsd }
    apply(verdict)
  }
  if (taken instanceof Promise) return taken.then(admit)
  admit(taken)
}

/** Nano-dollars to be reserved; 0 = the call is free. May lower the call's maximum of output tokens. */
function amountOf(limiter: Limiter, call: Call, scopes: readonly LimitScope[]): number {
  const bound = nanoUsdOf(call.bounds().costNanoUsdMax)
  const left = leftIn(limiter, scopes)
  if (bound === 0 || fitsWell(bound, left)) return bound
  return fittedAmount(call, bound, Math.max(left, 0)) ?? bound ?? unknownAmount(call, call.models.settings.budgets)
}

/** Nano-dollars below which the call is refused in any case; 0 = it is free. */
export function leastAmount(call: Call): number {
  if (call.operation === 'count-tokens') return leastNanoUsd
  const bound = nanoUsdOf(call.bounds().costNanoUsdMax)
  if (bound === 0) return 0
  const chat = requestedMaximum(call)
  const isFixed = !chat || (chat.tokens !== undefined && call.models.settings.budgets.fit === 'refuse')
  const least = isFixed ? bound : leastOf(call, chat.tokens)
  return least ?? bound ?? leastNanoUsd
}

/** undefined = the call's maximum of output tokens stays as it is, or does not decide what it costs. */
function fittedAmount(call: Call, bound: number | null, left: number): number | undefined {
  const chat = requestedMaximum(call)
  if (!chat) return undefined
  const requestedTokens = chat.tokens
  if (requestedTokens !== undefined && call.models.settings.budgets.fit === 'refuse') return undefined
  const costAt = (tokens: number) => nanoUsdOf(call.bounds(tokens).costNanoUsdMax)
  const least = leastOf(call, requestedTokens)
  const free = costAt(freeOutputTokens)
  if (least === null || free === null) return undefined
  const most = requestedTokens === undefined ? Math.max(left * freeShare, Math.min(left, free)) : left
  if (bound !== null && bound <= most) return undefined
  // Not even the least fits: refused with the amount that it would have needed.
  if (least > left) return least
  let fits = outputTokensMin
  let exceeds = Math.min(requestedTokens ?? ableOutput(call), outputTokensMax) + 1
  while (exceeds - fits > 1) {
    const middle = Math.floor((fits + exceeds) / 2)
    if (costAt(middle)! <= most) fits = middle
    else exceeds = middle
  }
  const cost = costAt(fits)!
  if (requestedTokens !== undefined && fits >= requestedTokens) return cost
  call.taken.setsMaximum = requestedTokens === undefined
  lowerMaximum(call, fits)
  call.responseHeaders[`${call.models.settings.headerPrefix}-budget-max-tokens`] = String(fits)
  return cost
}

/** In the words of the client, so that the call stays on the forward lane, with all that only its upstream knows. */
function lowerMaximum(call: Call, tokens: number): void {
  const { format, body, candidates } = call
  if (!body || !format || !('withMaximum' in format)) return
  const isNew = candidates.every(({ target }) => target.provider.maxTokensField !== undefined)
  call.replaceBody(format.withMaximum(body, tokens, isNew ? 'max_completion_tokens' : 'max_tokens'))
}

/**
 * The most output that each upstream in reach takes. Where that is not known, it is what its context window leaves, or
 * what every model is able to: upstreams refuse a maximum above their own.
 */
function ableOutput(call: Call): number {
  const { inputTokensMax } = call.bounds()
  let able = outputTokensMax
  for (const { info } of deploymentsOf(call)) {
    const known = countOf(info.max_output_tokens)
    const window = countOf(info.context_window) ?? countOf(info.max_input_tokens) ?? 0
    able = Math.min(able, known ?? Math.max(window - inputTokensMax, freeOutputTokens))
  }
  return able
}

const countOf = (value: unknown): number | undefined => (typeof value === 'number' && value > 0 ? value : undefined)

function deploymentsOf({
  candidates,
  fallbacksInOrder,
  contextWindowFallbacks,
  contentPolicyFallbacks,
}: Call): readonly Deployment[] {
  const others = [...fallbacksInOrder, ...contextWindowFallbacks, ...contentPolicyFallbacks]
  return [...candidates, ...others.flatMap(one => one.deployments)]
}

/** The bound is not known: a price is missing, or the request does not say how much it asks for. */
function unknownAmount(call: Call, { unknownPrice, reserveNanoUsd }: BudgetSettings): number {
  const unpriced = deploymentsOf(call).find(one => one.prices === null && !credentialFor(call, one))
  if (unpriced === undefined || unknownPrice === 'reserve') return reserveNanoUsd
  if (unknownPrice === 'allow') return leastNanoUsd
  throw new GatewayError(
    'invalid-request',
    `the price of the model '${unpriced.modelName}' is not known, which the budgets of this key do not allow; the ` +
      'operator can set its prices in the configuration, or `budget_unknown_price`',
    { param: 'model' },
  )
}

/**
 * Before a further request of a call: what an earlier one may be billed is reserved beside what the next one can cost.
 * false = no budget has room for it. The prompts of a list are in the bound of the call.
 */
export function reserveAttempt(limiter: Limiter, call: Call): boolean | Promise<boolean> {
  const { owed, attempt, progress, taken } = call
  if (attempt?.isSeries || owed.length === 0) return true
  const { model: attemptedModel } = progress
  const request = attemptedModel === '' ? undefined : taken.byModel?.find(one => one.model === attemptedModel)
  const { reserved } = taken
  const ofCall = reserved ? reserveMore(limiter, call, reserved) : true
  if (!request) return ofCall
  const owedNanoUsd = reserved ? owedFor(call, reserved, attemptedModel) : 0
  const ofModel = (isRoom: boolean) =>
    isRoom && reserveModelAttempt(limiter, call, { taking: request, owed: owedNanoUsd })
  return ofCall instanceof Promise ? ofCall.then(ofModel) : ofModel(ofCall)
}

/** What earlier requests may be billed, to one model or to all. */
function owedFor({ owed, startedAtMs }: Call, { boundNanoUsd }: BudgetReservation, model?: string): number {
  let sum = 0
  for (const { usage, deployment, isCallers, model: sentModel } of owed) {
    if (isCallers || (model !== undefined && sentModel !== model)) continue
    const cost = usage && deployment ? costNanoUsd(usage, deployment.prices, { atMs: startedAtMs }) : null
    sum += nanoUsdOf(cost) ?? boundNanoUsd
  }
  return sum
}

function reserveMore(limiter: Limiter, call: Call, reserved: BudgetReservation): boolean | Promise<boolean> {
  const more = owedFor(call, reserved) + reserved.boundNanoUsd - reserved.nanoUsd
  if (more <= 0) return true
  const scopes = scopesOfAttempt(call, reserved)
  // Without a wait for others: the call's own reservation is in the way as well.
  if (scopes.some(scope => limiter.budgetLeft(scope) < more)) return false
  const taken = limiter.take(scopes, 0, more)
  const admit = (verdict: LimitVerdict) => verdict.allowed && addReservation(call, verdict, more)
  return taken instanceof Promise ? taken.then(admit) : admit(taken)
}

/** The budgets of the call's own model have reserved for all that it was sent, once another one is tried. */
function scopesOfAttempt({ progress, taken }: Call, { budgets }: BudgetReservation): readonly LimitScope[] {
  const own = progress.model === '' ? undefined : taken.byModel?.find(one => one.model === '')
  if (!own) return budgets.scopes
  return budgets.scopes.filter(scope => !own.scopes.some(one => one.id === scope.id))
}

/** Its end gives back what it has reserved: the cost of the call is counted by its first reservation. */
function addReservation(call: Call, more: LimitReservation, nanoUsd: number): boolean {
  const { reservation, reserved } = call.taken
  if (!reservation || !reserved) {
    more.release(0)
    return false
  }
  call.taken.reserved = { ...reserved, nanoUsd: reserved.nanoUsd + nanoUsd }
  call.taken.reservation = {
    ...reservation,
    keep() {
      reservation.keep()
      more.release(0)
    },
    release(tokensUsed, nanoUsdUsed, own) {
      reservation.release(tokensUsed, nanoUsdUsed, own)
      more.release(0)
    },
  }
  return true
}
