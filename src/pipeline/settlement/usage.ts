/** The usage of a call: the sum of all requests that were sent to upstreams for it (docs/decisions/0012). */
import type { Call, SentRequest } from '../../core/call.ts'
import { GatewayError } from '../../core/errors.ts'
import type { StreamRelay } from '../../core/format.ts'
import { withServed } from './served-tier.ts'
import { addUsage } from '../../core/usage/usage-sum.ts'
import type { Usage, UsageSource } from '../../core/usage/usage.ts'
import { estimatedUsage, noteUnusableAnswer, plausibleUsage, sentInput } from './usage-estimate.ts'

const nothingBefore: readonly SentRequest[] = []

/** The current request is answered by a stream: the relay knows how far it got, and what the upstream reports. */
export function recordProgress(call: Call, relay: StreamRelay): void {
  call.progress = relay
}

/** Records the upstream's report of the current request; undefined = none yet. */
export function recordUsage(call: Call, usage: Usage | undefined): void {
  if (!usage) return
  call.usage = usage
  call.usageSource = 'upstream'
}

/** A whole answer that cannot be used, and why: what it reports is billed, else its text is. */
export function recordUnusableAnswer(call: Call, body: Uint8Array, thrown: unknown): void {
  if (thrown instanceof GatewayError) recordUsage(call, thrown.usage)
  noteUnusableAnswer(call, body)
}

/**
 * The current request is over, and another may follow: what it used is kept, and the call has a clean state for the
 * next one. Without `sent` the upstream was given nothing of it, and is owed nothing.
 */
export function endRequest(call: Call, { sent }: { readonly sent: boolean }): void {
  call.sent = sent
  const { deployment } = call
  completeRequest(call)
  if (deployment && isOwed(call))
    call.sentBefore = [
      ...call.sentBefore,
      {
        deployment,
        model: call.attemptedModel,
        usage: call.usage,
        usageSource: call.usageSource,
        countedTokens: tokensOf(call),
      },
    ]
  call.sent = false
  call.sentBody = undefined
  call.upstreamStatus = 0
  call.answeredTier = undefined
  call.usage = undefined
  call.usageSource = 'none'
  call.progress = undefined
  call.answerCharacters = -1
}

/** Fills in the usage of the current request: reported and plausible, else estimated. */
export function completeRequest(call: Call): void {
  completeUsage(call)
  if (call.usage) call.usage = withServed(call, call.usage)
}

function completeUsage(call: Call): void {
  if (!call.usage) recordUsage(call, call.progress?.usage)
  if (call.usage) return compareUsage(call, call.usage)
  if (!isOwed(call)) return
  call.usage = estimatedUsage(call)
  if (call.usage) call.usageSource = 'estimated'
}

function compareUsage(call: Call, reported: Usage): void {
  if (call.usageSource !== 'upstream') return
  const usage = plausibleUsage(call, reported)
  if (usage === reported) return
  const keepsInput = reported.inputTokens > 0 && usage.inputTokens === reported.inputTokens
  const keepsOutput = reported.outputTokens > 0 && usage.outputTokens === reported.outputTokens
  call.usage = usage
  call.usageSource = keepsInput || keepsOutput ? 'mixed' : 'estimated'
}

/** The current request was sent, and its upstream has not refused it: a status outside of 2xx says nothing was done. */
export function isOwed({ sent, upstreamStatus, usage }: Call): boolean {
  return usage !== undefined || (sent && (upstreamStatus === 0 || isSuccess(upstreamStatus)))
}

/** 2xx. */
export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300
}

/**
 * For the limits, which count at least the input of all that was sent, also where the ledger knows no usage. Before
 * `addEarlierUsage`.
 */
export function countedTokens(call: Call): number {
  let sum = isOwed(call) ? tokensOf(call) : 0
  for (const { countedTokens } of call.sentBefore) sum += countedTokens
  return sum
}

/** Of the current request, which is owed. */
export function tokensOf(call: Call): number {
  if (call.operation === 'count-tokens') return 0
  const { usage, usageSource } = call
  const used = usage ? usage.inputTokens + usage.outputTokens : 0
  return usageSource === 'upstream' ? used : Math.max(used, sentInput(call))
}

/** The call's usage becomes that of all its requests. */
export function addEarlierUsage(call: Call): void {
  const { sentBefore } = call
  if (sentBefore.length === 0) return
  const sources = new Set<UsageSource>(isOwed(call) ? [call.usageSource] : [])
  let sum = call.usage
  for (const { usage, usageSource } of sentBefore) {
    sources.add(usageSource)
    if (usage) sum = addUsage(sum, usage)
  }
  call.usage = sum
  call.usageSource = sources.size === 1 ? sources.values().next().value! : 'mixed'
  call.sentBefore = nothingBefore
}
