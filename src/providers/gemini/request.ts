/** A chat request as the body of Gemini's `generateContent` (ai.google.dev/api/generate-content). */
import { namesOfSet } from '../../core/hub/chat-fields.ts'
import type { CarriedProperty } from '../../core/hub/chat-fields.ts'
import type { ChatRequest, Tool } from '../../core/hub/chat.ts'
import type { Target } from '../../core/provider.ts'
import { isObject, listOf, textOf } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { refuseImageUrls } from '../common/image-urls.ts'
import { conversation } from './contents.ts'
import { readableImages } from './media.ts'
import { geminiModel } from './model.ts'
import { geminiFetch } from '../../../rules/gemini.ts'
import type { GeminiModel } from './model.ts'
import { jsonSchema, openapiSchema } from './schema.ts'
import type { CleanSchema } from './schema.ts'
import { thinkingConfig } from './thinking.ts'
import { speechConfig } from './voice.ts'

const stopsMax = 5

/** A body for `generateContent` or `predict`; `dropped` = the fields it cannot carry, by OpenAI's names. */
export interface GeminiBody {
  readonly body: Json
  readonly dropped: readonly string[]
}

/** Differences between AI Studio and Vertex AI. */
interface HostFeatures {
  /** The host takes `id` on calls and their results. */
  readonly callIds: boolean
  /** The host takes `displayName` on files; only Vertex AI does. */
  readonly fileNames: boolean
}

/**
 * The body, and the fields it cannot carry, by OpenAI's names. Throws `invalid-request` for messages that Gemini does
 * not take, and for schemas that are too large for models before 2.5 once their references are expanded.
 */
export function generateBody(request: ChatRequest, target: Target, host: HostFeatures): GeminiBody {
  const model = geminiModel(target.model)
  const fetches = geminiFetch(target.provider.name, target.model)
  refuseImageUrls(request.messages, target, readableImages(fetches))
  const {
    contents,
    systemInstruction,
    dropped: ofMessages,
  } = conversation(request.messages, {
    model,
    fetches,
    ...host,
  })
  const dropped = [...droppedFields(request), ...ofMessages]
  const body: Json = { contents }
  if (systemInstruction) body.systemInstruction = systemInstruction
  const declared = tools(request, model, dropped)
  if (declared.length > 0) body.tools = declared
  const choice = toolConfig(request, model, dropped)
  if (choice) body.toolConfig = choice
  const tier = serviceTier(request, dropped)
  if (tier !== undefined) body.serviceTier = tier
  const config = generationConfig(request, model, dropped)
  takeExtra(request, { body, config, dropped })
  if (Object.keys(config).length > 0) body.generationConfig = config
  return { body, dropped: [...new Set(dropped)] }
}

const unknownProperties: readonly CarriedProperty[] = ['logitBias', 'user', 'metadata']

function droppedFields(request: ChatRequest): string[] {
  // Gemini calls in parallel when it likes.
  const dropped = namesOfSet(request, request.tools ? [...unknownProperties, 'parallelToolCalls'] : unknownProperties)
  if (request.tools?.some(tool => tool.cache)) dropped.push('cache_control')
  return dropped
}

/** Gemini's words for OpenAI's tiers (`ServiceTier` of @google/genai 3.1, 2026-11); `auto` is what it does unasked. */
const serviceTiers: ReadonlyMap<string, string> = new Map([
  ['default', 'standard'],
  ['flex', 'flex'],
  ['priority', 'priority'],
])

function serviceTier({ serviceTier: requestedTier }: ChatRequest, dropped: string[]): string | undefined {
  if (requestedTier === undefined || requestedTier === 'auto') return undefined
  const tier = serviceTiers.get(requestedTier)
  if (tier === undefined) dropped.push('service_tier')
  return tier
}

function generationConfig(request: ChatRequest, model: GeminiModel, dropped: string[]): Json {
  const config: Json = {}
  const seed = seedOf(request)
  if (seed !== request.seed) dropped.push('seed')
  const plain = {
    temperature: request.temperature,
    topP: request.topP,
    topK: request.topK,
    maxOutputTokens: request.maxOutputTokens,
    candidateCount: (request.choices ?? 1) > 1 ? request.choices : undefined,
    seed,
    presencePenalty: request.presencePenalty,
    frequencyPenalty: request.frequencyPenalty,
    responseLogprobs: request.logprobs || undefined,
    logprobs: request.logprobs ? request.topLogprobs : undefined,
    thinkingConfig: thinkingConfig(request, model, dropped),
  }
  for (const [name, value] of Object.entries(plain)) if (value !== undefined) config[name] = value
  const stops = (request.stop ?? []).filter(stop => stop !== '').slice(0, stopsMax)
  if (stops.length > 0) config.stopSequences = stops
  if (stops.length < (request.stop?.length ?? 0)) dropped.push('stop')
  responseFormat(request, model, { config, dropped })
  return config
}

/** The API's seed is an int32; a larger one is reduced to its lowest 32 bits. */
const seedOf = ({ seed }: ChatRequest): number | undefined =>
  seed === undefined ? undefined : Number(BigInt.asIntN(32, BigInt(Math.trunc(seed))))

/** A configuration under construction. */
interface ConfigDraft {
  readonly config: Json
  readonly dropped: string[]
}

function responseFormat(request: ChatRequest, model: GeminiModel, { config, dropped }: ConfigDraft): void {
  const format = request.responseFormat
  if (!format || format.type === 'text') return
  // Before Gemini 3, JSON mode and tools exclude each other; tools take precedence.
  if (request.tools && request.tools.length > 0 && !model.jsonBesideTools) {
    dropped.push('response_format')
    return
  }
  config.responseMimeType = 'application/json'
  if (format.type === 'json-object') return
  const where = 'response_format.json_schema.schema'
  const { schema, lost } = cleanSchema(format.schema, model, where)
  config[model.jsonSchema ? 'responseJsonSchema' : 'responseSchema'] = schema
  dropped.push(...lost.map(keyword => `${where}.${keyword}`))
}

function cleanSchema(schema: Json, model: GeminiModel, where: string): CleanSchema {
  return model.jsonSchema ? jsonSchema(schema) : openapiSchema(schema, where)
}

function tools(request: ChatRequest, model: GeminiModel, dropped: string[]): Json[] {
  if (!request.tools || request.tools.length === 0) return []
  return [{ functionDeclarations: request.tools.map(tool => declaration(tool, model, dropped)) }]
}

function declaration({ name, description, parameters }: Tool, model: GeminiModel, dropped: string[]): Json {
  const about: Json = { name, ...(description !== undefined && { description }) }
  if (!parameters) return about
  // Models from 2.5 on take any JSON Schema for a tool's parameters.
  if (model.jsonSchema) return { ...about, parametersJsonSchema: parameters }
  const { schema, lost } = openapiSchema(parameters, 'tools')
  dropped.push(...lost.map(keyword => `tools.function.parameters.${keyword}`))
  // An object without properties is refused; leaving `parameters` out means the same.
  return schema.type === 'OBJECT' && schema.properties === undefined ? about : { ...about, parameters: schema }
}

/**
 * `VALIDATED` and `ANY` hold the model to the schemas of its functions (ai.google.dev/gemini-api/docs/function-calling,
 * "Function calling modes", 2026-11-23); models before 2.5 know `ANY` alone.
 */
function toolConfig(request: ChatRequest, model: GeminiModel, dropped: string[]): Json | undefined {
  const { tools: offered, toolChoice } = request
  if (!offered || offered.length === 0) return undefined
  if (toolChoice === undefined || toolChoice === 'auto') {
    const isStrict = offered.some(tool => tool.strict === true)
    if (isStrict && model.jsonSchema) return { functionCallingConfig: { mode: 'VALIDATED' } }
    if (isStrict) dropped.push('tools.function.strict')
    return toolChoice && { functionCallingConfig: { mode: 'AUTO' } }
  }
  if (toolChoice === 'none') return { functionCallingConfig: { mode: 'NONE' } }
  if (toolChoice === 'required') return { functionCallingConfig: { mode: 'ANY' } }
  return { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: [toolChoice.name] } }
}

/** Adds fields that the hub lacks: of Gemini's dialect unchanged, of OpenAI's where Gemini has an equivalent. */
function takeExtra(request: ChatRequest, draft: ConfigDraft & { readonly body: Json }): void {
  const { format, fields } = request.extra
  if (format !== 'gemini-generate') {
    for (const [name, value] of Object.entries(fields))
      if (!takeField(name, value, { ...draft, request })) draft.dropped.push(name)
    return
  }
  for (const [name, value] of Object.entries(fields)) {
    if (name === 'generationConfig' && isObject(value))
      for (const [key, one] of Object.entries(value)) draft.config[key] ??= one
    else if (name === 'tools' && Array.isArray(value)) draft.body.tools = [...listOf(draft.body.tools), ...value]
    else draft.body[name] ??= value
  }
}

interface RequestDraft extends ConfigDraft {
  readonly body: Json
  readonly request: ChatRequest
}

/** Translates one of OpenAI's fields; false = Gemini has no equivalent. */
function takeField(name: string, value: unknown, { body, config, dropped, request }: RequestDraft): boolean {
  switch (name) {
    case 'modalities':
      config.responseModalities = listOf(value).map(one => textOf(one).toUpperCase())
      return true
    case 'audio': {
      if (!isObject(value)) return false
      // Audio is returned as raw 16-bit samples at 24 kHz, OpenAI's `pcm16`.
      if (value.format !== 'pcm16') dropped.push('audio.format')
      const speech = speechConfig(textOf(value.voice))
      if (speech.replaced) dropped.push('audio.voice')
      config.speechConfig = speech.config
      return true
    }
    case 'web_search_options':
      // Most models refuse search together with functions.
      if (request.tools && request.tools.length > 0) return false
      body.tools = [{ googleSearch: {} }]
      if (isObject(value) && Object.keys(value).length > 0)
        dropped.push(...Object.keys(value).map(key => `web_search_options.${key}`))
      return true
    case 'safety_settings':
      body.safetySettings = value
      return true
    case 'cached_content':
      body.cachedContent = value
      return true
    default:
      return false
  }
}
