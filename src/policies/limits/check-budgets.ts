/** Whether budgets have room for a call, before the operator pays models that judge it. */
import type { BudgetCheck } from '../../core/tenancy/budget-check.ts'
import type { Call } from '../../core/call.ts'
import type { Limiter } from '../../core/tenancy/limits.ts'
import type { CurrentConfiguration } from '../../core/model-directory.ts'
import type { Clock } from '../../lib/clock.ts'
import type { CallLimits, LimitedCall } from './call-limits.ts'
import { limitRefusal } from './refusal.ts'
import { leftIn, measureWhereTight } from './closer-bound.ts'
import { leastAmount, leastNanoUsd } from './reserve-budgets.ts'

interface CheckParts {
  readonly limiter: Limiter
  /** That of all replicas, by which periods begin. */
  readonly clock: Clock
  readonly limits: CallLimits
  readonly current: CurrentConfiguration
}

/** Nano-dollars, where so many are left. */
type AmountOf = (left: number) => number | Promise<number>

/** The checks over these limits. */
export function createBudgetCheck({ limiter, clock, limits, current }: CheckParts): BudgetCheck {
  const check = async (of: LimitedCall, headers: Record<string, string>, amountOf: AmountOf): Promise<void> => {
    const { plan } = await limits.ofCall(of)
    if (!plan) return
    const { scopes } = plan.at(clock.epochMs())
    await limiter.prepare(scopes)
    const nanoUsd = await amountOf(leftIn(limiter, scopes))
    if (nanoUsd === 0) return
    const verdict = await limiter.take(scopes, 0, nanoUsd)
    if (!verdict.allowed) throw limitRefusal(headers, verdict)
    verdict.release(0)
  }
  return {
    ofCall: (call: Call) =>
      check(call, call.responseHeaders, async left => {
        await measureWhereTight(call, left)
        return leastAmount(call)
      }),
    ofCaller: caller =>
      check({ caller, tags: [], endUser: '', model: '', models: current.models.of(caller) }, {}, () => leastNanoUsd),
  }
}
