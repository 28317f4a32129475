/**
 * Mistral's differences from OpenAI: unknown fields are errors, tool call ids have nine characters, the order of roles
 * is checked, tool calls are not streamed in pieces, reasoning is part of the content. https://docs.mistral.ai/api
 */
import { ApiError, jsonResponse } from '../response.ts'
import { objectsOf } from '../../lib/json.ts'
import type { SimulatedResponse, StreamEvent } from '../response.ts'
import type { GenerationRequest, Generation, GeneratedChoice, TokenUsage } from '../../generation/types.ts'
import type { JsonObject } from '../../lib/json.ts'
import { dataEvent } from '../stream-events.ts'
import { mistralError } from './error.ts'
import { createdS, readChat, readMaxTokens, readStop, textOf } from '../openai/chat.ts'
import { moderatedTexts, scoresOf, flagsOf } from '../openai/moderations.ts'
import { answerEmbeddings, openaiDimensions } from '../openai/embeddings.ts'
import { hash, randomId, seededRandom } from '../../generation/random.ts'
import type { EndpointHandler, EndpointCall } from '../endpoint.ts'
import { countTokens } from '../../generation/tokens.ts'

const thinkingTokens = 16
const dimensionsDefault = 1024

const chatFields: ReadonlySet<string> = new Set([
  'model',
  'temperature',
  'top_p',
  'max_tokens',
  'stream',
  'stop',
  'random_seed',
  'metadata',
  'messages',
  'response_format',
  'tools',
  'tool_choice',
  'presence_penalty',
  'frequency_penalty',
  'n',
  'prediction',
  'parallel_tool_calls',
  'reasoning_effort',
  'prompt_mode',
  'guardrails',
  'prompt_cache_key',
  'service_tier',
  'safe_prompt',
])
const fillInFields: ReadonlySet<string> = new Set([
  'model',
  'temperature',
  'top_p',
  'max_tokens',
  'min_tokens',
  'stream',
  'stop',
  'random_seed',
  'metadata',
  'prompt',
  'suffix',
  'prompt_cache_key',
])
const embeddingFields: ReadonlySet<string> = new Set([
  'model',
  'input',
  'metadata',
  'output_dimension',
  'output_dtype',
  'encoding_format',
])
const categories = [
  'sexual',
  'hate_and_discrimination',
  'violence_and_threats',
  'dangerous_and_criminal_content',
  'selfharm',
  'health',
  'financial',
  'law',
  'pii',
]

function checkFields(body: JsonObject, known: ReadonlySet<string>): void {
  const extra = Object.keys(body).find(name => !known.has(name))
  if (extra !== undefined)
    throw new ApiError('Extra inputs are not permitted', {
      status: 422,
      param: extra,
      code: 'extra_forbidden',
    })
}

const invalid = (message: string, code: string): ApiError => new ApiError(message, { code })

function checkId(id: unknown): void {
  if (typeof id !== 'string' || !/^[A-Za-z0-9]{9}$/.test(id))
    throw invalid(`Tool call id was ${String(id)} but must be a-z, A-Z, 0-9, with a length of 9.`, '3280')
}

/** The rules of mistral-common's validator: https://github.com/mistralai/mistral-common. */
function checkOrder(messages: readonly JsonObject[]): void {
  let open = 0
  for (const [at, message] of messages.entries()) {
    const before = messages[at - 1]?.role
    const calls = objectsOf(message.tool_calls)
    if (message.role === 'tool') {
      checkId(message.tool_call_id)
      if (--open < 0) throw invalid('Not the same number of function calls and responses', '3230')
    } else {
      if (open > 0) throw invalid('Not the same number of function calls and responses', '3230')
      if (before === 'tool' && message.role !== 'assistant')
        throw invalid(`Unexpected role '${String(message.role)}' after role 'tool'`, '3230')
    }
    if (message.role === 'system' && before === 'assistant')
      throw invalid("Unexpected role 'system' after role 'assistant'", '3230')
    if (message.role === 'developer')
      throw new ApiError("Input tag 'developer' found using 'role' does not match any of the expected tags", {
        status: 422,
        param: `messages.${at}.role`,
      })
    for (const call of calls) checkId(call.id)
    if (message.role === 'assistant' && calls.length === 0 && (message.content === '' || message.content == null))
      throw invalid('Assistant message must have either content or tool_calls, but not none.', '3240')
    open += calls.length
  }
  const last = messages.at(-1)!
  if (last.role !== 'user' && last.role !== 'tool' && !(last.role === 'assistant' && last.prefix === true))
    throw invalid(
      `Expected last role User or Tool (or Assistant with prefix True) for serving but got ${String(last.role)}`,
      '3230',
    )
}

const thinks = (body: JsonObject, model: string): boolean =>
  body.reasoning_effort === 'high' || (/magistral/.test(model) && body.prompt_mode !== null)

function readMistral(body: JsonObject, model: string): GenerationRequest {
  checkFields(body, chatFields)
  if (!Array.isArray(body.messages) || body.messages.length === 0)
    throw new ApiError('Field required', { status: 422, param: 'messages', code: 'missing' })
  checkOrder(objectsOf(body.messages))
  if (body.reasoning_effort !== undefined && body.reasoning_effort !== 'high' && body.reasoning_effort !== 'none')
    throw new ApiError("Input should be 'high' or 'none'", {
      status: 422,
      param: 'reasoning_effort',
      code: 'literal_error',
    })
  const request = readChat(
    {
      ...body,
      tool_choice: body.tool_choice === 'any' ? 'required' : body.tool_choice,
      seed: body.random_seed,
    },
    model,
  )
  return { ...request, reasoningTokens: thinks(body, model) ? thinkingTokens : 0, wantsImage: false }
}

function mistralUsage({ inputTokens, outputTokens }: TokenUsage): JsonObject {
  return {
    prompt_tokens: inputTokens,
    total_tokens: inputTokens + outputTokens,
    completion_tokens: outputTokens,
  }
}

function callsOf(choice: GeneratedChoice): JsonObject[] {
  return choice.calls.map((call, index) => ({
    id: call.id.slice(0, 9),
    type: 'function',
    function: { name: call.name, arguments: call.pieces.join('') },
    index,
  }))
}

const finishReason = (choice: GeneratedChoice): string =>
  choice.finish === 'content-filter' ? 'error' : choice.finish.replace('-', '_')

const thought = (text: string): JsonObject => ({ type: 'thinking', thinking: [{ type: 'text', text }] })

/** A text, or a list of parts when there is reasoning. */
function contentOf(choice: GeneratedChoice): unknown {
  const text = choice.text.join('')
  if (choice.reasoning.length === 0) return text
  return [{ ...thought(choice.reasoning.join('')), closed: true }, ...(text === '' ? [] : [{ type: 'text', text }])]
}

const headOf = (reply: Generation, object: string): JsonObject => ({
  id: Buffer.from(reply.id).toString('hex').slice(0, 32),
  object,
  created: createdS,
  model: reply.model,
})

/** Usage is always sent, in the last chunk; tool calls come in one piece together with the finish reason. */
function* chatEvents(reply: Generation, usage: JsonObject | undefined): Generator<StreamEvent> {
  const head = headOf(reply, 'chat.completion.chunk')
  const chunk = (index: number, delta: JsonObject, kind: 'start' | 'delta'): StreamEvent =>
    dataEvent({ ...head, choices: [{ index, delta, finish_reason: null }] }, kind, kind === 'delta' ? 1 : 0)
  for (const [index, choice] of reply.choices.entries()) {
    yield chunk(index, { role: 'assistant', content: '' }, 'start')
    for (const piece of choice.reasoning) yield chunk(index, { content: [thought(piece)] }, 'delta')
    for (const piece of choice.text) yield chunk(index, { content: piece }, 'delta')
    const calls = callsOf(choice)
    const tokens = choice.calls.reduce((sum, call) => sum + call.pieces.length, 0)
    const delta = { content: '', ...(calls.length > 0 && { tool_calls: calls }) }
    const last = { ...head, choices: [{ index, delta, finish_reason: finishReason(choice) }], ...(usage && { usage }) }
    yield dataEvent(last, 'finish', tokens)
  }
  yield dataEvent('[DONE]', 'end')
}

const failure = (): StreamEvent => dataEvent(mistralError({ status: 500 }), 'error')

function write(reply: Generation, { body, usageOf }: EndpointCall): SimulatedResponse {
  const usage = usageOf(mistralUsage)(reply.usage)
  const billable = { inputTokens: reply.usage.inputTokens, outputTokens: reply.usage.outputTokens }
  if (body.stream === true) return { status: 200, headers: [], content: chatEvents(reply, usage), billable, failure }
  const choices = reply.choices.map((choice, index) => ({
    index,
    finish_reason: finishReason(choice),
    message: {
      role: 'assistant',
      tool_calls: choice.calls.length > 0 ? callsOf(choice) : null,
      content: contentOf(choice),
    },
  }))
  return jsonResponse({ ...headOf(reply, 'chat.completion'), ...(usage && { usage }), choices }, billable)
}

/** Chat completions. Unknown fields are refused with 422. Throws ApiError. */
export const mistralChat: EndpointHandler = call => write(call.generate(readMistral(call.body, call.model)), call)

/** Fill-in-the-middle completions: the text between a prompt and a suffix. Throws ApiError. */
export const mistralFillIn: EndpointHandler = call => {
  const { body, model } = call
  checkFields(body, fillInFields)
  if (typeof body.prompt !== 'string')
    throw new ApiError('Field required', { status: 422, param: 'prompt', code: 'missing' })
  const request: GenerationRequest = {
    model,
    userText: body.prompt,
    conversationKey: JSON.stringify([body.prompt, body.suffix ?? null, body.random_seed ?? null]),
    inputTokens: countTokens(body.prompt + textOf(body.suffix)),
    images: 0,
    tools: [],
    toolChoice: 'none',
    parallelTools: false,
    maxTokens: readMaxTokens(body.max_tokens, 'max_tokens'),
    stop: readStop(body.stop),
    choices: 1,
    reasoningTokens: 0,
  }
  return write(call.generate(request), call)
}

/** Embeddings as OpenAI's, with an id and `output_dimension`. Throws ApiError. */
export const mistralEmbeddings: EndpointHandler = ({ body, model, seed, usageOf }) => {
  checkFields(body, embeddingFields)
  const dimensions = openaiDimensions(body.output_dimension, dimensionsDefault)
  const answer = answerEmbeddings({ ...body, dimensions }, { model, seed, usageOf: usageOf(mistralUsage) })
  const id = randomId(seededRandom(hash(JSON.stringify(body.input), seed)), 32)
  return { ...answer, content: JSON.stringify({ id, ...(JSON.parse(String(answer.content)) as JsonObject) }) }
}

/** Moderations: scores and categories, without an overall verdict. */
export const mistralModerations: EndpointHandler = ({ body, model, seed }) => {
  const results = moderatedTexts(body.input).map(text => {
    const scores = scoresOf(text, categories, seed)
    return { categories: flagsOf(scores), category_scores: scores }
  })
  return jsonResponse({ id: randomId(seededRandom(hash(JSON.stringify(body.input), seed)), 32), model, results })
}
