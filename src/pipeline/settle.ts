/** The settlement of every call: usage, cost, and the report to all policies. */
import type { Call, Settlement } from '../core/call.ts'
import type { EndedCall } from '../core/endpoint.ts'
import type { Client } from '../core/request.ts'
import type { Prices, Usage } from '../core/usage.ts'
import type { CallPolicies } from './admission.ts'
import type { Settle } from './call-control.ts'
import { CallRecord } from './call-record.ts'
import type { CallParts } from './call-record.ts'
import type { RespondParts } from './respond.ts'
import { addEarlierUsage, completeRequest, countedTokens, isOwed, recordUsage } from './usage.ts'

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
    call.releaseBody?.()
    completeRequest(call)
    call.countedTokens = countedTokens(call)
    // An answer without an upstream costs nothing, with or without a price.
    const isOwnAnswer = outcome === 'success' && call.attempts === 0
    call.costNanoUsd = isOwnAnswer ? 0n : costOf(parts, call)
    addEarlierUsage(call)
    const durationMs = parts.clock.monotonicMs() - call.startedMs
    report(parts, { call, outcome, status, error, costNanoUsd: call.costNanoUsd, durationMs })
  }
}

/** Reports an end to every policy, the last policy first: it records. */
function report({ policies }: Pick<SettleParts, 'policies'>, settlement: Settlement): void {
  for (const policy of policies.settled) policy.settled(settlement)
}

/** Every request at the prices of its own deployment; null = one of them has no known price or usage. */
function costOf({ cost }: SettleParts, call: Call): bigint | null {
  const { usage, deployment, startedAtMs, sentBefore } = call
  const last = usage && deployment ? cost(usage, deployment.prices, startedAtMs) : null
  if (sentBefore.length === 0) return last
  let total = isOwed(call) ? last : 0n
  for (const one of sentBefore) {
    const more = one.usage ? cost(one.usage, one.deployment.prices, startedAtMs) : null
    total = total === null || more === null ? null : total + more
  }
  return total
}

/** The client of calls that end without one. */
const noClient: Client = { clientAddress: '', left: false, onLeft: () => {} }

/** Binds the parts. See `Services.settleEnded`. */
export function createSettleEnded(parts: SettleParts): (ended: EndedCall) => void {
  return ended => {
    const { id, operation, route, caller, model, deployment, startedAtMs, usage, costNanoUsd } = ended
    const call = new CallRecord(parts, {
      id,
      operation,
      route,
      caller,
      client: noClient,
      userAgent: '',
      clientAddress: '',
      format: undefined,
      asked: {},
      announcedBytes: 0,
      models: parts.current.models,
      startedAtMs,
    })
    call.model = model
    call.deployment = deployment
    call.attempts = 1
    call.costNanoUsd = costNanoUsd
    recordUsage(call, usage)
    const { outcome, status, error, endedAtMs } = ended
    report(parts, { call, outcome, status, error, costNanoUsd, durationMs: Math.max(endedAtMs - startedAtMs, 0) })
  }
}
