/** What each request that was sent to upstreams for a call used, and all of them together (docs/decisions/0012). */
import type { Attempt, Call, RunningCall } from '../../core/call.ts'
import { GatewayError } from '../../core/errors.ts'
import { addUsage } from '../../core/usage/usage-sum.ts'
import type { Usage, UsageSource } from '../../core/usage/usage.ts'
import { attemptAfter } from '../attempt-record.ts'
import { withServed } from './served-tier.ts'
import { estimatedUsage, noteUnusableAnswer, plausibleUsage, sentInput } from './usage-estimate.ts'

/** Records the upstream's report of the present request; undefined = none yet. */
export function recordUsage(call: Call, usage: Usage | undefined, answeredModel?: string): void {
  const attempt = call.attempt! as Attempt
  if (answeredModel !== undefined) attempt.answeredModel = answeredModel
  if (usage) recordReport(attempt, usage)
}

function recordReport(attempt: Attempt, usage: Usage): void {
  attempt.usage = usage
  attempt.usageSource = 'upstream'
}

/** A whole answer that cannot be used, and why: what it reports is billed, else its text is. */
export function recordUnusableAnswer(call: Call, body: Uint8Array, thrown: unknown): void {
  if (thrown instanceof GatewayError) recordUsage(call, thrown.usage)
  noteUnusableAnswer(call, body)
}

/**
 * The present request is over, and another may follow: what it used is owed. `isSent` = the upstream was given some of
 * it; else nothing is owed.
 */
export function endRequest(call: RunningCall, isSent: boolean): void {
  const { attempt } = call
  if (!attempt) return
  oweRequest(call, isSent)
  call.attempt = attemptAfter(attempt)
}

/** Adds the present request, which is over, to what is owed: with its usage, reported and plausible, else estimated. */
export function oweRequest(call: RunningCall, isSent: boolean): void {
  const { attempt } = call
  if (!attempt) return
  attempt.isSent = isSent
  completeUsage(call, attempt)
  if (!isOwed(attempt)) return
  if (attempt.usage) attempt.usage = withRouted(attempt, withServed(call, attempt, attempt.usage))
  attempt.countedTokens = tokensOf(call, attempt)
  call.owed = [...call.owed, attempt]
}

/** With the model that a router of the vendor chose. */
function withRouted({ deployment, answeredModel, relay }: Attempt, usage: Usage): Usage {
  if (!deployment?.prices?.isFee) return usage
  const routedModel = answeredModel ?? relay?.answeredModel
  return routedModel ? { ...usage, routedModel } : usage
}

function completeUsage(call: Call, attempt: Attempt): void {
  const reported = attempt.usage ?? attempt.relay?.usage
  if (!reported) {
    if (!isOwed(attempt)) return
    attempt.usage = estimatedUsage(call, attempt)
    if (attempt.usage) attempt.usageSource = 'estimated'
    return
  }
  if (!attempt.usage) recordReport(attempt, reported)
  if (attempt.usageSource === 'upstream') compareUsage(call, attempt, reported)
}

function compareUsage(call: Call, attempt: Attempt, reported: Usage): void {
  const usage = plausibleUsage(call, attempt, reported)
  if (usage === reported) return
  const keepsInput = reported.inputTokens > 0 && usage.inputTokens === reported.inputTokens
  const keepsOutput = reported.outputTokens > 0 && usage.outputTokens === reported.outputTokens
  attempt.usage = usage
  attempt.usageSource = keepsInput || keepsOutput ? 'mixed' : 'estimated'
}

/** The request was sent, and its upstream has not refused it: a status outside of 2xx says nothing was done. */
function isOwed({ isSent, status, usage }: Attempt): boolean {
  return usage !== undefined || (isSent && (status === 0 || isSuccess(status)))
}

/** 2xx. */
export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300
}

/** For the limits, which count at least the input of all that was sent, also where the ledger knows no usage. */
function tokensOf(call: Call, { usage, usageSource }: Attempt): number {
  if (call.operation === 'count-tokens') return 0
  const used = usage ? usage.inputTokens + usage.outputTokens : 0
  return usageSource === 'upstream' ? used : Math.max(used, sentInput(call))
}

/** What all requests of a call used together, and who counted. */
interface UsedTogether {
  readonly usage: Usage | undefined
  readonly usageSource: UsageSource
  /** What it counts against token limits. */
  readonly countedTokens: number
}

const nothingUsed: UsedTogether = { usage: undefined, usageSource: 'none', countedTokens: 0 }

/** The sum of what is owed; of one request it is that request. */
export function usedTogether(owed: readonly Attempt[]): UsedTogether {
  const [first, ...others] = owed
  if (!first) return nothingUsed
  if (others.length === 0) return first
  let { usage, usageSource, countedTokens } = first
  for (const one of others) {
    if (one.usage) usage = addUsage(usage, one.usage)
    if (one.usageSource !== usageSource) usageSource = 'mixed'
    countedTokens += one.countedTokens
  }
  return { usage, usageSource, countedTokens }
}
