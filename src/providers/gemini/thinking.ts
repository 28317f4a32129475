/**
 * Reasoning as Gemini's `thinkingConfig` (ai.google.dev/gemini-api/docs/thinking): a level from version 3 on, a budget
 * of tokens in 2.5, nothing before (`rules/gemini.ts`).
 */
import type { ChatRequest, ReasoningEffort } from '../../core/hub/chat.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { fittedEffort } from '../../../rules/efforts.ts'
import type { GeminiModel } from './model.ts'

/** Tokens; the budgets of Google's OpenAI-compatible API (ai.google.dev/gemini-api/docs/openai). */
export const budgetOfEffort: Readonly<Record<ReasoningEffort, number>> = {
  none: 0,
  minimal: 1024,
  low: 1024,
  medium: 8192,
  high: 24_576,
  xhigh: 32_768,
}
/** -1 = the model chooses its budget. */
const dynamicBudget = -1

/** `thinkingConfig`; undefined = the model's default. Settings that the model cannot follow are added to `dropped`. */
export function thinkingConfig(request: ChatRequest, { thinking }: GeminiModel, dropped: string[]): Json | undefined {
  const { reasoning } = request
  if (!reasoning) return undefined
  const { effort, budgetTokens } = reasoning
  const off = reasoning.enabled === false || (effort === 'none' && budgetTokens === undefined)
  switch (thinking.by) {
    case 'nothing':
      if (!off) dropped.push('reasoning_effort')
      return undefined
    case 'budget':
      if (off) return withoutThinking({ thinkingBudget: thinking.canStop ? 0 : thinking.min }, thinking, dropped)
      if (budgetTokens === undefined && effort === undefined)
        return { thinkingBudget: dynamicBudget, includeThoughts: true }
      return { thinkingBudget: inRange(budgetTokens ?? budgetOfEffort[effort!], thinking), includeThoughts: true }
    case 'level': {
      if (off) return withoutThinking({ thinkingLevel: thinking.levels[0]!.toUpperCase() }, thinking, dropped)
      // The newer models take a budget too.
      if (budgetTokens !== undefined)
        return { thinkingBudget: inRange(budgetTokens, levelModelBudget), includeThoughts: true }
      if (effort === undefined) return { includeThoughts: true }
      return { thinkingLevel: fittedEffort(effort, thinking.levels).effort!.toUpperCase(), includeThoughts: true }
    }
  }
}

/** A model whose thinking cannot be switched off gets the least of it. */
function withoutThinking(config: Json, { canStop }: { readonly canStop: boolean }, dropped: string[]): Json {
  if (!canStop) dropped.push('reasoning_effort')
  return config
}

/** Tokens that models with levels take for the older `thinkingBudget`. */
const levelModelBudget = { min: 128, max: 24_576 }

/** The nearest budget that the model takes, in tokens. */
export function inRange(budget: number, { min, max }: { readonly min: number; readonly max: number }): number {
  return Math.min(Math.max(budget, min), max)
}
