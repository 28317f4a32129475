/** The hub's request in the words of Gemini's `generateContent` (ai.google.dev/api/generate-content). */
import { namesOfSet } from '../../core/chat-fields.ts'
import type { CarriedProperty } from '../../core/chat-fields.ts'
import type { ChatRequest, Tool } from '../../core/chat.ts'
import type { Target } from '../../core/provider.ts'
import { isObject, listOf, textOf } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { conversation } from './contents.ts'
import { geminiModel } from './model.ts'
import type { GeminiModel } from './model.ts'
import { jsonSchema, openapiSchema } from './schema.ts'
import type { CleanSchema } from './schema.ts'
import { thinkingConfig } from './thinking.ts'
import { speechConfig } from './voice.ts'

const stopsMax = 5

/** A body for `generateContent` or `predict`; `dropped` = what it could not carry, by OpenAI's names. */
export interface GeminiBody {
  readonly body: Json
  readonly dropped: readonly string[]
}

/** What differs between AI Studio and Vertex AI. */
interface HostWords {
  /** Calls and their results carry ids. */
  readonly callIds: boolean
  /** Files carry their names (`displayName`): Vertex AI's alone. */
  readonly fileNames: boolean
}

/**
 * The body, and what it could not carry, by OpenAI's names. Throws `invalid-request` for messages that Gemini cannot be
 * sent, and for schemas that are too large for older models once their references are written out.
 */
export function generateBody(request: ChatRequest, target: Target, host: HostWords): GeminiBody {
  const model = geminiModel(target.model)
  const talk = conversation(request.messages, { model, ...host })
  const dropped = [...droppedFields(request), ...talk.dropped]
  const body: Json = { contents: talk.contents }
  if (talk.systemInstruction) body.systemInstruction = talk.systemInstruction
  const declared = tools(request, model, dropped)
  if (declared.length > 0) body.tools = declared
  const choice = toolConfig(request)
  if (choice) body.toolConfig = choice
  const config = generationConfig(request, model, dropped)
  takeExtra(request, { body, config, dropped })
  if (Object.keys(config).length > 0) body.generationConfig = config
  return { body, dropped: [...new Set(dropped)] }
}

const unknownProperties: readonly CarriedProperty[] = ['logitBias', 'user', 'metadata', 'serviceTier']

function droppedFields(request: ChatRequest): string[] {
  // Gemini calls in parallel when it likes.
  const dropped = namesOfSet(request, request.tools ? [...unknownProperties, 'parallelToolCalls'] : unknownProperties)
  const unknown = {
    'tools.function.strict': request.tools?.some(tool => tool.strict === true) || undefined,
    cache_control: request.tools?.find(tool => tool.cache)?.cache,
  }
  for (const [name, value] of Object.entries(unknown)) if (value !== undefined) dropped.push(name)
  return dropped
}

function generationConfig(request: ChatRequest, model: GeminiModel, dropped: string[]): Json {
  const config: Json = {}
  const plain = {
    temperature: request.temperature,
    topP: request.topP,
    topK: request.topK,
    maxOutputTokens: request.maxOutputTokens,
    candidateCount: (request.choices ?? 1) > 1 ? request.choices : undefined,
    // The API counts in 32 bits; a larger seed is folded, always to the same one.
    seed: request.seed === undefined ? undefined : Number(BigInt.asIntN(32, BigInt(Math.trunc(request.seed)))),
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

interface Filling {
  readonly config: Json
  readonly dropped: string[]
}

function responseFormat(request: ChatRequest, model: GeminiModel, { config, dropped }: Filling): void {
  const format = request.responseFormat
  if (!format || format.type === 'text') return
  // Before Gemini 3, JSON answers and tools exclude each other; the tools are what the caller's program needs.
  if (request.tools && request.tools.length > 0 && model.version < 3) {
    dropped.push('response_format')
    return
  }
  config.responseMimeType = 'application/json'
  if (format.type === 'json-object') return
  const where = 'response_format.json_schema.schema'
  const { schema, lost } = cleanSchema(format.schema, model, where)
  config[readsJsonSchema(model) ? 'responseJsonSchema' : 'responseSchema'] = schema
  dropped.push(...lost.map(keyword => `${where}.${keyword}`))
}

const readsJsonSchema = (model: GeminiModel): boolean => model.version >= 2.5

function cleanSchema(schema: Json, model: GeminiModel, where: string): CleanSchema {
  return readsJsonSchema(model) ? jsonSchema(schema) : openapiSchema(schema, where)
}

function tools(request: ChatRequest, model: GeminiModel, dropped: string[]): Json[] {
  if (!request.tools || request.tools.length === 0) return []
  return [{ functionDeclarations: request.tools.map(tool => declaration(tool, model, dropped)) }]
}

function declaration({ name, description, parameters }: Tool, model: GeminiModel, dropped: string[]): Json {
  const about: Json = { name, ...(description !== undefined && { description }) }
  if (!parameters) return about
  // Newer models take any JSON Schema of a tool as it is.
  if (readsJsonSchema(model)) return { ...about, parametersJsonSchema: parameters }
  const { schema, lost } = openapiSchema(parameters, 'tools')
  dropped.push(...lost.map(keyword => `tools.function.parameters.${keyword}`))
  // An object without properties is refused; no parameters say the same.
  return schema.type === 'OBJECT' && schema.properties === undefined ? about : { ...about, parameters: schema }
}

function toolConfig({ tools: offered, toolChoice }: ChatRequest): Json | undefined {
  if (!offered || offered.length === 0 || toolChoice === undefined) return undefined
  if (toolChoice === 'auto') return { functionCallingConfig: { mode: 'AUTO' } }
  if (toolChoice === 'none') return { functionCallingConfig: { mode: 'NONE' } }
  if (toolChoice === 'required') return { functionCallingConfig: { mode: 'ANY' } }
  return { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: [toolChoice.name] } }
}

/** Fields that only one dialect knows: Gemini's own go in as they came, OpenAI's where there is a word for them. */
function takeExtra(request: ChatRequest, filling: Filling & { readonly body: Json }): void {
  const { format, fields } = request.extra
  if (format !== 'gemini-generate') {
    for (const [name, value] of Object.entries(fields))
      if (!takeOne(name, value, { ...filling, request })) filling.dropped.push(name)
    return
  }
  for (const [name, value] of Object.entries(fields)) {
    if (name === 'generationConfig' && isObject(value))
      for (const [key, one] of Object.entries(value)) filling.config[key] ??= one
    else if (name === 'tools' && Array.isArray(value)) filling.body.tools = [...listOf(filling.body.tools), ...value]
    else filling.body[name] ??= value
  }
}

interface ExtraPlace extends Filling {
  readonly body: Json
  readonly request: ChatRequest
}

/** false = there is no place for it. */
function takeOne(name: string, value: unknown, { body, config, dropped, request }: ExtraPlace): boolean {
  switch (name) {
    case 'modalities':
      config.responseModalities = listOf(value).map(one => textOf(one).toUpperCase())
      return true
    case 'audio': {
      if (!isObject(value)) return false
      // Sound comes as raw samples of 24 kHz, which OpenAI calls pcm16.
      if (value.format !== 'pcm16') dropped.push('audio.format')
      const speech = speechConfig(textOf(value.voice))
      if (speech.replaced) dropped.push('audio.voice')
      config.speechConfig = speech.config
      return true
    }
    case 'web_search_options':
      // A search beside functions is refused by most models.
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
