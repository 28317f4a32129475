/**
 * Reasoning as Claude's `thinking`: a budget of tokens within the output limit or, since 4.6, an effort (docs:
 * "Extended thinking", "Adaptive thinking", "Effort"). Also used for Claude on Vertex AI and Bedrock.
 */
import type { ChatRequest, ReasoningEffort } from '../../core/hub/chat.ts'
import type { Json } from '../../lib/json/json-values.ts'
import type { ClaudeRule } from '../../../rules/claude.ts'
import { effortOfBudget, fittedEffort } from '../../../rules/efforts.ts'

const budgetTokensMin = 1024
/** What is left for the answer where the limit is large enough, and at least. */
const answerTokens = { usual: 1024, min: 512 }
/** In tokens. */
const budgetOfEffort: Readonly<Record<ReasoningEffort, number>> = {
  none: 0,
  minimal: 1024,
  low: 1024,
  medium: 4096,
  high: 16_384,
  xhigh: 32_768,
}

/** The properties of a call that decide whether and how Claude can think in it. */
interface ClaudeThinkingContext {
  readonly rule: ClaudeRule
  /** Limits the whole output, thinking included; undefined = the model's own limit, which is not known. */
  readonly maxTokens: number | undefined
  /** A tool call is forced. Where that and thinking exclude each other, the tool takes precedence. */
  readonly forced: boolean
  /** The last assistant turn calls tools but does not begin with its signed thinking. */
  readonly unsignedCalls: boolean
  /** Collects the dropped fields, by their names in the Messages API. */
  readonly dropped: string[]
}

/** The fields of a call about thinking. */
export interface ClaudeThinking {
  /** The body's `thinking`; undefined = the model's default. */
  readonly thinking?: Json
  /** The body's `output_config.effort`; undefined = the model's default. */
  readonly effort?: string
  /** The model thinks in this call because the client asked for it. */
  readonly on: boolean
}

/** The requested thinking budget in tokens; an effort counts as its approximate budget; 0 = no thinking. */
function requestedBudget({ reasoning }: ChatRequest): number {
  if (!reasoning || reasoning.enabled === false) return 0
  return (
    reasoning.budgetTokens ??
    (reasoning.effort && budgetOfEffort[reasoning.effort]) ??
    (reasoning.enabled ? budgetOfEffort.medium : 0)
  )
}

/** Thinking as requested. What the model or the call does not allow is added to `dropped`. */
export function claudeThinking(request: ChatRequest, context: ClaudeThinkingContext): ClaudeThinking {
  const { dropped } = context
  const plain: ClaudeThinking = { on: false }
  if (!request.reasoning) return plain
  if (requestedBudget(request) === 0) return isOff(request) ? withoutThinking(request, context) : plain
  const thinking = wantedThinking(request, context)
  if (!thinking) dropped.push(fieldOf(request))
  return thinking ?? plain
}

const isOff = ({ reasoning }: ChatRequest): boolean => reasoning?.enabled === false || reasoning?.effort === 'none'
const fieldOf = ({ reasoning }: ChatRequest): string =>
  reasoning?.effort === undefined ? 'thinking' : 'reasoning_effort'

/** A model that cannot be kept from thinking thinks as little as it can. */
function withoutThinking(request: ChatRequest, { rule, dropped }: ClaudeThinkingContext): ClaudeThinking {
  if (rule.off === 'omit') return { on: false }
  if (rule.off !== 'never') return { thinking: { type: rule.off }, on: false }
  dropped.push(fieldOf(request))
  const [effort] = rule.efforts
  return { ...(effort !== undefined && { effort }), on: false }
}

/** Undefined = the model or the call does not allow it. */
function wantedThinking(request: ChatRequest, context: ClaudeThinkingContext): ClaudeThinking | undefined {
  const { rule, maxTokens, forced, unsignedCalls, dropped } = context
  const { effort, budgetTokens } = request.reasoning ?? {}
  const takesBudget = rule.thinking.includes('enabled')
  if (rule.thinking.length === 0 || (forced && rule.forcedTools === 'unless-thinking')) return undefined
  if (rule.thinking.includes('adaptive') && (budgetTokens === undefined || !takesBudget)) {
    if (budgetTokens !== undefined) dropped.push('thinking.budget_tokens')
    const requestedEffort = effort === undefined || effort === 'none' ? effortOfBudget(budgetTokens) : effort
    const level = requestedEffort && fittedEffort(requestedEffort, rule.efforts).effort
    return { thinking: { type: 'adaptive' }, ...(level !== undefined && { effort: level }), on: true }
  }
  // With a budget, a turn with tool calls has to begin with its thinking block.
  if (unsignedCalls) return undefined
  const wanted = Math.max(requestedBudget(request), budgetTokensMin)
  const budget = Math.min(wanted, budgetWithin(maxTokens))
  if (budget < budgetTokensMin) return undefined
  if (budgetTokens !== undefined && budget < budgetTokens) dropped.push('thinking.budget_tokens')
  return { thinking: { type: 'enabled', budget_tokens: budget }, on: true }
}

/**
 * The maximum is the client's word about the price of the call, and OpenAI's counts the thinking too: the budget fits
 * into it, and it is never raised.
 */
function budgetWithin(maxTokens: number | undefined): number {
  if (maxTokens === undefined) return Infinity
  const { usual, min } = answerTokens
  return maxTokens < budgetTokensMin + min ? 0 : Math.max(maxTokens - usual, budgetTokensMin)
}
