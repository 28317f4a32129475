/** A chat request as the body of Converse (docs.aws.amazon.com/bedrock, "Converse"). */
import { namesOfSet } from '../../core/hub/chat-fields.ts'
import type { CarriedProperty } from '../../core/hub/chat-fields.ts'
import type { ChatRequest } from '../../core/hub/chat.ts'
import type { Target } from '../../core/provider.ts'
import { unprocessable } from '../../core/errors.ts'
import { isObject, objectsOf } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { cacheMarksMax, cacheMarksOf, superfluousMarks } from '../common/cache-marks.ts'
import { refuseImageUrls } from '../common/image-urls.ts'
import { modelId } from './address.ts'
import { readableImages } from './media.ts'
import { conversation } from './messages.ts'
import type { Conversation } from './messages.ts'
import { bedrockModel } from './model.ts'
import type { BedrockModel } from './model.ts'
import { thinkingOf } from './reasoning.ts'
import type { Thinking } from './reasoning.ts'
import { jsonPlan } from './structured.ts'
import { singleCallField, toolConfig } from './tools.ts'

/** Converse's own fields that a client may send in addition to OpenAI's; all of them are objects. */
const ownFields: ReadonlySet<string> = new Set([
  'guardrailConfig',
  'performanceConfig',
  'requestMetadata',
  'additionalModelRequestFields',
])
const serviceTiers: ReadonlySet<string> = new Set(['default', 'flex', 'priority', 'reserved'])
/** The field of Claude's answer with the stop sequence that ended it. */
const stopSequencePath = '/stop_sequence'

interface ConverseBody {
  readonly body: Json
  readonly dropped: readonly string[]
}

/**
 * The body, and the fields it cannot carry, by OpenAI's names. Throws `model-not-found` for a name that is no id,
 * `invalid-request` for media that Converse does not take, `unprocessable` for a field of Converse that is no object.
 */
export function converseBody(request: ChatRequest, target: Target): ConverseBody {
  const model = bedrockModel(modelId(target))
  refuseImageUrls(request.messages, target, readableImages)
  const dropped = droppedFields(request)
  const plan = jsonPlan(request, model)
  if (plan.unenforced) dropped.push('response_format')
  dropped.push(...(plan.lost ?? []).map(keyword => `response_format.json_schema.schema.${keyword}`))
  const { system, messages, usedTools } = conversation(request.messages, {
    model,
    dropped,
    instruction: plan.instruction,
  })
  const thinking = thinkingOf(request, {
    model,
    maxTokens: maxTokens(request, target),
    limitTokens: target.limits?.output,
    forced: plan.tool !== undefined || request.toolChoice === 'required' || typeof request.toolChoice === 'object',
    unsignedCalls: hasUnsignedCalls(messages),
    dropped,
  })
  const sampled = sampling(request, { model, thinking, dropped })
  const toolContext = { model, plan, usedTools, dropped }
  const tools = toolConfig(request, toolContext)
  const own = ownOf(request)
  const additional = {
    ...thinking.fields,
    ...sampled.fields,
    ...betas(target, model),
    ...singleCallField(request, tools, toolContext),
    ...own.additionalModelRequestFields,
  }
  const stops = stopSequences(request, dropped)
  const blocks = [tools?.tools, system, ...messages.map(one => one.content)]
  if (cacheMarksOf(request) > cacheMarksMax && limitCachePoints(blocks)) dropped.push('cache_control')
  const inferenceConfig = {
    ...(thinking.maxTokens !== undefined && { maxTokens: thinking.maxTokens }),
    ...sampled.config,
    ...(stops.length > 0 && { stopSequences: stops }),
  }
  const tier = serviceTier(request, dropped)
  const metadata = requestMetadata(request, dropped)
  const body = {
    messages,
    ...(system.length > 0 && { system }),
    ...(Object.keys(inferenceConfig).length > 0 && { inferenceConfig }),
    ...(tools && { toolConfig: tools }),
    ...(plan.outputConfig && { outputConfig: plan.outputConfig }),
    ...(metadata && { requestMetadata: metadata }),
    ...own,
    ...(tier !== undefined && { serviceTier: { type: tier } }),
    additionalModelRequestFields: Object.keys(additional).length > 0 ? additional : undefined,
    ...(stops.length > 0 && model.family === 'claude' && { additionalModelResponseFieldPaths: [stopSequencePath] }),
  }
  return { body, dropped: [...new Set(dropped)] }
}

/** true = some were removed. `lists`: blocks in the order in which the model reads them. */
function limitCachePoints(lists: readonly unknown[]): boolean {
  const points = lists.flatMap(list => objectsOf(list).filter(one => one.cachePoint !== undefined))
  const superfluous = new Set(superfluousMarks(points))
  for (const list of lists)
    if (Array.isArray(list))
      for (let at = list.length - 1; at >= 0; at--) if (superfluous.has(list[at] as Json)) list.splice(at, 1)
  return superfluous.size > 0
}

function maxTokens(request: ChatRequest, target: Target): number | undefined {
  const { max_tokens: configured } = target.options
  return request.maxOutputTokens ?? (typeof configured === 'number' ? configured : undefined)
}

const unknownProperties: readonly CarriedProperty[] = [
  'choices',
  'seed',
  'frequencyPenalty',
  'presencePenalty',
  'logitBias',
  'logprobs',
  'topLogprobs',
  'user',
]

function droppedFields(request: ChatRequest): string[] {
  return [
    ...namesOfSet(request, unknownProperties),
    ...Object.keys(request.extra.fields).filter(name => !ownFields.has(name)),
  ]
}

/** Converse's own fields in the request. Throws `unprocessable` for one that is no object. */
function ownOf({ extra }: ChatRequest): Record<string, Json> {
  const own: Record<string, Json> = {}
  for (const name of ownFields) {
    const value = extra.fields[name]
    if (value === undefined) continue
    if (!isObject(value))
      throw unprocessable([
        { loc: ['body', name], msg: 'must be an object, as in the Converse API of Bedrock', type: 'wrong_type' },
      ])
    own[name] = value
  }
  return own
}

/** true = the last assistant turn calls a tool and does not begin with thinking. */
function hasUnsignedCalls(messages: Conversation['messages']): boolean {
  const last = messages.findLast(one => one.role === 'assistant')?.content ?? []
  return last.some(block => block.toolUse !== undefined) && last[0]?.reasoningContent === undefined
}

interface Sampling {
  readonly model: BedrockModel
  readonly thinking: Thinking
  readonly dropped: string[]
}

/** OpenAI's temperatures go up to 2, Converse's up to 1. Claude refuses sampling with thinking, since 4.7 always. */
function sampling(request: ChatRequest, { model, thinking, dropped }: Sampling): { config: Json; fields: Json } {
  const { temperature, topP, topK } = request
  const isClaude = model.family === 'claude'
  const config: Json = {}
  if (isClaude && (thinking.on || model.claude?.sampling === 'never')) {
    // 1 is the default, so nothing is lost.
    if (temperature !== undefined && temperature !== 1) dropped.push('temperature')
    if (topP !== undefined && topP !== 1) dropped.push('top_p')
    if (topK !== undefined) dropped.push('top_k')
    return { config, fields: {} }
  }
  if (temperature !== undefined) {
    config.temperature = Math.min(temperature, 1)
    if (temperature > 1) dropped.push('temperature')
  }
  if (topP !== undefined) {
    // Newer Claude refuses both at once; `temperature` takes precedence.
    if (isClaude && temperature !== undefined) dropped.push('top_p')
    else config.topP = topP
  }
  return { config, fields: topKFields(topK, model, dropped) }
}

/** `top_k` is not a field of Converse: each vendor has its own name for it. */
function topKFields(topK: number | undefined, { family }: BedrockModel, dropped: string[]): Json {
  if (topK === undefined) return {}
  if (family === 'claude') return { top_k: topK }
  if (family === 'nova') return { inferenceConfig: { topK } }
  if (family === 'cohere') return { k: topK }
  dropped.push('top_k')
  return {}
}

/** `anthropic-beta` of the configuration: a header at Anthropic, a field here. */
function betas(target: Target, { family }: BedrockModel): Json {
  const { anthropic_beta: beta } = target.options
  return typeof beta === 'string' && family === 'claude'
    ? { anthropic_beta: beta.split(',').map(one => one.trim()) }
    : {}
}

function stopSequences({ stop = [] }: ChatRequest, dropped: string[]): string[] {
  const taken = stop.filter(one => one.trim() !== '')
  if (taken.length < stop.length) dropped.push('stop')
  return taken
}

/** `RequestMetadata` of botocore's model bedrock-runtime (2026-11): it filters the logs of invocations. */
const metadataEntriesMax = 16
const metadataKey = /^[a-zA-Z0-9\s:_@$#=/+,\-.]{1,256}$/
const metadataValue = /^[a-zA-Z0-9\s:_@$#=/+,\-.]{0,256}$/

/** The client's metadata as AWS takes it; what does not fit is left out, and the rest is kept. */
function requestMetadata({ metadata }: ChatRequest, dropped: string[]): Json | undefined {
  const all = Object.entries(metadata ?? {})
  const fits = ([key, value]: [string, unknown]): boolean =>
    metadataKey.test(key) && typeof value === 'string' && metadataValue.test(value)
  const kept = all.filter(fits).slice(0, metadataEntriesMax)
  if (kept.length < all.length) dropped.push('metadata')
  return kept.length > 0 ? Object.fromEntries(kept) : undefined
}

function serviceTier({ serviceTier: requested }: ChatRequest, dropped: string[]): string | undefined {
  if (requested === undefined || requested === 'auto') return undefined
  if (serviceTiers.has(requested)) return requested
  dropped.push('service_tier')
  return undefined
}
