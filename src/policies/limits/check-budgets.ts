/** Whether budgets have room for a call, before the operator pays models that judge it. */
import type { BudgetCheck } from '../../core/tenancy/budget-check.ts'
import type { Call } from '../../core/call.ts'
import type { Limiter } from '../../core/tenancy/limits.ts'
import type { CurrentConfiguration } from '../../core/model-directory.ts'
import type { Clock } from '../../lib/clock.ts'
import type { CallLimits, LimitedCall } from './call-limits.ts'
import { refused } from './refusal.ts'
import { leastAmount, leastNanoUsd } from './reserve-budgets.ts'

interface CheckParts {
  readonly limiter: Limiter
  /** That of all replicas, by which periods begin. */
  readonly clock: Clock
  readonly limits: CallLimits
  readonly current: CurrentConfiguration
}

/** The checks over these limits. */
export function createBudgetCheck({ limiter, clock, limits, current }: CheckParts): BudgetCheck {
  const check = async (of: LimitedCall, headers: Record<string, string>, amountOf: () => number): Promise<void> => {
    const { plan } = await limits.ofCall(of)
    const nanoUsd = plan ? amountOf() : 0
    if (!plan || nanoUsd === 0) return
    const { scopes } = plan.at(clock.epochMs())
    await limiter.prepare(scopes)
    const verdict = await limiter.take(scopes, 0, nanoUsd)
    if (!verdict.allowed) throw refused(headers, verdict)
    verdict.release(0)
  }
  return {
    ofCall: (call: Call) => check(call, call.responseHeaders, () => leastAmount(call)),
    ofCaller: caller =>
      check({ caller, tags: [], endUser: '', model: '', models: current.models.of(caller) }, {}, () => leastNanoUsd),
  }
}
