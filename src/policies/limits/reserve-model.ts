/**
 * Limits and budgets of single models, where a call is passed on from one model to another: each counts the requests
 * that this model was sent.
 */
import { chargeList } from '../../core/tenancy/budget-charge.ts'
import type { BudgetCharge } from '../../core/tenancy/budget-charge.ts'
import type { Call, ModelReservation, Settlement } from '../../core/call.ts'
import { budgetNanoUsdMax } from '../../core/tenancy/limits.ts'
import type { BudgetAmount, Limiter, LimitRefusal, LimitScope, OwnUses } from '../../core/tenancy/limits.ts'
import type { Clock } from '../../lib/clock.ts'
import type { ModelLimits } from '../../access/limits/limit-scopes.ts'
import type { CallLimits } from './call-limits.ts'
import { GatewayError, toGatewayError } from '../../core/errors.ts'
import { clientClosed } from '../../core/request.ts'
import { bodyTokens } from './body-tokens.ts'
import { limitRefusal } from './refusal.ts'
import { leftIn, measureWhereTight } from './closer-bound.ts'

interface ModelParts {
  readonly limiter: Limiter
  readonly clock: Clock
  readonly limits: CallLimits
}

/**
 * Takes what holds for the model alone: a request, the tokens of the body, and the most that a request of the call can
 * cost. An error = there is no room, also where that would come with the end of others.
 */
export async function admitModel(parts: ModelParts, call: Call, model: string): Promise<GatewayError | undefined> {
  const { caller, tags, endUser, models } = call
  const next = await parts.limits.ofCall({ caller, tags, endUser, model, models })
  const own = await parts.limits.ofCall(call)
  const scopes = scopesOf(parts, next)
  if (scopes.length === 0 && scopesOf(parts, own).length === 0) return undefined
  const known = (call.taken.byModel ??= [
    { model: '', scopes: scopesOf(parts, own), nanoUsd: call.taken.reserved?.nanoUsd ?? 0, taken: [] },
  ])
  if (known.some(one => one.model === model)) return undefined
  const taken = new Set(known.flatMap(one => one.scopes.map(scope => scope.id)))
  const fresh = scopes.filter(scope => !taken.has(scope.id))
  if (fresh.length > 0) await measureForModel(parts.limiter, call, fresh)
  const nanoUsd = boundOf(call)
  if (nanoUsd === null) return unpriced(model)
  const more: ModelReservation = { model, scopes, nanoUsd, taken: [] }
  const refusal = await take(parts, call, { into: more, scopes: fresh, tokens: bodyTokens(call), nanoUsd })
  if (!refusal) call.taken.byModel = [...known, more]
  return refusal
}

const unpriced = (model: string): GatewayError =>
  new GatewayError(
    'budget-exceeded',
    `the fallback '${model}' has a budget, and what a call of it costs is not known: give the model its prices`,
  )

function scopesOf({ clock }: ModelParts, { ofModel, modelPlan }: ModelLimits): readonly LimitScope[] {
  return modelPlan ? [...ofModel, ...modelPlan.at(clock.epochMs()).scopes] : ofModel
}

/** The bound of the call becomes closer where the budgets of this model have little room for it. */
async function measureForModel(limiter: Limiter, call: Call, scopes: readonly LimitScope[]): Promise<void> {
  const budgets = scopes.filter(scope => scope.budget)
  if (budgets.length === 0) return
  try {
    await limiter.prepare(budgets)
  } catch {
    // `take` says what is wrong.
    return
  }
  await measureWhereTight(call, leftIn(limiter, budgets))
  const { costNanoUsdMax: cost } = call.bounds()
  const { reserved } = call.taken
  if (reserved && call.measuredInput && cost !== null)
    call.taken.reserved = { ...reserved, boundNanoUsd: Math.min(reserved.boundNanoUsd, Number(cost)) }
}

/** What one request can cost at most; null = a price is not known, which the configuration refuses. */
function boundOf(call: Call): number | null {
  if (call.taken.reserved) return call.taken.reserved.boundNanoUsd
  const { costNanoUsdMax: cost } = call.bounds()
  if (cost !== null) return Number(cost > budgetNanoUsdMax ? budgetNanoUsdMax : cost)
  const { unknownPrice, reserveNanoUsd } = call.models.settings.budgets
  return unknownPrice === 'refuse' ? null : unknownPrice === 'allow' ? 1 : reserveNanoUsd
}

interface ModelReservationRequest {
  readonly into: ModelReservation
  readonly scopes: readonly LimitScope[]
  readonly tokens: number
  readonly nanoUsd: number
}

/** Without a wait for others: the call has waited for its upstreams already. undefined = it is taken. */
async function take(
  { limiter }: Pick<ModelParts, 'limiter'>,
  call: Call,
  { into, scopes, tokens, nanoUsd }: ModelReservationRequest,
): Promise<GatewayError | undefined> {
  if (scopes.length === 0) return undefined
  try {
    await limiter.prepare(scopes)
    const full = nanoUsd > 0 ? scopes.find(scope => limiter.budgetLeft(scope) < nanoUsd) : undefined
    if (full) return limitRefusal({}, withoutRoom(full, limiter.budgetLeft(full), call.startedAtMs))
    const verdict = await limiter.take(scopes, tokens, nanoUsd)
    if (!verdict.allowed) return limitRefusal({}, verdict)
    if (call.client.left) {
      verdict.release(0)
      return clientClosed()
    }
    into.taken.push(verdict)
    return undefined
  } catch (thrown) {
    // What cannot be checked is not spent.
    return toGatewayError(thrown)
  }
}

function withoutRoom({ id, budget }: LimitScope, remaining: number, nowMs: number): LimitRefusal {
  const resetMs = budget?.endMs == null ? Infinity : budget.endMs - nowMs
  const state = { limit: budget?.maxNanoUsd ?? 0, remaining, resetMs }
  return { allowed: false, scope: id, kind: 'budget', state, retryAfterMs: resetMs }
}

/** Before a further request to a fallback: what its earlier ones may be billed is reserved beside the next one. */
export function reserveModelAttempt(
  limiter: Limiter,
  call: Call,
  { taking, owed }: { taking: ModelReservation; owed: number },
): boolean | Promise<boolean> {
  const more = owed + (call.taken.reserved?.boundNanoUsd ?? 0) - taking.nanoUsd
  const budgets = taking.scopes.filter(scope => scope.budget)
  if (more <= 0 || budgets.length === 0) return true
  taking.nanoUsd += more
  return take({ limiter }, call, { into: taking, scopes: budgets, tokens: 0, nanoUsd: more }).then(refusal => !refusal)
}

/**
 * The charge of a call that was passed on: its budgets of single models are charged what their models cost. `nanoUsd`
 * = the whole, `scopes` = what the call has reserved in. Sets `ownUses`; undefined = no budget holds.
 */
export function chargeByModel(
  settlement: Settlement,
  writer: string,
  { nanoUsd, scopes }: { nanoUsd: number; scopes: readonly LimitScope[] },
): BudgetCharge | undefined {
  const own = new Map<string, { tokens: number; nanoUsd: number }>()
  const amounts = new Map<string, BudgetAmount>()
  const note = ({ id, budget }: LimitScope, cost: number) =>
    budget && amounts.set(id, { scope: id, startMs: budget.startMs, nanoUsd: cost })
  for (const scope of scopes) note(scope, nanoUsd)
  for (const { model, scopes: ofModel, nanoUsd: reserved } of settlement.call.taken.byModel!) {
    const used = settlement.usedByModel?.get(model)
    const cost = used ? (used.costNanoUsd === null ? reserved : Number(used.costNanoUsd)) : 0
    for (const id of new Set(ofModel.map(scope => scope.id))) {
      const before = own.get(id) ?? { tokens: 0, nanoUsd: 0 }
      own.set(id, { tokens: before.tokens + (used?.tokens ?? 0), nanoUsd: before.nanoUsd + cost })
    }
    for (const scope of ofModel) note(scope, own.get(scope.id)!.nanoUsd)
  }
  settlement.ownUses = own
  return amounts.size === 0 ? undefined : { nanoUsd, list: chargeList(writer, [...amounts.values()], nanoUsd) }
}

/** At the end of the call. */
export function releaseModels(models: readonly ModelReservation[], own: OwnUses | undefined): void {
  for (const { taken } of models)
    for (const [at, one] of taken.splice(0).entries()) {
      // The first reservation counts the whole use; those for further requests are given back uncounted.
      if (at === 0) one.release(0, 0, own)
      else one.release(0)
    }
}
