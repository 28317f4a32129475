/**
 * Reasoning as Gemini's `thinkingConfig` (ai.google.dev/gemini-api/docs/thinking): a level from version 3 on, a budget
 * of tokens in 2.5, nothing before (`rules/gemini.ts`).
 */
import type { ChatRequest } from '../../core/hub/chat.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { budgetOfEffort, fittedEffort } from '../../../rules/efforts.ts'
import { geminiBudgets, levelModelBudget } from '../../../rules/gemini.ts'
import type { GeminiModel } from './model.ts'

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
      return { thinkingBudget: budgetFor(reasoning, thinking, dropped), includeThoughts: true }
    case 'level': {
      if (off) return withoutThinking({ thinkingLevel: thinking.levels[0]!.toUpperCase() }, thinking, dropped)
      // The newer models take a budget too.
      if (budgetTokens !== undefined)
        return { thinkingBudget: budgetFor(reasoning, levelModelBudget, dropped), includeThoughts: true }
      if (effort === undefined) return { includeThoughts: true }
      const fitted = fittedEffort(effort, thinking.levels)
      if (fitted.lost) dropped.push('reasoning_effort')
      return { thinkingLevel: fitted.effort!.toUpperCase(), includeThoughts: true }
    }
  }
}

type Range = { readonly min: number; readonly max: number }

/** A budget counts before an effort. */
function budgetFor(
  { effort, budgetTokens }: NonNullable<ChatRequest['reasoning']>,
  range: Range,
  dropped: string[],
): number {
  if (budgetTokens !== undefined) {
    const budget = inRange(budgetTokens, range)
    if (budget !== budgetTokens) dropped.push('thinking.budget_tokens')
    if (effort !== undefined && effort !== 'none') dropped.push('reasoning_effort')
    return budget
  }
  if (effort === undefined) return dynamicBudget
  const { tokens, lost } = budgetOfEffort(effort, geminiBudgets, range.max)
  if (lost) dropped.push('reasoning_effort')
  return inRange(tokens!, range)
}

/** A model whose thinking cannot be switched off gets the least of it. */
function withoutThinking(config: Json, { canStop }: { readonly canStop: boolean }, dropped: string[]): Json {
  if (!canStop) dropped.push('reasoning_effort')
  return config
}

/** The nearest budget that the model takes, in tokens. */
export function inRange(budget: number, { min, max }: Range): number {
  return Math.min(Math.max(budget, min), max)
}
