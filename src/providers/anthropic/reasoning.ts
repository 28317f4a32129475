/**
 * Thinking in Claude's words: a budget of tokens inside the output limit, or, since 4.6, an effort (docs: "Extended
 * thinking", "Adaptive thinking", "Effort"). Also for Claude on Vertex AI and Bedrock.
 */
import type { ChatRequest, ReasoningEffort } from '../../core/chat.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { firstAdaptive, firstThinking, onlyAdaptive } from './model.ts'

const maxTokensDefault = 8192
const budgetTokensMin = 1024
const answerTokensMin = 1024
const budgetOfEffort: Readonly<Record<ReasoningEffort, number>> = {
  none: 0,
  minimal: 1024,
  low: 1024,
  medium: 4096,
  high: 16_384,
  xhigh: 32_768,
}

/** What decides whether and how Claude can think in a call. */
export interface ClaudeThinkingContext {
  /** See `claudeVersion`. */
  readonly version: number
  /** Limits the whole output; undefined = the model's own limit. */
  readonly maxTokens: number | undefined
  /** A tool's call is forced: that and thinking exclude each other, and the tool is what the caller's program depends on. */
  readonly forced: boolean
  /** The last turn of the model calls tools, and does not begin with the thinking that led to it. */
  readonly unsignedCalls: boolean
  /** Takes what the call goes without, by its name in the Messages API. */
  readonly dropped: string[]
}

/** What goes into a call. */
export interface ClaudeThinking {
  /** The body's `thinking`. */
  readonly thinking: Json
  /** The body's `output_config.effort`; undefined = the model's own. */
  readonly effort: string | undefined
  /** As it was given; with a budget that leaves no room for an answer, raised by it. */
  readonly maxTokens: number | undefined
}

/** Tokens that the client wants to be spent on thinking, an effort as about as many; 0 = none. */
export function askedBudget({ reasoning }: ChatRequest): number {
  if (!reasoning || reasoning.enabled === false) return 0
  return (
    reasoning.budgetTokens ??
    (reasoning.effort && budgetOfEffort[reasoning.effort]) ??
    (reasoning.enabled ? budgetOfEffort.medium : 0)
  )
}

/** Undefined = this call cannot have the thinking that `request` asks for. */
export function claudeThinking(request: ChatRequest, context: ClaudeThinkingContext): ClaudeThinking | undefined {
  const { version, maxTokens, forced, unsignedCalls, dropped } = context
  const { effort, budgetTokens } = request.reasoning ?? {}
  if (version < firstThinking || forced) return undefined
  if (version >= onlyAdaptive || (version >= firstAdaptive && budgetTokens === undefined)) {
    if (budgetTokens !== undefined) dropped.push('thinking.budget_tokens')
    const level =
      effort === undefined || effort === 'none' ? effortOfBudget(budgetTokens) : adaptiveEffort(effort, version)
    return { thinking: { type: 'adaptive' }, effort: level, maxTokens }
  }
  // With a budget, the turn that called a tool has to begin with the thinking that led to it.
  if (unsignedCalls) return undefined
  const budget = Math.max(askedBudget(request), budgetTokensMin)
  const limit = maxTokens ?? maxTokensDefault
  return {
    thinking: { type: 'enabled', budget_tokens: budget },
    effort: undefined,
    maxTokens: limit > budget ? limit : budget + Math.max(limit, answerTokensMin),
  }
}

function adaptiveEffort(effort: Exclude<ReasoningEffort, 'none'>, version: number): string {
  if (effort === 'minimal') return 'low'
  return effort === 'xhigh' && version < onlyAdaptive ? 'max' : effort
}

/** The effort that comes near a budget of tokens; undefined = the model's own. */
export function effortOfBudget(budgetTokens: number | undefined): 'low' | 'medium' | 'high' | undefined {
  if (budgetTokens === undefined) return undefined
  if (budgetTokens <= 2048) return 'low'
  return budgetTokens <= 8192 ? 'medium' : 'high'
}
