/** Decides what a call is charged in its budgets, before the ledger has its row. */
import type { Settlement } from '../core/call.ts'
import type { BudgetAmount, Limiter, LimitScope } from '../core/tenancy/limits.ts'
import type { Policy } from '../core/policy.ts'
import type { Clock } from '../lib/clock.ts'
import type { CallLimits } from './limits/call-limits.ts'
import { chargeByModel } from './limits/reserve-model.ts'
import { chargeBatch } from './limits/reserve-batch.ts'

interface ChargeParts {
  readonly limiter: Limiter
  /** That of all replicas, by which periods begin. */
  readonly clock: Clock
  readonly limits: CallLimits
}

/**
 * The cost; what was reserved where it is not known and something was sent; nothing else. What no reservation was made
 * for (a budget came meanwhile) is counted at once: it can exceed a budget.
 */
export function chargeBudgets(parts: ChargeParts): Policy {
  const { limiter, clock, limits } = parts
  return {
    name: 'charge-budgets',
    stage: 'body',
    dryRun: false,
    settled(settlement) {
      const { call } = settlement
      const { reserved, byModel } = call.taken
      const { batchEnd } = settlement
      if (byModel) {
        const nanoUsd = chargeOf(settlement, reserved?.nanoUsd ?? 0)
        settlement.charge = chargeByModel(settlement, limits.spendWriter, {
          nanoUsd,
          scopes: reserved?.budgets.scopes ?? [],
        })
        return
      }
      if (reserved) {
        settlement.charge = { nanoUsd: chargeOf(settlement, reserved.nanoUsd), list: reserved.budgets.list }
        return
      }
      if (batchEnd) return chargeBatch(parts, settlement, batchEnd)
      const nanoUsd = Number(settlement.costNanoUsd ?? 0n)
      const ofCaller = nanoUsd > 0 ? limits.of(call.caller, call.models.settings) : undefined
      const plan = ofCaller?.ofModel(call.model, call.models).plan
      if (!plan) return
      const { scopes, list } = plan.at(clock.epochMs())
      settlement.charge = { nanoUsd, list }
      limiter.charge(amountsOf(scopes, nanoUsd))
    },
  }
}

/** A function of its own: what a closure captures is allocated whenever its function is entered. */
function amountsOf(scopes: readonly LimitScope[], nanoUsd: number): readonly BudgetAmount[] {
  return scopes.map(({ id, budget }) => ({ scope: id, startMs: budget!.startMs, nanoUsd }))
}

function chargeOf({ costNanoUsd, isOwed }: Settlement, reservedNanoUsd: number): number {
  if (costNanoUsd !== null) return Number(costNanoUsd)
  return isOwed ? reservedNanoUsd : 0
}
