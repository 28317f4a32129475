/** A chat request as a body for Mistral (docs.mistral.ai/api, "Chat Completion", "Fill in the Middle"). */
import type { ChatRequest } from '../../core/hub/chat.ts'
import { GatewayError } from '../../core/errors.ts'
import { fieldRules } from '../../core/dialects/field-rules.ts'
import type { FieldRules } from '../../core/dialects/field-rules.ts'
import type { Target, TranslatedCall } from '../../core/provider.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { fittedEffort } from '../../../rules/efforts.ts'
import { mistralReasoning } from '../../../rules/mistral.ts'
import { chatFields } from '../openai-compatible/request.ts'
import { joinTexts } from '../openai-compatible/texts.ts'
import { mistralMessages } from './messages.ts'

type Body = Omit<TranslatedCall, 'head'>

/** OpenAI's fields that Mistral lacks; unknown fields are answered with 422. */
const refusedFields = [
  'logit_bias',
  'logprobs',
  'top_logprobs',
  'user',
  'store',
  'modalities',
  'audio',
  'verbosity',
  'web_search_options',
  'safety_identifier',
  'chat_template_kwargs',
]

const rules: FieldRules = {
  fields: fieldRules(refusedFields, { seed: 'random_seed', max_completion_tokens: 'max_tokens' }),
  streamOptions: false,
}

const temperatureMax = 1.5

/** true = the request has a `suffix`: it asks for the text between the prompt and the suffix. */
export function isFillInTheMiddle(request: ChatRequest): boolean {
  const { suffix } = request.extra.fields
  return typeof suffix === 'string' && suffix !== ''
}

/**
 * The body for `/chat/completions`, or for `/fim/completions` where there is a suffix, and the fields it cannot carry.
 * Throws `invalid-request` for a suffix with anything but a single user message of text.
 */
export function mistralBody(request: ChatRequest, target: Target): Body {
  return isFillInTheMiddle(request) ? middleBody(request, target) : chatBody(request, target)
}

function chatBody(request: ChatRequest, target: Target): Body {
  const { fields, dropped } = chatFields(
    { ...request, reasoning: undefined, logprobs: request.logprobs || undefined },
    rules,
  )
  readServiceTier(fields, dropped)
  const reasoning = reasoningFields(request, target, dropped)
  const thinking = isThinking(reasoning, target)
  const body: Json = {
    model: target.model,
    messages: mistralMessages(request.messages, { thinking, dropped }),
    ...fields,
    ...reasoning,
  }
  clampTemperature(body, dropped)
  if (request.tools?.length) {
    // `parameters` is required, also for a tool without arguments.
    body.tools = (body.tools as { function: Json }[]).map(tool => ({
      ...tool,
      function: { ...tool.function, parameters: tool.function.parameters ?? { type: 'object', properties: {} } },
    }))
    if (request.toolChoice === 'required') body.tool_choice = 'any'
  } else if (request.toolChoice !== undefined) delete body.tool_choice
  return { body, dropped: [...new Set(dropped)] }
}

/** Mistral has two tiers: `auto` (priority capacity where it was bought) and `standard_only`. */
function readServiceTier(fields: Json, dropped: string[]): void {
  const { service_tier: requested } = fields
  if (requested === undefined || requested === 'auto' || requested === 'standard_only') return
  delete fields.service_tier
  if (requested === 'default') fields.service_tier = 'standard_only'
  else dropped.push('service_tier')
}

/** Models that reason in this call take their earlier thinking back. */
const isThinking = ({ reasoning_effort: effort }: Json, { model }: Target): boolean =>
  mistralReasoning(model).by === 'prompt-mode' || (effort !== undefined && effort !== 'none')

/** Magistral always thinks and has `prompt_mode`; the adjustable models have some of the efforts. */
function reasoningFields({ reasoning }: ChatRequest, target: Target, dropped: string[]): Json {
  if (!reasoning) return {}
  const { effort, budgetTokens, enabled } = reasoning
  const isOn = enabled !== false && effort !== 'none'
  const rule = mistralReasoning(target.model)
  if (budgetTokens !== undefined) dropped.push('reasoning.budget_tokens')
  if (rule.by === 'effort') {
    if (!isOn) return { reasoning_effort: 'none' }
    // A client that asks for thinking without an effort gets `high`, or the nearest that the model takes.
    const fitted = fittedEffort(effort ?? 'high', rule.efforts)
    if (fitted.lost && effort !== undefined) dropped.push('reasoning_effort')
    return { reasoning_effort: fitted.effort }
  }
  if (isOn && rule.by === 'prompt-mode') {
    // It thinks, or it does not: how much is not said.
    if (effort !== undefined) dropped.push('reasoning_effort')
    return { prompt_mode: 'reasoning' }
  }
  // A model that never thinks does what was requested.
  if (isOn || rule.by === 'prompt-mode') dropped.push('reasoning_effort')
  return {}
}

function clampTemperature(body: Json, dropped: string[]): void {
  if (typeof body.temperature !== 'number' || body.temperature <= temperatureMax) return
  body.temperature = temperatureMax
  dropped.push('temperature')
}

/** `/fim/completions`: a prompt and a suffix instead of a conversation. */
function middleBody(request: ChatRequest, target: Target): Body {
  const { suffix, ...rest } = request.extra.fields
  const { fields, dropped } = chatFields({ ...request, extra: { ...request.extra, fields: rest } }, rules)
  const taken = new Set([
    'max_tokens',
    'min_tokens',
    'temperature',
    'top_p',
    'stop',
    'random_seed',
    'stream',
    'metadata',
    'prompt_cache_key',
  ])
  for (const name of Object.keys(fields)) if (!taken.has(name)) dropped.push(name)
  const body: Json = { model: target.model, prompt: promptText(request), suffix }
  for (const [name, value] of Object.entries(fields)) if (taken.has(name)) body[name] = value
  clampTemperature(body, dropped)
  return { body, dropped: [...new Set(dropped)] }
}

function promptText({ messages }: ChatRequest): string {
  const [only, ...more] = messages
  const parts = only?.role === 'user' && more.length === 0 ? only.parts : []
  if (parts.length === 0 || parts.some(part => part.type !== 'text'))
    throw new GatewayError(
      'invalid-request',
      '`suffix` completes one text; send it with a single user message of text',
      { param: 'suffix' },
    )
  return joinTexts(parts.map(part => (part.type === 'text' ? part.text : '')))
}
