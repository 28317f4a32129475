/**
 * Reasoning as Claude's `thinking`: a budget of tokens within the output limit or, since 4.6, an effort (docs:
 * "Extended thinking", "Adaptive thinking", "Effort"). Also used for Claude on Vertex AI and Bedrock.
 */
import type { ChatRequest } from '../../core/hub/chat.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { claudeBudgets } from '../../../rules/claude.ts'
import type { ClaudeRule } from '../../../rules/claude.ts'
import { budgetOfEffort, effortOfBudget, fittedEffort } from '../../../rules/efforts.ts'

const budgetTokensMin = 1024
/** What is left for the answer where the limit is large enough, and at least. */
const answerTokens = { usual: 1024, min: 512 }

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
    (reasoning.effort && budgetOfEffort(reasoning.effort, claudeBudgets).tokens) ??
    (reasoning.enabled ? claudeBudgets.medium : 0)
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
    const level = requestedEffort && effortFor(requestedEffort, requestedEffort === effort, context)
    return { thinking: { type: 'adaptive' }, ...(level !== undefined && { effort: level }), on: true }
  }
  // With a budget, a turn with tool calls has to begin with its thinking block.
  if (unsignedCalls) return undefined
  const wanted = Math.max(requestedBudget(request), budgetTokensMin)
  const budget = Math.min(wanted, budgetWithin(maxTokens))
  if (budget < budgetTokensMin) return undefined
  const thinking = { type: 'enabled', budget_tokens: budget }
  if (budgetTokens === undefined) {
    // That an effort's budget fits into the client's own maximum is no change of the word.
    if (effort !== undefined && budgetOfEffort(effort, claudeBudgets).lost) dropped.push('reasoning_effort')
    return { thinking, on: true }
  }
  if (budget !== budgetTokens) dropped.push('thinking.budget_tokens')
  // Since 4.6 the effort counts beside the budget, without a beta.
  const level = effort && effortFor(effort, true, { rule: takesEffort(rule) ? rule : noEfforts, dropped })
  return { thinking, ...(level !== undefined && { effort: level }), on: true }
}

const noEfforts = { efforts: [] } as const
const takesEffort = ({ thinking }: ClaudeRule): boolean => thinking.includes('adaptive')

/** The word that the model takes for an effort; `isClients` = the client wrote it, and a change is reported. */
function effortFor(
  requested: string,
  isClients: boolean,
  { rule, dropped }: { readonly rule: Pick<ClaudeRule, 'efforts'>; readonly dropped: string[] },
): string | undefined {
  const { effort, lost } = fittedEffort(requested, rule.efforts)
  if (lost && isClients) dropped.push('reasoning_effort')
  return effort
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
