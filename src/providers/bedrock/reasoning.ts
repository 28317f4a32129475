/**
 * Reasoning in each vendor's own fields, which Converse passes on (`additionalModelRequestFields`).
 * Sources: docs.claude.com "Extended thinking", "Adaptive thinking"; docs.aws.amazon.com/nova "Extended thinking";
 * the model card of gpt-oss.
 */
import type { ChatRequest } from '../../core/hub/chat.ts'
import type { Json } from '../../lib/json/json-values.ts'
import type { ClaudeRule } from '../../../rules/claude.ts'
import { effortOfBudget, fittedEffort } from '../../../rules/efforts.ts'
import { claudeThinking } from '../anthropic/reasoning.ts'
import type { BedrockModel } from './model.ts'

interface ThinkingContext {
  readonly model: BedrockModel
  /** The limit of the client or of the configuration; undefined = the model's own. */
  readonly maxTokens: number | undefined
  /** The model's own limit; undefined = unknown. */
  readonly limitTokens: number | undefined
  /** A tool call is forced. */
  readonly forced: boolean
  /** The last assistant turn calls tools but does not begin with its thinking. */
  readonly unsignedCalls: boolean
  readonly dropped: string[]
}

/** The fields of a call. Empty `fields` = the model's default. */
export interface Thinking {
  /** For `additionalModelRequestFields`. */
  readonly fields: Json
  /** The model thinks in this call. */
  readonly on: boolean
  /** As in the context; the model's own where a budget has to be below it. */
  readonly maxTokens: number | undefined
}

/** A setting that the model or the call does not allow is added to `context.dropped`, and the call has no thinking. */
export function thinkingOf(request: ChatRequest, context: ThinkingContext): Thinking {
  const { reasoning } = request
  const { model, maxTokens, dropped } = context
  const none: Thinking = { fields: {}, on: false, maxTokens }
  if (!reasoning) return none
  const lost = (): Thinking => {
    dropped.push(fieldOf(request))
    return none
  }
  const { by, efforts = [] } = model.reasoning ?? {}
  if (by === 'reasoning_effort') return gptOss(request, { none, efforts, dropped })
  const off = reasoning.enabled === false || (reasoning.effort === 'none' && reasoning.budgetTokens === undefined)
  if (model.claude) return claude(request, { ...context, rule: model.claude })
  if (off) return none
  if (by === 'reasoningConfig') return nova(request, { none, efforts, dropped })
  return lost()
}

const fieldOf = ({ reasoning }: ChatRequest): string =>
  reasoning?.effort === undefined ? 'thinking' : 'reasoning_effort'

function claude(request: ChatRequest, context: ThinkingContext & { readonly rule: ClaudeRule }): Thinking {
  const { maxTokens, limitTokens } = context
  const { thinking, effort, on } = claudeThinking(request, { ...context, maxTokens: maxTokens ?? limitTokens })
  return {
    fields: { ...(thinking && { thinking }), ...(effort !== undefined && { output_config: { effort } }) },
    on,
    maxTokens: maxTokens ?? (thinking?.type === 'enabled' ? limitTokens : undefined),
  }
}

/** Nova's highest effort excludes a token limit and sampling parameters: with any of them, `medium` is used. */
function nova(request: ChatRequest, { none, efforts, dropped }: ByEffort): Thinking {
  let level = effortFor(request, efforts, dropped) ?? 'medium'
  const limited = [none.maxTokens, request.temperature, request.topP, request.topK].some(one => one !== undefined)
  if (level === 'high' && limited) {
    dropped.push(fieldOf(request))
    level = 'medium'
  }
  return { ...none, fields: { reasoningConfig: { type: 'enabled', maxReasoningEffort: level } }, on: true }
}

/** gpt-oss always thinks: "off" is its least effort. */
function gptOss(request: ChatRequest, { none, efforts, dropped }: ByEffort): Thinking {
  const isOff = request.reasoning!.enabled === false
  if (isOff) dropped.push(fieldOf(request))
  const level = isOff ? efforts[0] : effortFor(request, efforts, dropped)
  return { ...none, fields: level === undefined ? {} : { reasoning_effort: level }, on: true }
}

interface ByEffort {
  /** The call without thinking. */
  readonly none: Thinking
  readonly efforts: readonly string[]
  readonly dropped: string[]
}

/** The model's word for the requested effort or budget; undefined = none was requested. */
function effortFor({ reasoning }: ChatRequest, efforts: readonly string[], dropped: string[]): string | undefined {
  const { effort, budgetTokens } = reasoning!
  if (budgetTokens !== undefined) dropped.push('thinking.budget_tokens')
  if (effort === undefined || (effort === 'none' && budgetTokens !== undefined)) return effortOfBudget(budgetTokens)
  const fitted = fittedEffort(effort, efforts)
  if (fitted.lost) dropped.push('reasoning_effort')
  return fitted.effort
}
