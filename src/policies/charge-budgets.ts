/** Decides what a call is charged in its budgets, before the ledger has its row. */
import type { Settlement } from '../core/call.ts'
import type { Limiter } from '../core/limits.ts'
import type { Policy } from '../core/policy.ts'
import type { Clock } from '../lib/clock.ts'
import type { CallLimits } from './limits/call-limits.ts'

interface ChargeParts {
  readonly limiter: Limiter
  readonly clock: Clock
  readonly limits: Pick<CallLimits, 'of'>
}

/**
 * The cost; what was reserved where it is not known and something was sent; nothing else. What no reservation was made
 * for (a batch, whose cost is known at its end) is counted at once: it can exceed a budget.
 */
export function chargeBudgets({ limiter, clock, limits }: ChargeParts): Policy {
  return {
    name: 'charge-budgets',
    stage: 'body',
    dryRun: false,
    settled(settlement) {
      const { call } = settlement
      const { reserved } = call
      if (reserved) {
        call.charge = { nanoUsd: chargeOf(settlement, reserved.nanoUsd), list: reserved.budgets.list }
        return
      }
      const nanoUsd = Number(settlement.costNanoUsd ?? 0n)
      const ofCaller = nanoUsd > 0 ? limits.of(call.caller, call.models.settings) : undefined
      const plan = ofCaller?.ofModel(call.model, call.models).plan
      if (!plan) return
      const budgets = plan.at(clock.epochMs())
      call.charge = { nanoUsd, list: budgets.list }
      limiter.charge(budgets.scopes, nanoUsd)
    },
  }
}

function chargeOf({ costNanoUsd, isOwed }: Settlement, reservedNanoUsd: number): number {
  if (costNanoUsd !== null) return Number(costNanoUsd)
  return isOwed ? reservedNanoUsd : 0
}
