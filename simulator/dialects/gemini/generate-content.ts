/**
 * Gemini's `generateContent` at AI Studio and Vertex AI, requests and responses:
 * https://ai.google.dev/api/generate-content.
 */
import { jsonResponse } from '../response.ts'
import { isJsonObject, objectsOf } from '../../lib/json.ts'
import type { SimulatedResponse, StreamEvent } from '../response.ts'
import type {
  GenerationRequest,
  ToolDefinition,
  Generation,
  GeneratedChoice,
  TokenUsage,
} from '../../generation/types.ts'
import type { JsonObject } from '../../lib/json.ts'
import { dataEvent } from '../stream-events.ts'
import { geminiError } from './error.ts'
import { pcmOf } from '../../generation/media.ts'
import { checkFunctions, checkThinking, invalid, spelled } from './request-rules.ts'
import { readMaxTokens, textOf } from '../openai/chat.ts'
import { hash, randomId, seededRandom } from '../../generation/random.ts'
import type { EndpointHandler, EndpointCall } from '../endpoint.ts'
import { countTokens } from '../../generation/tokens.ts'

const thinkingTokensMax = 16
const choicesMax = 8
const createdAt = '2025-01-01T00:00:00Z'

/** Converts types from Google's upper case to JSON Schema's lower case. */
function plainSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(plainSchema)
  if (!isJsonObject(schema)) return schema
  return Object.fromEntries(
    Object.entries(schema).map(([name, value]) => [
      name,
      name === 'type' && typeof value === 'string' ? value.toLowerCase() : plainSchema(value),
    ]),
  )
}

function contentsOf(body: JsonObject): JsonObject[] {
  const { contents } = body
  if (!Array.isArray(contents) || contents.length === 0 || !contents.every(isJsonObject))
    throw invalid('GenerateContentRequest.contents: contents is not specified')
  contents.forEach((content, at) => {
    if (content.role !== undefined && content.role !== 'user' && content.role !== 'model')
      throw invalid('Please use a valid role: user, model.')
    if (objectsOf(content.parts).length === 0)
      throw invalid(`GenerateContentRequest.contents[${at}].parts: contents.parts must not be empty.`)
  })
  return contents
}

const isGemini3 = (model: string): boolean => /gemini-3/.test(model)

/**
 * Gemini 3 requires the thought signature of the first function call of each model turn since the last user message:
 * https://ai.google.dev/gemini-api/docs/thought-signatures.
 */
function checkSignatures(contents: readonly JsonObject[], model: string): void {
  if (!isGemini3(model)) return
  const isUserText = (content: JsonObject): boolean =>
    content.role !== 'model' && objectsOf(content.parts).some(part => !isJsonObject(part.functionResponse))
  for (const content of contents.slice(contents.findLastIndex(isUserText) + 1)) {
    const call = objectsOf(content.parts).find(part => isJsonObject(part.functionCall))
    if (content.role === 'model' && call && typeof call.thoughtSignature !== 'string')
      throw invalid(
        'Function call is missing a thought_signature in functionCall parts. Function call ' +
          `\`${textOf((call.functionCall as JsonObject).name)}\`.`,
      )
  }
}

function resultText(part: JsonObject): string {
  const { response } = part.functionResponse as JsonObject
  if (!isJsonObject(response)) return ''
  return textOf(response.output) || textOf(response.result) || JSON.stringify(response)
}

function readTools(value: unknown): ToolDefinition[] {
  return objectsOf(value)
    .flatMap(tool => objectsOf(tool.functionDeclarations))
    .map(one => ({
      name: String(one.name ?? ''),
      schema: plainSchema(one.parametersJsonSchema ?? one.parameters),
      takesText: false,
    }))
}

function readToolChoice(toolConfig: unknown): GenerationRequest['toolChoice'] {
  const calling = isJsonObject(toolConfig) ? toolConfig.functionCallingConfig : undefined
  if (!isJsonObject(calling)) return 'auto'
  const [only, ...more] = Array.isArray(calling.allowedFunctionNames) ? calling.allowedFunctionNames : []
  if (calling.mode === 'ANY') return only !== undefined && more.length === 0 ? { name: String(only) } : 'required'
  return calling.mode === 'NONE' ? 'none' : 'auto'
}

function readThinking(config: JsonObject, model: string): number {
  const { thinkingConfig: thinking } = config
  if (!isJsonObject(thinking)) return 0
  checkThinking(thinking, model)
  if (typeof thinking.thinkingBudget === 'number' && thinking.thinkingBudget >= 0)
    return Math.min(thinking.thinkingBudget, thinkingTokensMax)
  return thinkingTokensMax
}

const configOf = (body: JsonObject): JsonObject => (isJsonObject(body.generationConfig) ? body.generationConfig : {})

/** Reads a request for content. Throws ApiError. */
export function readGenerate(sent: JsonObject, model: string): GenerationRequest {
  const body = spelled(sent)
  const contents = contentsOf(body)
  checkSignatures(contents, model)
  checkFunctions(body, contents)
  const config = configOf(body)
  const { candidateCount: choices = 1 } = config
  if (typeof choices !== 'number' || !Number.isInteger(choices) || choices < 1 || choices > choicesMax)
    throw invalid(`* GenerateContentRequest.generation_config.candidate_count: must be in the range [1, ${choicesMax}]`)
  const system = isJsonObject(body.systemInstruction) ? body.systemInstruction : {}
  const parts = contents.flatMap(content => objectsOf(content.parts))
  const results = objectsOf(contents.at(-1)!.parts).filter(part => isJsonObject(part.functionResponse))
  const users = contents.filter(content => content.role !== 'model').map(content => textOf(content.parts))
  const texts = [
    textOf(system.parts),
    textOf(parts),
    ...parts.filter(part => isJsonObject(part.functionResponse)).map(resultText),
  ]
  return {
    model,
    userText: users.findLast(text => text !== '') ?? '',
    conversationKey: JSON.stringify([system, contents, config.seed ?? null]),
    inputTokens: countTokens(texts.join('')),
    images: parts.filter(part => isJsonObject(part.inlineData) || isJsonObject(part.fileData)).length,
    ...(results.length > 0 && { toolResult: results.map(resultText).join(' ') }),
    tools: readTools(body.tools),
    toolChoice: readToolChoice(body.toolConfig),
    parallelTools: true,
    json:
      config.responseMimeType === 'application/json'
        ? { schema: plainSchema(config.responseJsonSchema ?? config.responseSchema) }
        : undefined,
    maxTokens: readMaxTokens(config.maxOutputTokens, 'max_output_tokens'),
    stop: Array.isArray(config.stopSequences) ? config.stopSequences.filter(stop => typeof stop === 'string') : [],
    choices,
    reasoningTokens: readThinking(config, model),
    wantsImage: requestsModality(config, 'IMAGE'),
  }
}

const requestsModality = (config: JsonObject, modality: string): boolean =>
  Array.isArray(config.responseModalities) && config.responseModalities.includes(modality)

function geminiUsage(usage: TokenUsage): JsonObject {
  return {
    promptTokenCount: usage.inputTokens,
    ...(usage.cachedTokens > 0 && { cachedContentTokenCount: usage.cachedTokens }),
    candidatesTokenCount: usage.outputTokens - usage.reasoningTokens,
    ...(usage.reasoningTokens > 0 && { thoughtsTokenCount: usage.reasoningTokens }),
    totalTokenCount: usage.inputTokens + usage.outputTokens,
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: usage.inputTokens }],
  }
}

const finishReasons = {
  stop: 'STOP',
  length: 'MAX_TOKENS',
  'tool-calls': 'STOP',
  'content-filter': 'SAFETY',
} as const

interface OutputOptions {
  readonly includesThoughts: boolean
  readonly wantsAudio: boolean
  /** The model signs its thinking, shown or not, at the first function call. */
  readonly signsThoughts: boolean
  readonly seed: number
}

function argumentsOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

const signatureOf = (choice: GeneratedChoice): string =>
  Buffer.from(randomId(seededRandom(hash(JSON.stringify(choice))), 96)).toString('base64')

/** The parts as streamed, each with its billed tokens. A function call comes in one part. */
function* partsOf(choice: GeneratedChoice, options: OutputOptions): Generator<[JsonObject, number]> {
  for (const text of choice.reasoning) if (options.includesThoughts) yield [{ text, thought: true }, 1]
  if (options.wantsAudio) {
    const sound = pcmOf(choice.text.join(''), seededRandom(hash(choice.text.join(''), options.seed)))
    yield [
      { inlineData: { mimeType: 'audio/L16;codec=pcm;rate=24000', data: sound.toString('base64') } },
      choice.text.length,
    ]
  } else for (const text of choice.text) yield [{ text }, 1]
  for (const { data, mediaType } of choice.images) yield [{ inlineData: { mimeType: mediaType, data } }, 0]
  const signature = options.signsThoughts && { thoughtSignature: signatureOf(choice) }
  for (const [at, call] of choice.calls.entries()) {
    const functionCall = { id: call.id.slice(0, 8), name: call.name, args: argumentsOf(call.pieces.join('')) }
    yield [{ functionCall, ...(at === 0 && signature) }, call.pieces.length]
  }
}

/** In a non-streamed response adjacent text parts are joined. */
function joinedParts(choice: GeneratedChoice, options: OutputOptions): JsonObject[] {
  const parts: JsonObject[] = []
  for (const [part] of partsOf(choice, options)) {
    const last = parts.at(-1)
    if (typeof part.text === 'string' && typeof last?.text === 'string' && part.thought === last.thought)
      last.text += part.text
    else parts.push({ ...part })
  }
  return parts
}

const headOf = (reply: Generation): JsonObject => ({
  modelVersion: reply.model,
  responseId: reply.id,
  createTime: createdAt,
})

function* generateEvents(
  reply: Generation,
  options: OutputOptions,
  { usage, write }: { usage: JsonObject | undefined; write: ChunkWriter },
): Generator<StreamEvent> {
  const reported = usage ? { usageMetadata: usage } : {}
  let count = 0
  const chunk = (candidate: JsonObject, kind: StreamEvent['kind'], tokens = 0): StreamEvent =>
    write(
      { candidates: [candidate], ...(kind === 'finish' && reported), ...headOf(reply) },
      { at: count++, kind, tokens },
    )
  for (const [index, choice] of reply.choices.entries()) {
    for (const [part, tokens] of partsOf(choice, options))
      yield chunk({ content: { role: 'model', parts: [part] }, index }, 'delta', tokens)
    const finishReason = finishReasons[choice.finish]
    // Reasoning is billed also when it is not shown.
    const hidden = options.includesThoughts ? 0 : choice.reasoning.length
    yield chunk({ content: { role: 'model', parts: [{ text: '' }] }, finishReason, index }, 'finish', hidden)
  }
}

type ChunkWriter = (value: JsonObject, place: { at: number; kind: StreamEvent['kind']; tokens: number }) => StreamEvent

const asEvent: ChunkWriter = (value, { kind, tokens }) => dataEvent(value, kind, tokens)

/** Without `alt=sse` a stream is a JSON array whose elements arrive one by one. */
const asElement: ChunkWriter = (value, { at, kind, tokens }) => ({
  text: `${at === 0 ? '[' : ',\r\n'}${JSON.stringify(value)}`,
  kind,
  tokens,
})

function* withEnd(events: Iterable<StreamEvent>): Generator<StreamEvent> {
  yield* events
  yield { text: '\r\n]', kind: 'end', tokens: 0 }
}

const failed = { status: 500 }

function streamOf(
  call: EndpointCall,
  reply: Generation,
  options: OutputOptions,
): Pick<SimulatedResponse, 'content' | 'headers' | 'failure'> {
  const usage = call.usageOf(geminiUsage)(reply.usage)
  if (/[?&]alt=sse\b/.test(call.request.target))
    return {
      headers: [],
      content: generateEvents(reply, options, { usage, write: asEvent }),
      failure: () => dataEvent(geminiError(failed), 'error'),
    }
  return {
    headers: [['content-type', 'application/json; charset=UTF-8']],
    content: withEnd(generateEvents(reply, options, { usage, write: asElement })),
    failure: at => ({
      text: `${at === 0 ? '[' : ',\r\n'}${JSON.stringify(geminiError(failed))}\r\n]`,
      kind: 'error',
      tokens: 0,
    }),
  }
}

/**
 * `generateContent` and `streamGenerateContent`; the latter streams a JSON array unless the query has `alt=sse`. Throws
 * ApiError.
 */
export const geminiGenerate: EndpointHandler = call => {
  const { body, model, seed } = call
  const reply = call.generate(readGenerate(body, model))
  const config = configOf(spelled(body))
  const thinking = isJsonObject(config.thinkingConfig) ? config.thinkingConfig : {}
  const options = {
    includesThoughts: thinking.includeThoughts === true,
    wantsAudio: requestsModality(config, 'AUDIO'),
    signsThoughts: reply.usage.reasoningTokens > 0 || isGemini3(model),
    seed,
  }
  const billable = { inputTokens: reply.usage.inputTokens, outputTokens: reply.usage.outputTokens }
  if (call.streams) return { status: 200, billable, ...streamOf(call, reply, options) }
  const usage = call.usageOf(geminiUsage)(reply.usage)
  const candidates = reply.choices.map((choice, index) => ({
    content: { role: 'model', parts: joinedParts(choice, options) },
    finishReason: finishReasons[choice.finish],
    index,
  }))
  return jsonResponse({ candidates, ...(usage && { usageMetadata: usage }), ...headOf(reply) }, billable)
}
