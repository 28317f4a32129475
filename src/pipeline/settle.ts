/** The one settlement of every call: usage, cost, and what all policies are told. */
import type { Call, Settlement } from '../core/call.ts'
import type { Prices, Usage } from '../core/usage.ts'
import type { CallPolicies } from './admission.ts'
import type { Settle } from './call-control.ts'
import type { CallParts } from './call-record.ts'
import type { RespondParts } from './respond.ts'
import { completeUsage } from './usage.ts'

/** What calls are settled and answered with. */
export interface SettleParts extends CallParts, RespondParts {
  readonly policies: CallPolicies
  /** Nano-dollars; null = not known. */
  cost(usage: Usage, prices: Prices | null, atMs: number): bigint | null
}

/** Ends calls: `CallControl` sees to it that each is ended once. */
export function settler(parts: SettleParts): Settle {
  return (call, outcome, status, error) => {
    call.upload?.close()
    completeUsage(call)
    call.costNanoUsd = costOf(parts, call)
    const durationMs = parts.clock.monotonicMs() - call.startedMs
    tell(parts, { call, outcome, status, error, costNanoUsd: call.costNanoUsd, durationMs })
    call.namedFiles?.release()
    call.body?.release()
  }
}

/** Tells every policy of an end, the last policy first: it records. */
export function tell({ policies }: Pick<SettleParts, 'policies'>, settlement: Settlement): void {
  for (const settled of policies.settled) settled(settlement)
}

function costOf({ cost }: SettleParts, { usage, deployment, startedAtMs }: Call): bigint | null {
  return usage && deployment ? cost(usage, deployment.prices, startedAtMs) : null
}
