/** The settlement of every call: usage, cost, and the report to all policies. */
import type { Attempt, Call, EndedBatch, ModelUse, RunningCall, Settlement } from '../../core/call.ts'
import type { Deployment } from '../../core/deployment.ts'
import type { EndedCall } from '../../core/endpoint.ts'
import type { GatewayError } from '../../core/errors.ts'
import type { Outcome } from '../../core/hub/operation.ts'
import type { Client } from '../../core/request.ts'
import type { ToolUse } from '../../core/tools.ts'
import { unknownCost } from '../../core/usage/request-cost.ts'
import type { RequestCost, RequestTimes } from '../../core/usage/request-cost.ts'
import type { Usage } from '../../core/usage/usage.ts'
import { costUnder, termsOf, termsText } from '../../pricing/price-terms.ts'
import { requestCost, usesAnything } from '../../pricing/request-cost.ts'
import type { ListedPrices } from '../../pricing/request-cost.ts'
import { AttemptRecord } from '../attempt-record.ts'
import type { CallPolicies } from '../admission/admission.ts'
import { CallRecord } from '../call-record.ts'
import type { CallParts } from '../call-record.ts'
import { usedTogether } from './usage.ts'

/**
 * Called once with the end of a call. `status` is what the client got: 200 also for a stream that broke off. `error` is
 * undefined after a success without any failure.
 */
export type Settle = (call: RunningCall, outcome: Outcome, status: number, error: GatewayError | undefined) => void

/** What calls are settled with. */
export interface SettleParts extends CallParts {
  readonly policies: CallPolicies
  /** The price list, for other models that an upstream used in a request. */
  readonly listedPrices: ListedPrices
  /** Called for each request to an upstream that used something and has no known price. */
  reportUnpriced(usage: Usage, deployment: Deployment): void
}

const freeCost: RequestCost = { nanoUsd: 0n, source: 'prices' }
const nothingOwed: RequestCost = { nanoUsd: 0n, source: 'none' }

const toolCost = ({ isSent, costNanoUsd }: ToolUse): RequestCost => ({
  nanoUsd: isSent ? costNanoUsd : 0n,
  source: 'prices',
})

/** Ends calls: `CallControl` sees to it that each is ended once. */
export function settler(parts: SettleParts): Settle {
  return (call, outcome, status, error) => {
    call.upload?.close()
    call.releaseBody?.()
    const { owed } = call
    const durationMs = parts.clock.monotonicMs() - call.startedMs
    const times = { atMs: call.startedAtMs, endedAtMs: call.startedAtMs + durationMs }
    const { tool } = call
    const { nanoUsd, source } = tool ? toolCost(tool) : costOfCall(parts, call, outcome, times)
    const isOwed = tool ? tool.isSent : owed.length > 0
    // What nothing is owed for has no fee either, and the operator's own price of a tool no terms of a vendor.
    const charged = isOwed && !tool ? chargedFor(call, nanoUsd) : { nanoUsd, priceTerms: '' }
    if (isOwed) call.client.billed?.()
    const { usage, usageSource, countedTokens } = usedTogether(owed)
    report(parts, call, {
      call,
      outcome,
      status,
      error,
      durationMs,
      isOwed,
      usage,
      usageSource,
      countedTokens,
      listCostNanoUsd: nanoUsd,
      priceTerms: charged.priceTerms,
      costNanoUsd: charged.nanoUsd,
      costSource: source,
      callersCost: call.clientCredential && callersCostOf(parts, owed, times),
      usedByModel: call.taken.byModel ? usedByModel(parts, call, times, charged.nanoUsd) : undefined,
      batchEnd: undefined,
      charge: undefined,
      ownUses: undefined,
    })
  }
}

/** An answer without an upstream costs nothing, with or without a price; neither does a failure that none bills. */
function costOfCall(parts: SettleParts, { owed, progress }: Call, outcome: Outcome, times: RequestTimes): RequestCost {
  if (outcome === 'success' && progress.attempts === 0) return freeCost
  return outcome !== 'success' && owed.length === 0 ? nothingOwed : costOf(parts, owed, times)
}

/** What the caller is charged, and the terms that made it of what the vendor charges. */
interface Charged {
  readonly nanoUsd: bigint | null
  /** As the ledger keeps them; empty = none. */
  readonly priceTerms: string
}

/** What the caller is charged for what the vendor charges. An answer without an upstream has no terms. */
function chargedFor(call: Call, listNanoUsd: bigint | null): Charged {
  const isCallers = call.clientCredential !== undefined && call.owed.every(one => one.isCallers)
  const terms = listNanoUsd === null || call.progress.attempts === 0 || isCallers ? [] : termsOf(call)
  if (listNanoUsd === null || terms.length === 0) return { nanoUsd: listNanoUsd, priceTerms: '' }
  return { nanoUsd: costUnder(terms, listNanoUsd), priceTerms: termsText(terms) }
}

/** Reports an end to every policy, the last policy first: it records. */
function report({ policies }: SettleParts, call: RunningCall, settlement: Settlement): void {
  call.settlement = settlement
  for (const policy of policies.settled) policy.settled(settlement)
}

function requestCostOf(parts: SettleParts, attempt: Attempt, times: RequestTimes): RequestCost {
  const { usage, deployment, isCallers } = attempt
  if (isCallers) return freeCost
  if (!usage || !deployment) return unknownCost
  const cost = requestCost(usage, deployment, times, parts.listedPrices)
  if (cost.nanoUsd === null && usesAnything(usage)) parts.reportUnpriced(usage, deployment)
  return cost
}

/** What the vendors charge the caller, as far as their prices are known. */
function callersCostOf(
  parts: SettleParts,
  owed: readonly Attempt[],
  { atMs, endedAtMs }: RequestTimes,
): Settlement['callersCost'] {
  const own = owed.filter(one => one.isCallers)
  if (own.length === 0) return undefined
  let nanoUsd: bigint | null = 0n
  for (const { usage, deployment } of own) {
    const cost: bigint | null =
      usage && deployment ? requestCost(usage, deployment, { atMs, endedAtMs }, parts.listedPrices).nanoUsd : null
    nanoUsd = cost === null || nanoUsd === null ? null : nanoUsd + cost
  }
  return { nanoUsd, isAll: own.length === owed.length }
}

/** Every request at the prices of its own deployment; null = one of them has no known price or usage. */
function costOf(parts: SettleParts, owed: readonly Attempt[], times: RequestTimes): RequestCost {
  let total: RequestCost | undefined
  for (const one of owed) total = addCosts(total, requestCostOf(parts, one, times))
  return total ?? unknownCost
}

/**
 * What each model used, with the terms of the call: what is fixed for the call counts with the model that was asked
 * last. `total` = what the caller is charged.
 */
function usedByModel(
  parts: SettleParts,
  call: Call,
  times: RequestTimes,
  total: bigint | null,
): ReadonlyMap<string, ModelUse> {
  const used = new Map<string, { tokens: number; list: bigint | null }>()
  for (const one of call.owed) {
    const { nanoUsd } = requestCostOf(parts, one, times)
    const before = used.get(one.model) ?? { tokens: 0, list: 0n }
    used.set(one.model, {
      tokens: before.tokens + one.countedTokens,
      list: before.list === null || nanoUsd === null ? null : before.list + nanoUsd,
    })
  }
  const terms = termsOf(call).map(one => ({ ...one, fixedNanoUsd: 0n }))
  const charged = (list: bigint | null) => (list === null ? null : costUnder(terms, list))
  const last = [...used.keys()].at(-1)
  let others: bigint | null = 0n
  return new Map(
    [...used].map(([model, { tokens, list }]) => {
      if (model === last && total !== null && others !== null) return [model, { tokens, costNanoUsd: total - others }]
      const costNanoUsd = charged(list)
      others = others === null || costNanoUsd === null ? null : others + costNanoUsd
      return [model, { tokens, costNanoUsd }]
    }),
  )
}

function addCosts(before: RequestCost | undefined, more: RequestCost): RequestCost {
  if (!before) return more
  if (before.nanoUsd === null || more.nanoUsd === null) return unknownCost
  return {
    nanoUsd: before.nanoUsd + more.nanoUsd,
    source: before.source === more.source ? more.source : 'mixed',
  }
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
      options: {},
      announcedBytes: 0,
      models: parts.current.models.of(caller),
      startedAtMs,
    })
    call.model = model
    call.tags = ended.tags
    call.attempt = new AttemptRecord(deployment, '')
    call.progress.attempts = 1
    const charged = chargedFor(call, costNanoUsd)
    const { outcome, status, error, endedAtMs } = ended
    report(parts, call, {
      call,
      outcome,
      status,
      error,
      durationMs: Math.max(endedAtMs - startedAtMs, 0),
      isOwed: true,
      usage,
      usageSource: usage ? 'upstream' : 'none',
      countedTokens: 0,
      listCostNanoUsd: costNanoUsd,
      priceTerms: charged.priceTerms,
      costNanoUsd: charged.nanoUsd,
      costSource: costNanoUsd === null ? 'none' : 'prices',
      callersCost: undefined,
      usedByModel: undefined,
      batchEnd: { ...ended.batch, costs: chargedCosts(call, charged, ended.batch.costs) },
      charge: undefined,
      ownUses: undefined,
    })
  }
}

/** What the caller is charged for what the vendor charges for each model. */
function chargedCosts(
  call: Call,
  { priceTerms }: Charged,
  costs: EndedBatch['costs'],
): ReadonlyMap<string, bigint | null> {
  const terms = priceTerms === '' ? [] : termsOf(call)
  if (terms.length === 0) return costs
  return new Map([...costs].map(([model, cost]) => [model, cost === null ? null : costUnder(terms, cost)]))
}
