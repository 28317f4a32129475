/** A chat request as the body of Cohere's `/v2/chat` (docs.cohere.com/reference/chat). */
import { namesOfSet } from '../../core/hub/chat-fields.ts'
import type { CarriedProperty } from '../../core/hub/chat-fields.ts'
import type { ChatRequest, Tool } from '../../core/hub/chat.ts'
import { unprocessable } from '../../core/errors.ts'
import type { Target, TranslatedCall } from '../../core/provider.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { cohereBudgets, cohereThinks } from '../../../rules/cohere.ts'
import type { EffortBudgets } from '../../../rules/efforts.ts'
import { conversation } from './messages.ts'

/** Cohere's own fields that a client may send in addition to OpenAI's. */
const ownFields = new Set(['documents', 'citation_options', 'safety_mode', 'strict_tools', 'priority', 'raw_prompting'])

const stopsMax = 5

/**
 * The body, and the fields that it cannot carry by OpenAI's names. Throws `invalid-request` for parts that Cohere does
 * not take, `unprocessable` for `documents` that are no list.
 */
export function chatBody(request: ChatRequest, target: Target): Omit<TranslatedCall, 'head'> {
  const dropped = droppedFields(request)
  const { messages, documents } = conversation(request.messages, dropped)
  const body: Json = { model: target.model, messages, stream: request.stream }
  for (const [name, value] of Object.entries(request.extra.fields)) if (ownFields.has(name)) body[name] = value
  if (documents.length > 0) body.documents = [...ownDocuments(body.documents), ...documents]
  if (request.maxOutputTokens !== undefined) body.max_tokens = request.maxOutputTokens
  const stops = (request.stop ?? []).filter(stop => stop !== '').slice(0, stopsMax)
  if (stops.length > 0) body.stop_sequences = stops
  if (stops.length < (request.stop?.length ?? 0)) dropped.push('stop')
  if (request.seed !== undefined) body.seed = request.seed
  if (request.logprobs) body.logprobs = true
  sampling(request, body, dropped)
  tools(request, body)
  const { responseFormat: format } = request
  if (format?.type === 'json-object') body.response_format = { type: 'json_object' }
  if (format?.type === 'json-schema') body.response_format = { type: 'json_object', json_schema: format.schema }
  const thinking = thinkingOf(request, target, dropped)
  if (thinking) body.thinking = thinking
  return { body, dropped: [...new Set(dropped)] }
}

function ownDocuments(value: unknown): unknown[] {
  if (value === undefined) return []
  if (Array.isArray(value)) return value
  throw unprocessable([
    { loc: ['body', 'documents'], msg: 'must be a list of texts or of {id, data}', type: 'wrong_type' },
  ])
}

const unknownProperties: readonly CarriedProperty[] = [
  'choices',
  'logitBias',
  'topLogprobs',
  'parallelToolCalls',
  'user',
  'metadata',
  'serviceTier',
]

function droppedFields(request: ChatRequest): string[] {
  const dropped = namesOfSet(request, unknownProperties)
  if (request.tools?.some(tool => tool.cache)) dropped.push('cache_control')
  return [...dropped, ...Object.keys(request.extra.fields).filter(name => !ownFields.has(name))]
}

/** Cohere's ranges are narrower than OpenAI's: values outside are clamped, and the field is reported as dropped. */
function sampling(request: ChatRequest, body: Json, dropped: string[]): void {
  const set = (name: string, field: string, value: number | undefined, [least, most]: [number, number]): void => {
    if (value === undefined) return
    body[field] = Math.min(Math.max(value, least), most)
    if (body[field] !== value) dropped.push(name)
  }
  set('temperature', 'temperature', request.temperature, [0, 1])
  set('frequency_penalty', 'frequency_penalty', request.frequencyPenalty, [0, 1])
  set('presence_penalty', 'presence_penalty', request.presencePenalty, [0, 1])
  set('top_k', 'k', request.topK, [0, 500])
  // Cohere takes 0.01 to 0.99. The ends of OpenAI's range, 0 and 1, have the same effect, so nothing is reported.
  const { topP } = request
  set('top_p', 'p', topP === 0 ? 0.01 : topP === 1 ? 0.99 : topP, [0.01, 0.99])
}

function tools(request: ChatRequest, body: Json): void {
  const { toolChoice: choice } = request
  // `tool_choice` cannot name a tool: a named one is forced by offering only that one.
  const offered = (request.tools ?? []).filter(tool => typeof choice !== 'object' || tool.name === choice.name)
  if (offered.length === 0) return
  body.tools = offered.map(tool)
  if (offered.some(one => one.strict)) body.strict_tools ??= true
  if (choice === 'none') body.tool_choice = 'NONE'
  else if (choice === 'required' || typeof choice === 'object') body.tool_choice = 'REQUIRED'
}

function tool({ name, description, parameters }: Tool): Json {
  return {
    type: 'function',
    function: {
      name,
      ...(description !== undefined && { description }),
      parameters: { type: 'object', properties: {}, ...parameters },
    },
  }
}

function thinkingOf({ reasoning }: ChatRequest, { model }: Target, dropped: string[]): Json | undefined {
  if (!reasoning) return undefined
  const isOff = reasoning.enabled === false || reasoning.effort === 'none'
  if (!cohereThinks(model)) {
    if (!isOff) dropped.push(reasoning.effort === undefined ? 'thinking' : 'reasoning_effort')
    return undefined
  }
  if (isOff) return { type: 'disabled' }
  if (reasoning.budgetTokens !== undefined && reasoning.effort !== undefined) dropped.push('reasoning_effort')
  const ofEffort: EffortBudgets = cohereBudgets
  const budget = reasoning.budgetTokens ?? (reasoning.effort && ofEffort[reasoning.effort])
  return { type: 'enabled', ...(budget !== undefined && { token_budget: budget }) }
}
