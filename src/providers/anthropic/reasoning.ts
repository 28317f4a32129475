/** Thinking in Anthropic's words: a budget of tokens inside the output limit (docs: "Extended thinking"). */
import type { ChatRequest, ReasoningEffort } from '../../core/chat.ts'

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

interface Thinking {
  readonly thinking: { type: 'enabled'; budget_tokens: number } | undefined
  /** Large enough for the budget and an answer. */
  readonly maxTokens: number
  /** Thinking was asked for, and cannot be had in this call. */
  readonly lost?: true
}

/**
 * Thinking is always a budget here, of at least what the API takes. `maxTokens` limits the whole output; where it is not
 * above the budget it grows by the budget, so that an answer fits.
 */
export function reasoningOf(request: ChatRequest, maxTokens: number): Thinking {
  const { reasoning } = request
  const asked = reasoning?.budgetTokens ?? (reasoning?.effort && budgetOfEffort[reasoning.effort]) ?? (reasoning?.enabled ? budgetOfEffort.medium : 0)
  // A forced tool and thinking exclude each other; the tool is what the caller's program depends on.
  const forced = request.toolChoice === 'required' || typeof request.toolChoice === 'object'
  if (!asked || reasoning?.enabled === false) return { thinking: undefined, maxTokens }
  if (forced) return { thinking: undefined, maxTokens, lost: true }
  const budget = Math.max(asked, budgetTokensMin)
  return {
    thinking: { type: 'enabled', budget_tokens: budget },
    maxTokens: maxTokens > budget ? maxTokens : budget + Math.max(maxTokens, answerTokensMin),
  }
}
