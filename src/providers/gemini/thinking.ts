/**
 * Reasoning as Gemini's `thinkingConfig` (ai.google.dev/gemini-api/docs/thinking): a level from version 3 on, a budget
 * of tokens in 2.5, nothing before.
 */
import type { ChatRequest, ReasoningEffort } from '../../core/chat.ts'
import type { Json } from '../../lib/json/json-values.ts'
import type { GeminiModel } from './model.ts'

/** Tokens; the budgets of Google's OpenAI-compatible API (ai.google.dev/gemini-api/docs/openai). */
const budgetOfEffort: Readonly<Record<ReasoningEffort, number>> = {
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
export function thinkingConfig(request: ChatRequest, model: GeminiModel, dropped: string[]): Json | undefined {
  const { reasoning } = request
  if (!reasoning) return undefined
  const off = reasoning.enabled === false || (reasoning.effort === 'none' && reasoning.budgetTokens === undefined)
  if (model.version < 2.5 || (model.version < 3 && model.media)) {
    if (!off) dropped.push('reasoning_effort')
    return undefined
  }
  if (off) return withoutThinking(model, dropped)
  if (reasoning.budgetTokens !== undefined)
    return { thinkingBudget: inRange(reasoning.budgetTokens, model), includeThoughts: true }
  if (reasoning.effort === undefined)
    return { ...(model.version < 3 && { thinkingBudget: dynamicBudget }), includeThoughts: true }
  if (model.version < 3)
    return { thinkingBudget: inRange(budgetOfEffort[reasoning.effort], model), includeThoughts: true }
  return { thinkingLevel: levelOf(reasoning.effort, model), includeThoughts: true }
}

function withoutThinking(model: GeminiModel, dropped: string[]): Json {
  // Thinking of Pro models cannot be switched off: they get the least budget or level.
  if (model.tier === 'pro') dropped.push('reasoning_effort')
  if (model.version >= 3) return { thinkingLevel: levelOf('minimal', model) }
  return { thinkingBudget: model.tier === 'pro' ? budgetRange(model).min : 0 }
}

/** Gemini 3 Pro has LOW and HIGH, later Pro models also MEDIUM, Flash also MINIMAL. */
function levelOf(effort: ReasoningEffort, { tier, version }: GeminiModel): string {
  if (effort === 'none' || effort === 'minimal') return tier === 'pro' ? 'LOW' : 'MINIMAL'
  if (effort === 'low') return 'LOW'
  if (effort === 'medium') return tier === 'pro' && version === 3 ? 'HIGH' : 'MEDIUM'
  return 'HIGH'
}

function budgetRange({ tier }: GeminiModel): { min: number; max: number } {
  if (tier === 'pro') return { min: 128, max: 32_768 }
  return { min: tier === 'flash-lite' ? 512 : 0, max: 24_576 }
}

function inRange(budget: number, model: GeminiModel): number {
  const { min, max } = budgetRange(model)
  return Math.min(Math.max(budget, min), max)
}
