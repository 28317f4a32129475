/** Gemini's `generateContent`, both ends, at AI Studio and Vertex AI: https://ai.google.dev/api/generate-content. */
import { BadRequest, isJson, jsonAnswer, objectsOf } from '../../generation/types.ts'
import type { Answer, Ask, AskTool, Json, Reply, ReplyChoice, ReplyUsage, StreamEvent } from '../../generation/types.ts'
import { dataEvent } from '../stream-events.ts'
import { geminiError } from './error.ts'
import { pcmOf } from '../../generation/media.ts'
import { readMaxTokens, textOf } from '../openai/chat.ts'
import { hash, randomId, randomOf } from '../../generation/random.ts'
import type { Answerer, Talk } from '../endpoint.ts'
import { countTokens } from '../../generation/tokens.ts'

const thinkingTokensMax = 16
const choicesMax = 8
const createdAt = '2025-01-01T00:00:00Z'

/** Its own schemas write types in capitals. */
function plainSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(plainSchema)
  if (!isJson(schema)) return schema
  return Object.fromEntries(
    Object.entries(schema).map(([name, value]) => [
      name,
      name === 'type' && typeof value === 'string' ? value.toLowerCase() : plainSchema(value),
    ]),
  )
}

const invalid = (message: string): BadRequest => new BadRequest(message, { code: 'INVALID_ARGUMENT' })

function contentsOf(body: Json): Json[] {
  const { contents } = body
  if (!Array.isArray(contents) || contents.length === 0 || !contents.every(isJson))
    throw invalid('GenerateContentRequest.contents: contents is not specified')
  contents.forEach((content, at) => {
    if (content.role !== undefined && content.role !== 'user' && content.role !== 'model')
      throw invalid('Please use a valid role: user, model.')
    if (objectsOf(content.parts).length === 0)
      throw invalid(`GenerateContentRequest.contents[${at}].parts: contents.parts must not be empty.`)
  })
  return contents
}

const isThird = (model: string): boolean => /gemini-3/.test(model)

/** The third generation wants the proof of its thinking back, with the first call of each of its turns since the user spoke. */
function checkSignatures(contents: readonly Json[], model: string): void {
  if (!isThird(model)) return
  const isWord = (content: Json): boolean =>
    content.role !== 'model' && objectsOf(content.parts).some(part => !isJson(part.functionResponse))
  for (const content of contents.slice(contents.findLastIndex(isWord) + 1)) {
    const call = objectsOf(content.parts).find(part => isJson(part.functionCall))
    if (content.role === 'model' && call && typeof call.thoughtSignature !== 'string')
      throw invalid(
        `Function call is missing a thought_signature in functionCall parts. Function call \`${textOf((call.functionCall as Json).name)}\`.`,
      )
  }
}

function resultText(part: Json): string {
  const { response } = part.functionResponse as Json
  if (!isJson(response)) return ''
  return textOf(response.output) || textOf(response.result) || JSON.stringify(response)
}

function readTools(value: unknown): AskTool[] {
  return objectsOf(value)
    .flatMap(tool => objectsOf(tool.functionDeclarations))
    .map(one => ({
      name: String(one.name ?? ''),
      schema: plainSchema(one.parametersJsonSchema ?? one.parameters),
      takesText: false,
    }))
}

function readToolChoice(toolConfig: unknown): Ask['toolChoice'] {
  const calling = isJson(toolConfig) ? toolConfig.functionCallingConfig : undefined
  if (!isJson(calling)) return 'auto'
  const [only, ...more] = Array.isArray(calling.allowedFunctionNames) ? calling.allowedFunctionNames : []
  if (calling.mode === 'ANY') return only !== undefined && more.length === 0 ? { name: String(only) } : 'required'
  return calling.mode === 'NONE' ? 'none' : 'auto'
}

function readThinking(config: Json): number {
  const { thinkingConfig: thinking } = config
  if (!isJson(thinking)) return 0
  if (typeof thinking.thinkingBudget === 'number' && thinking.thinkingBudget >= 0)
    return Math.min(thinking.thinkingBudget, thinkingTokensMax)
  return thinkingTokensMax
}

const configOf = (body: Json): Json => (isJson(body.generationConfig) ? body.generationConfig : {})

/** Reads a request for content; throws BadRequest. */
export function readGenerate(body: Json, model: string): Ask {
  const contents = contentsOf(body)
  checkSignatures(contents, model)
  const config = configOf(body)
  const { candidateCount: choices = 1 } = config
  if (typeof choices !== 'number' || !Number.isInteger(choices) || choices < 1 || choices > choicesMax)
    throw invalid(`* GenerateContentRequest.generation_config.candidate_count: must be in the range [1, ${choicesMax}]`)
  const system = isJson(body.systemInstruction) ? body.systemInstruction : {}
  const parts = contents.flatMap(content => objectsOf(content.parts))
  const results = objectsOf(contents.at(-1)!.parts).filter(part => isJson(part.functionResponse))
  const users = contents.filter(content => content.role !== 'model').map(content => textOf(content.parts))
  const said = [
    textOf(system.parts),
    textOf(parts),
    ...parts.filter(part => isJson(part.functionResponse)).map(resultText),
  ]
  return {
    model,
    userText: users.findLast(text => text !== '') ?? '',
    key: JSON.stringify([system, contents, config.seed ?? null]),
    inputTokens: countTokens(said.join('')),
    images: parts.filter(part => isJson(part.inlineData) || isJson(part.fileData)).length,
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
    reasoningTokens: readThinking(config),
    paints: wants(config, 'IMAGE'),
  }
}

const wants = (config: Json, modality: string): boolean =>
  Array.isArray(config.responseModalities) && config.responseModalities.includes(modality)

function geminiUsage(usage: ReplyUsage): Json {
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

interface Shape {
  readonly showsThoughts: boolean
  readonly speaks: boolean
  /** The model proves its thinking, shown or not, with its first call. */
  readonly signs: boolean
  readonly seed: number
}

function argumentsOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

const signatureOf = (choice: ReplyChoice): string =>
  Buffer.from(randomId(randomOf(hash(JSON.stringify(choice))), 96)).toString('base64')

/** Parts in the pieces of a stream, each with what it is billed for. A call comes whole: its tokens are counted with it. */
function* partsOf(choice: ReplyChoice, shape: Shape): Generator<[Json, number]> {
  for (const text of choice.reasoning) if (shape.showsThoughts) yield [{ text, thought: true }, 1]
  if (shape.speaks) {
    const sound = pcmOf(choice.text.join(''), randomOf(hash(choice.text.join(''), shape.seed)))
    yield [
      { inlineData: { mimeType: 'audio/L16;codec=pcm;rate=24000', data: sound.toString('base64') } },
      choice.text.length,
    ]
  } else for (const text of choice.text) yield [{ text }, 1]
  for (const { data, mediaType } of choice.images) yield [{ inlineData: { mimeType: mediaType, data } }, 0]
  const signature = shape.signs && { thoughtSignature: signatureOf(choice) }
  for (const [at, call] of choice.calls.entries()) {
    const functionCall = { id: call.id.slice(0, 8), name: call.name, args: argumentsOf(call.pieces.join('')) }
    yield [{ functionCall, ...(at === 0 && signature) }, call.pieces.length]
  }
}

/** Texts that follow each other are one part of a whole answer. */
function joinedParts(choice: ReplyChoice, shape: Shape): Json[] {
  const parts: Json[] = []
  for (const [part] of partsOf(choice, shape)) {
    const last = parts.at(-1)
    if (typeof part.text === 'string' && typeof last?.text === 'string' && part.thought === last.thought)
      last.text += part.text
    else parts.push({ ...part })
  }
  return parts
}

const headOf = (reply: Reply): Json => ({
  modelVersion: reply.model,
  responseId: reply.id,
  createTime: createdAt,
})

function* generateEvents(
  reply: Reply,
  shape: Shape,
  { usage, write }: { usage: Json | undefined; write: Writer },
): Generator<StreamEvent> {
  const reported = usage ? { usageMetadata: usage } : {}
  let count = 0
  const chunk = (candidate: Json, kind: StreamEvent['kind'], tokens = 0): StreamEvent =>
    write(
      { candidates: [candidate], ...(kind === 'finish' && reported), ...headOf(reply) },
      { at: count++, kind, tokens },
    )
  for (const [index, choice] of reply.choices.entries()) {
    for (const [part, tokens] of partsOf(choice, shape))
      yield chunk({ content: { role: 'model', parts: [part] }, index }, 'delta', tokens)
    const finishReason = finishReasons[choice.finish]
    // Thoughts that are not shown are billed all the same.
    const hidden = shape.showsThoughts ? 0 : choice.reasoning.length
    yield chunk({ content: { role: 'model', parts: [{ text: '' }] }, finishReason, index }, 'finish', hidden)
  }
}

type Writer = (value: Json, place: { at: number; kind: StreamEvent['kind']; tokens: number }) => StreamEvent

const asEvent: Writer = (value, { kind, tokens }) => dataEvent(value, kind, tokens)

/** Without `alt=sse` a stream is an array whose elements come one by one. */
const asElement: Writer = (value, { at, kind, tokens }) => ({
  text: `${at === 0 ? '[' : ',\r\n'}${JSON.stringify(value)}`,
  kind,
  tokens,
})

function* withEnd(events: Iterable<StreamEvent>): Generator<StreamEvent> {
  yield* events
  yield { text: '\r\n]', kind: 'end', tokens: 0 }
}

const failed = { status: 500 }

function streamOf(talk: Talk, reply: Reply, shape: Shape): Pick<Answer, 'content' | 'headers' | 'failure'> {
  const usage = talk.usageOf(geminiUsage)(reply.usage)
  if (/[?&]alt=sse\b/.test(talk.request.target))
    return {
      headers: [],
      content: generateEvents(reply, shape, { usage, write: asEvent }),
      failure: () => dataEvent(geminiError(failed), 'error'),
    }
  return {
    headers: [['content-type', 'application/json; charset=UTF-8']],
    content: withEnd(generateEvents(reply, shape, { usage, write: asElement })),
    failure: at => ({
      text: `${at === 0 ? '[' : ',\r\n'}${JSON.stringify(geminiError(failed))}\r\n]`,
      kind: 'error',
      tokens: 0,
    }),
  }
}

/**
 * `generateContent` and `streamGenerateContent`, which gives one array unless the query has `alt=sse`. Throws
 * BadRequest.
 */
export const geminiGenerate: Answerer = talk => {
  const { body, model, seed } = talk
  const reply = talk.think(readGenerate(body, model))
  const config = configOf(body)
  const thinking = isJson(config.thinkingConfig) ? config.thinkingConfig : {}
  const shape = {
    showsThoughts: thinking.includeThoughts === true,
    speaks: wants(config, 'AUDIO'),
    signs: reply.usage.reasoningTokens > 0 || isThird(model),
    seed,
  }
  const billable = { inputTokens: reply.usage.inputTokens, outputTokens: reply.usage.outputTokens }
  if (talk.streams) return { status: 200, billable, ...streamOf(talk, reply, shape) }
  const usage = talk.usageOf(geminiUsage)(reply.usage)
  const candidates = reply.choices.map((choice, index) => ({
    content: { role: 'model', parts: joinedParts(choice, shape) },
    finishReason: finishReasons[choice.finish],
    index,
  }))
  return jsonAnswer({ candidates, ...(usage && { usageMetadata: usage }), ...headOf(reply) }, billable)
}
