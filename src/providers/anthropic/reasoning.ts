/**
 * Reasoning as Claude's `thinking`: a budget of tokens within the output limit or, since 4.6, an effort (docs:
 * "Extended thinking", "Adaptive thinking", "Effort"). Also used for Claude on Vertex AI and Bedrock.
 */
import type { ChatRequest, ReasoningEffort } from '../../core/chat.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { firstAdaptive, firstThinking, onlyAdaptive } from './model.ts'

const maxTokensDefault = 8192
const budgetTokensMin = 1024
const answerTokensMin = 1024
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
  /** See `claudeVersion`. */
  readonly version: number
  /** Limits the whole output; undefined = the model's own limit. */
  readonly maxTokens: number | undefined
  /** A tool call is forced. That and thinking exclude each other, and the tool takes precedence. */
  readonly forced: boolean
  /** The last assistant turn calls tools but does not begin with its signed thinking. */
  readonly unsignedCalls: boolean
  /** Collects the dropped fields, by their names in the Messages API. */
  readonly dropped: string[]
}

/** The fields of a call that thinks. */
export interface ClaudeThinking {
  /** The body's `thinking`. */
  readonly thinking: Json
  /** The body's `output_config.effort`; undefined = the model's default. */
  readonly effort: string | undefined
  /** As given, or increased by the budget where the budget would leave no tokens for the answer. */
  readonly maxTokens: number | undefined
}

/** The requested thinking budget in tokens; an effort counts as its approximate budget; 0 = no thinking. */
export function requestedBudget({ reasoning }: ChatRequest): number {
  if (!reasoning || reasoning.enabled === false) return 0
  return (
    reasoning.budgetTokens ??
    (reasoning.effort && budgetOfEffort[reasoning.effort]) ??
    (reasoning.enabled ? budgetOfEffort.medium : 0)
  )
}

/** Undefined = the model or the call does not allow the requested thinking. */
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
  // With a budget, a turn with tool calls has to begin with its thinking block.
  if (unsignedCalls) return undefined
  const budget = Math.max(requestedBudget(request), budgetTokensMin)
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

/** The effort nearest to a budget of tokens; undefined = the model's default. */
export function effortOfBudget(budgetTokens: number | undefined): 'low' | 'medium' | 'high' | undefined {
  if (budgetTokens === undefined) return undefined
  if (budgetTokens <= 2048) return 'low'
  return budgetTokens <= 8192 ? 'medium' : 'high'
}
