/** Reserves what a batch can cost at most in all of its budgets, and charges what it cost. */
import type { BudgetPlan } from '../../access/limits/budget-plan.ts'
import type { BatchAmount, ChargedAmount } from '../../core/tenancy/budget-charge.ts'
import { chargeList } from '../../core/tenancy/budget-charge.ts'
import type { BudgetSettings } from '../../core/tenancy/budgets.ts'
import type { BatchModel, Call, EndedBatch, Settlement, StartedBatch } from '../../core/call.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Limiter, LimitScope, LimitReservation } from '../../core/tenancy/limits.ts'
import { budgetNanoUsdMax } from '../../core/tenancy/limits.ts'
import type { Clock } from '../../lib/clock.ts'
import type { CallLimits } from './call-limits.ts'
import { limitRefusal } from './refusal.ts'
import { leastNanoUsd } from './reserve-budgets.ts'

interface BatchParts {
  readonly limiter: Limiter
  readonly clock: Clock
  readonly limits: CallLimits
}

/** The budgets that a batch counts in: those of its caller, and those of each model. */
interface BatchPlan {
  readonly plan: BudgetPlan
  /** null = of all models. */
  readonly model: BatchModel | null
}

/**
 * Sets `TakenLimits.batch`. Throws `budget-exceeded`, and `invalid-request` for a file whose requests were not counted,
 * and for a model without a price of batches where the configuration refuses these.
 */
export async function reserveBatch(parts: BatchParts, call: Call, batch: StartedBatch): Promise<void> {
  const plans = await plansOf(parts, call, batch)
  if (plans.length === 0) return
  const settings = call.models.settings.budgets
  const amounts = new Map(batch.models.map(model => [model, amountOf(model, settings)]))
  const total = Math.min(
    amounts.values().reduce((sum, one) => sum + one, 0),
    budgetNanoUsdMax,
  )
  const held: { taken: LimitReservation; scopes: readonly LimitScope[] }[] = []
  const release = () => held.forEach(one => one.taken.release(0))
  const reserved: BatchAmount[] = []
  try {
    for (const { plan, model } of plans) {
      const nanoUsd = model ? amounts.get(model)! : total
      if (nanoUsd === 0) continue
      const { scopes } = plan.at(parts.clock.epochMs())
      await parts.limiter.prepare(scopes)
      const verdict = await parts.limiter.take(scopes, 0, nanoUsd)
      if (!verdict.allowed) throw limitRefusal(call.responseHeaders, verdict)
      held.push({ taken: verdict, scopes })
      for (const { id, budget } of scopes)
        reserved.push({ scope: id, startMs: budget!.startMs, nanoUsd, model: model?.name ?? null })
    }
  } catch (error) {
    release()
    throw error
  }
  if (reserved.length === 0) return
  // The client left while a remote limiter was asked: the call's settlement has already passed.
  if (call.client.left) return release()
  call.taken.batch = {
    amounts: reserved,
    isClaimed: false,
    release,
    keep(stored) {
      for (const { taken, scopes } of held) {
        taken.keep()
        if (stored === 'unknown') parts.limiter.recount(scopes)
      }
    },
  }
}

async function plansOf({ limits }: BatchParts, { models }: Call, batch: StartedBatch): Promise<BatchPlan[]> {
  const { caller, tags } = batch
  const ofModel = (model: string) => limits.ofCall({ caller, tags, endUser: '', model, models })
  const { plan } = await ofModel('')
  const found: BatchPlan[] = plan ? [{ plan, model: null }] : []
  for (const model of batch.models) {
    const { modelPlan } = await ofModel(model.name)
    if (modelPlan) found.push({ plan: modelPlan, model })
  }
  return found
}

/** Nano-dollars to be reserved for the requests of one model; 0 = they are free. */
function amountOf(model: BatchModel, { unknownPrice, reserveNanoUsd }: BudgetSettings): number {
  const { name, requests, nanoUsd, isPriced } = model
  if (nanoUsd !== null) return Number(nanoUsd > budgetNanoUsdMax ? budgetNanoUsdMax : nanoUsd)
  if (requests === 0)
    throw new GatewayError(
      'invalid-request',
      'the file was sent to an earlier version of the gateway, which did not work out what its requests can cost, ' +
        'and the budgets of this key need that; send the file again',
      { param: 'input_file_id' },
    )
  if (isPriced || unknownPrice === 'reserve') return Math.min(reserveNanoUsd * requests, budgetNanoUsdMax)
  if (unknownPrice === 'allow') return leastNanoUsd
  throw new GatewayError(
    'invalid-request',
    `the price of batches of the model '${name}' is not known, which the budgets of this key do not allow; the ` +
      'operator can set `input_cost_per_token_batches` and `output_cost_per_token_batches` of it, or ' +
      '`budget_unknown_price`',
    { param: 'input_file_id' },
  )
}

/**
 * Sets `charge`: what each budget has reserved is charged there, in the period of then, the cost in place of the
 * bound; budgets that came since count it in their present period. A cost that is not known is what was reserved. The
 * charge and what comes back are one: in the row, and here.
 */
export function chargeBatch(
  { limiter, clock, limits }: BatchParts,
  settlement: Settlement,
  { reserved, costs }: EndedBatch,
): void {
  const { call, costNanoUsd } = settlement
  const costOf = (model: string | null) => (model === null ? costNanoUsd : (costs.get(model) ?? null))
  const nanoUsdOf = (cost: bigint | null, otherwise: number) => (cost === null ? otherwise : Number(cost))
  const amounts: ChargedAmount[] = reserved.map(({ scope, startMs, model, nanoUsd }) => ({
    scope,
    startMs,
    nanoUsd: nanoUsdOf(costOf(model), nanoUsd),
    returnedNanoUsd: nanoUsd,
  }))
  const known = new Set(reserved.map(one => one.scope))
  const ofCaller = limits.of(call.caller, call.models.settings)
  const add = (plan: BudgetPlan | undefined, model: string | null) => {
    for (const { id, budget } of plan?.at(clock.epochMs()).scopes ?? [])
      if (!known.has(id)) amounts.push({ scope: id, startMs: budget!.startMs, nanoUsd: nanoUsdOf(costOf(model), 0) })
  }
  add(ofCaller.ofModel('', call.models).plan, null)
  for (const model of costs.keys()) add(ofCaller.ofModel(model, call.models).modelPlan, model)
  if (amounts.length === 0) return
  const bound = reserved.find(one => one.model === null)?.nanoUsd ?? 0
  const nanoUsd = nanoUsdOf(costNanoUsd, bound)
  settlement.charge = { nanoUsd, list: chargeList(limits.spendWriter, amounts, nanoUsd) }
  limiter.charge(amounts, reserved)
}
