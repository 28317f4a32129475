/**
 * `usage` of Anthropic's Messages (platform.claude.com/docs/en/api/messages, "Usage", 2026-11). Used by the format and
 * the provider. Anthropic counts cached input apart, the hub's input includes it.
 */
import { isObject, objectsOf } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { unbilledTier } from './usage.ts'
import type { ModelUsage, Usage } from './usage.ts'
import { countOf, firstCount, membersOf, setCount, setServed } from './usage-fields.ts'

/**
 * Undefined when the counts of input or output are missing or not believable: such a report is worth no more than none.
 *
 * `iterations`: compactions are of the same model and not in the totals; an advisor and a fallback have a `model` of
 * their own, and the totals have no advisor.
 */
export function readAnthropicUsage(value: unknown): Usage | undefined {
  if (!isObject(value)) return undefined
  const usage = messageTokens(value)
  if (!usage) return undefined
  const iterations = objectsOf(value.iterations)
  if (iterations.length > 0) addIterations(usage, iterations)
  const tools = membersOf(value.server_tool_use)
  setCount(usage, 'webSearches', firstCount(tools.web_search_requests))
  const { service_tier: serviceTier, speed, inference_geo: region } = value
  const isRepriced = hasRedeemed(value) || hasDeclined(iterations)
  setServed(usage, { serviceTier: isRepriced ? repricedTier : serviceTier, speed, region })
  return usage
}

/** Of a whole message, or of one iteration. */
function messageTokens(value: Json): Usage | undefined {
  const input = countOf(value.input_tokens)
  const output = countOf(value.output_tokens)
  if (input === undefined || output === undefined) return undefined
  const read = firstCount(value.cache_read_input_tokens)
  const created = membersOf(value.cache_creation)
  const oneHour = firstCount(created.ephemeral_1h_input_tokens)
  const written = firstCount(value.cache_creation_input_tokens, oneHour + firstCount(created.ephemeral_5m_input_tokens))
  const usage: Usage = { inputTokens: input + read + written, outputTokens: output }
  setCount(usage, 'cachedInputTokens', read)
  setCount(usage, 'cacheWriteTokens', written)
  setCount(usage, 'cacheWriteOneHourTokens', oneHour, written)
  setCount(usage, 'reasoningTokens', firstCount(membersOf(value.output_tokens_details).thinking_tokens), output)
  return usage
}

/**
 * What all iterations together used, where that is more than the totals, and which of it is of other models. With an
 * advisor the totals have the input of the first iteration alone ("Advisor tool", "Usage and billing", 2026-11).
 */
function addIterations(usage: Usage, iterations: readonly Json[]): void {
  const others: ModelUsage[] = []
  const own: Usage = { inputTokens: 0, outputTokens: 0 }
  const ofAdvisors: Usage = { inputTokens: 0, outputTokens: 0 }
  const compacted: Usage = { inputTokens: 0, outputTokens: 0 }
  const isFallback = iterations.some(({ type }) => type === 'fallback_message')
  for (const iteration of iterations) {
    const tokens = messageTokens(iteration)
    if (!tokens) continue
    const { type } = iteration
    if (type === 'message') addTokens(own, tokens)
    else if (type === 'compaction') addTokens(compacted, tokens)
    else {
      others.push({ model: typeof iteration.model === 'string' ? iteration.model : '', usage: tokens })
      if (type === 'advisor_message') addTokens(ofAdvisors, tokens)
    }
  }
  // The totals of a fallback are those of the model that answered; what declined before it is not in them.
  if (!isFallback) raiseTokens(usage, own)
  addTokens(usage, compacted)
  addTokens(usage, ofAdvisors)
  if (others.length > 0) usage.otherModels = others
}

/**
 * A fallback answered after another model had declined ("Refusals and fallback"): the totals are those of the fallback.
 * Whether an attempt that declined is billed depends on a category that is not reported, and the cache is repriced.
 */
function hasDeclined(iterations: readonly Json[]): boolean {
  const served = iterations.some(({ type }) => type === 'fallback_message')
  return served && iterations.some(one => one.type === 'message')
}

const tokenNames = [
  'inputTokens',
  'outputTokens',
  'cachedInputTokens',
  'cacheWriteTokens',
  'cacheWriteOneHourTokens',
  'reasoningTokens',
] as const

function addTokens(usage: Usage, more: Usage): void {
  for (const name of tokenNames) if (more[name] !== undefined) usage[name] = (usage[name] ?? 0) + more[name]
}

function raiseTokens(usage: Usage, least: Usage): void {
  for (const name of tokenNames) if ((least[name] ?? 0) > (usage[name] ?? 0)) usage[name] = least[name]!
}

/** A word that no price list has: the vendor's bill does not follow from the counts. */
const repricedTier = 'repriced'

/** `fallback_credit` of a call that redeemed it ("Fallback credit"): billed as if more had been read from the cache. */
function hasRedeemed(value: Json): boolean {
  return membersOf(membersOf(value.fallback_credit).status).type === 'redeemed'
}

/**
 * The reports of a stream: each count replaces the one before. They are cumulative ("Streaming messages", 2026-11), so
 * that a zero behind a count says that the last event does not report it; hosts with this dialect fill it in.
 */
export function mergeAnthropicUsage(before: Json, report: unknown): Json {
  if (!isObject(report)) return before
  const merged = { ...before }
  for (const name in report) if (!isUnreported(report[name], before[name])) merged[name] = report[name]
  return merged
}

function isUnreported(count: unknown, before: unknown): boolean {
  if (count === null || count === undefined) return true
  if (isObject(count) && isObject(before)) return Object.values(count).every(one => one === 0)
  return count === 0 && typeof before === 'number'
}

/** true = a block of the vendor's tool that runs code, for which a container may be charged. */
export function runsCode(block: Json): boolean {
  return block.type === 'server_tool_use' && typeof block.name === 'string' && /code_execution$/.test(block.name)
}

/** What is known of a message beside its usage. */
export interface MessageFacts {
  /** It has a block of the tool that runs code. */
  readonly ranCode: boolean
  /** It has any content. */
  readonly hasContent: boolean
  readonly stopReason: unknown
  readonly stopDetails: unknown
}

/** Categories of refusals that are billed although nothing was written ("How refusals are billed", 2026-09-24). */
const billedRefusals: ReadonlySet<unknown> = new Set(['bio', 'frontier_llm', 'reasoning_extraction'])

/**
 * The usage of a message that ended so. A container is counted for code that ran: beside searches of the web it is free
 * ("Code execution tool"). A refusal before any output is not billed, but for some categories.
 */
export function withFacts(usage: Usage | undefined, facts: MessageFacts): Usage | undefined {
  if (!usage) return undefined
  const isUnbilled =
    facts.stopReason === 'refusal' && !facts.hasContent && !billedRefusals.has(membersOf(facts.stopDetails).category)
  if (isUnbilled) return { ...usage, served: { ...usage.served, serviceTier: unbilledTier } }
  return facts.ranCode && !usage.webSearches ? { ...usage, codeSessions: 1 } : usage
}
