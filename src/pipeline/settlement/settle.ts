/** The settlement of every call: usage, cost, and the report to all policies. */
import type { Call, EndedBatch, ModelUse, Settlement } from '../../core/call.ts'
import type { Deployment } from '../../core/deployment.ts'
import type { EndedCall } from '../../core/endpoint.ts'
import type { GatewayError } from '../../core/errors.ts'
import type { Outcome } from '../../core/hub/operation.ts'
import type { Client } from '../../core/request.ts'
import { unknownCost } from '../../core/usage/request-cost.ts'
import type { RequestCost, RequestTimes } from '../../core/usage/request-cost.ts'
import type { Usage } from '../../core/usage/usage.ts'
import { costUnder, termsOf, termsText } from '../../pricing/price-terms.ts'
import { requestCost, usesAnything } from '../../pricing/request-cost.ts'
import type { ListedPrices } from '../../pricing/request-cost.ts'
import type { CallPolicies } from '../admission/admission.ts'
import { CallRecord } from '../call-record.ts'
import type { CallParts } from '../call-record.ts'
import { addEarlierUsage, completeRequest, countedTokens, isOwed, recordUsage, tokensOf } from './usage.ts'

/**
 * Called once with the end of a call. `status` is what the client got: 200 also for a stream that broke off. `error` is
 * undefined after a success without any failure.
 */
export type Settle = (call: Call, outcome: Outcome, status: number, error: GatewayError | undefined) => void

/** What calls are settled with. */
export interface SettleParts extends CallParts {
  readonly policies: CallPolicies
  /** The price list, for other models that an upstream used in a request. */
  readonly listedPrices: ListedPrices
  /** Called for each request to an upstream that used something and has no known price. */
  reportUnpriced(usage: Usage, deployment: Deployment): void
}

const freeCost: RequestCost = { nanoUsd: 0n, source: 'prices' }

/** Ends calls: `CallControl` sees to it that each is ended once. */
export function settler(parts: SettleParts): Settle {
  return (call, outcome, status, error) => {
    call.upload?.close()
    call.releaseBody?.()
    completeRequest(call)
    call.countedTokens = countedTokens(call)
    // An answer without an upstream costs nothing, with or without a price.
    const isOwnAnswer = outcome === 'success' && call.attempts === 0
    const durationMs = parts.clock.monotonicMs() - call.startedMs
    const times = { atMs: call.startedAtMs, endedAtMs: call.startedAtMs + durationMs }
    const { nanoUsd, source } = isOwnAnswer ? freeCost : costOf(parts, call, times)
    charge(call, nanoUsd)
    call.costSource = source
    if (call.modelReservations) call.usedByModel = usedByModel(parts, call, times)
    const isOwedAny = isOwed(call) || call.sentBefore.length > 0
    if (isOwedAny) call.client.billed?.()
    addEarlierUsage(call)
    report(parts, { call, outcome, status, error, costNanoUsd: call.costNanoUsd, durationMs, isOwed: isOwedAny })
  }
}

/** Sets what the caller is charged for what the vendor charges. An answer without an upstream has no terms. */
function charge(call: Call, listNanoUsd: bigint | null): void {
  call.listCostNanoUsd = listNanoUsd
  call.costNanoUsd = listNanoUsd
  if (listNanoUsd === null || call.attempts === 0 || call.models.settings.priceTerms === null) return
  const terms = termsOf(call)
  if (terms.length === 0) return
  call.costNanoUsd = costUnder(terms, listNanoUsd)
  call.priceTerms = termsText(terms)
}

/** Reports an end to every policy, the last policy first: it records. */
function report({ policies }: Pick<SettleParts, 'policies'>, settlement: Settlement): void {
  for (const policy of policies.settled) policy.settled(settlement)
}

function requestCostOf(parts: SettleParts, usage: Usage, deployment: Deployment, times: RequestTimes): RequestCost {
  const cost = requestCost(usage, deployment, times, parts.listedPrices)
  if (cost.nanoUsd === null && usesAnything(usage)) parts.reportUnpriced(usage, deployment)
  return cost
}

/** Every request at the prices of its own deployment; null = one of them has no known price or usage. */
function costOf(parts: SettleParts, call: Call, times: RequestTimes): RequestCost {
  const { usage, deployment, sentBefore } = call
  const last = usage && deployment ? requestCostOf(parts, usage, deployment, times) : unknownCost
  if (sentBefore.length === 0) return last
  let total = isOwed(call) ? last : undefined
  for (const one of sentBefore)
    total = addCosts(total, one.usage ? requestCostOf(parts, one.usage, one.deployment, times) : unknownCost)
  return total ?? unknownCost
}

/**
 * What each model used, with the terms of the call: what is fixed for the call counts with the model that was asked
 * last.
 */
function usedByModel(parts: SettleParts, call: Call, times: RequestTimes): ReadonlyMap<string, ModelUse> {
  const { sentBefore, usage, deployment, attemptedModel, costNanoUsd: total } = call
  const used = new Map<string, { tokens: number; list: bigint | null }>()
  const add = (model: string, tokens: number, list: bigint | null) => {
    const before = used.get(model) ?? { tokens: 0, list: 0n }
    used.set(model, {
      tokens: before.tokens + tokens,
      list: before.list === null || list === null ? null : before.list + list,
    })
  }
  for (const one of sentBefore)
    add(one.model, one.countedTokens, one.usage ? requestCostOf(parts, one.usage, one.deployment, times).nanoUsd : null)
  if (isOwed(call))
    add(
      attemptedModel,
      tokensOf(call),
      usage && deployment ? requestCostOf(parts, usage, deployment, times).nanoUsd : null,
    )
  const terms = call.priceTerms === '' ? [] : termsOf(call)
  const charged = (list: bigint | null) => (list === null || terms.length === 0 ? list : costUnder(terms, list))
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
    const call: Call = new CallRecord(parts, {
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
    call.deployment = deployment
    call.attempts = 1
    charge(call, costNanoUsd)
    call.costSource = costNanoUsd === null ? 'none' : 'prices'
    call.batchEnd = { ...ended.batch, costs: chargedCosts(call, ended.batch.costs) }
    recordUsage(call, usage)
    const { outcome, status, error, endedAtMs } = ended
    const durationMs = Math.max(endedAtMs - startedAtMs, 0)
    report(parts, { call, outcome, status, error, costNanoUsd: call.costNanoUsd, durationMs, isOwed: true })
  }
}

/** What the caller is charged for what the vendor charges for each model. */
function chargedCosts(call: Call, costs: EndedBatch['costs']): ReadonlyMap<string, bigint | null> {
  const terms = call.priceTerms === '' ? [] : termsOf(call)
  if (terms.length === 0) return costs
  return new Map([...costs].map(([model, cost]) => [model, cost === null ? null : costUnder(terms, cost)]))
}
