/**
 * Thinking, which Converse hands on to each vendor in its own words (`additionalModelRequestFields`).
 * Sources: docs.claude.com "Extended thinking", "Adaptive thinking"; docs.aws.amazon.com/nova "Extended thinking";
 * the model card of gpt-oss.
 */
import type { ChatRequest } from '../../core/chat.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { claudeThinking, effortOfBudget } from '../anthropic/reasoning.ts'
import type { BedrockModel } from './model.ts'

const novaWithThinking = 200

interface ThinkingContext {
  readonly model: BedrockModel
  /** What the client or the operator allows; undefined = the model's own limit. */
  readonly maxTokens: number | undefined
  /** A tool's call is forced. */
  readonly forced: boolean
  /** The last turn of the model begins with a call, and its thinking is not there. */
  readonly unsignedCalls: boolean
  readonly dropped: string[]
}

/** What goes into a call. No `fields` = nothing is said about thinking, and the model does as it does. */
export interface Thinking {
  /** For `additionalModelRequestFields`. */
  readonly fields: Json
  /** The model thinks because it was asked to. */
  readonly on: boolean
  /** Raised where a budget would leave no room for an answer; undefined = the model's own limit. */
  readonly maxTokens: number | undefined
}

/** A wish that this call cannot have goes into `context.dropped`, and the call goes on without it. */
export function thinkingOf(request: ChatRequest, context: ThinkingContext): Thinking {
  const { reasoning } = request
  const { model, maxTokens, dropped } = context
  const none: Thinking = { fields: {}, on: false, maxTokens }
  if (!reasoning) return none
  const lost = (): Thinking => {
    dropped.push(fieldOf(request))
    return none
  }
  if (model.family === 'gpt-oss') return gptOss(reasoning, none, dropped)
  const off = reasoning.enabled === false || (reasoning.effort === 'none' && reasoning.budgetTokens === undefined)
  if (off) return none
  if (model.family === 'claude') return claude(request, context) ?? lost()
  if (model.family === 'nova' && model.version >= novaWithThinking) return nova(request, none, dropped)
  return lost()
}

const fieldOf = ({ reasoning }: ChatRequest): string =>
  reasoning?.effort === undefined ? 'thinking' : 'reasoning_effort'

/** Undefined = this call cannot have any thinking. */
function claude(request: ChatRequest, context: ThinkingContext): Thinking | undefined {
  const planned = claudeThinking(request, { ...context, version: context.model.version })
  if (!planned) return undefined
  const { thinking, effort, maxTokens } = planned
  return { fields: { thinking, ...(effort !== undefined && { output_config: { effort } }) }, on: true, maxTokens }
}

/** Nova's highest effort allows no limits and no sampling: where there are any, the next is as near as it gets. */
function nova(request: ChatRequest, none: Thinking, dropped: string[]): Thinking {
  const { effort, budgetTokens } = request.reasoning!
  if (budgetTokens !== undefined) dropped.push('thinking.budget_tokens')
  const asked = effort === undefined || effort === 'none' ? effortOfBudget(budgetTokens) : effort
  let level =
    asked === 'minimal' || asked === 'low' ? 'low' : asked === undefined || asked === 'medium' ? 'medium' : 'high'
  const limited = [none.maxTokens, request.temperature, request.topP, request.topK].some(one => one !== undefined)
  if (level === 'high' && limited) {
    dropped.push(fieldOf(request))
    level = 'medium'
  }
  return { ...none, fields: { reasoningConfig: { type: 'enabled', maxReasoningEffort: level } }, on: true }
}

/** It always thinks, little, medium or much. */
function gptOss(reasoning: NonNullable<ChatRequest['reasoning']>, none: Thinking, dropped: string[]): Thinking {
  const { effort, enabled, budgetTokens } = reasoning
  if (enabled === false || effort === 'none') dropped.push(effort === 'none' ? 'reasoning_effort' : 'thinking')
  else if (budgetTokens !== undefined) dropped.push('thinking.budget_tokens')
  const off = enabled === false || effort === 'none' || effort === 'minimal'
  const level = off ? 'low' : effort === 'xhigh' ? 'high' : (effort ?? effortOfBudget(budgetTokens))
  return { ...none, fields: level === undefined ? {} : { reasoning_effort: level }, on: true }
}
