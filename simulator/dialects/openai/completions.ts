/** OpenAI text completions, requests and responses: https://platform.openai.com/docs/api-reference/completions. */
import { ApiError } from '../response.ts'
import { isJsonObject } from '../../lib/json.ts'
import type { SimulatedResponse, StreamEvent } from '../response.ts'
import type { GenerationRequest, Generation, UsageWriter } from '../../generation/types.ts'
import type { JsonObject } from '../../lib/json.ts'
import { dataEvent } from '../stream-events.ts'
import { createdS, fingerprint, interleave, logprobOf } from './chat.ts'
import { readChoices, readMaxTokens, readStop } from './chat.ts'
import { openaiFailure } from './error.ts'
import { countTokens } from '../../generation/tokens.ts'

/** OpenAI's default of `max_tokens`. */
const maxTokensDefault = 16

const isTokens = (value: unknown): value is number[] =>
  Array.isArray(value) && value.length > 0 && value.every(one => typeof one === 'number')

function promptsOf(value: unknown): (string | number[])[] {
  if (typeof value === 'string') return [value]
  if (isTokens(value)) return [value]
  if (Array.isArray(value) && value.length > 0 && value.every(one => typeof one === 'string' || isTokens(one)))
    return value
  if (value === undefined) return ['<|endoftext|>']
  throw new ApiError("Invalid type for 'prompt': expected a string or an array of strings or token ids.", {
    param: 'prompt',
  })
}

/** Reads a text completion request: one generation for each prompt. Throws ApiError. */
export function readCompletion(body: JsonObject, model: string): GenerationRequest[] {
  return promptsOf(body.prompt).map(prompt => {
    const isText = typeof prompt === 'string'
    return {
      model,
      userText: isText ? prompt : '',
      conversationKey: JSON.stringify([prompt, body.seed ?? null]),
      inputTokens: isText ? countTokens(prompt) : prompt.length,
      images: 0,
      tools: [],
      toolChoice: 'none',
      parallelTools: false,
      maxTokens: readMaxTokens(body.max_tokens, 'max_tokens') ?? maxTokensDefault,
      stop: readStop(body.stop),
      choices: readChoices(body.n),
      reasoningTokens: 0,
    }
  })
}

function logprobs(body: JsonObject, tokens: readonly string[], offset: number): JsonObject | null {
  if (typeof body.logprobs !== 'number') return null
  const known = tokens.map(token => logprobOf(token, Math.max(Number(body.logprobs), 1)))
  let at = offset
  return {
    tokens,
    token_logprobs: known.map(one => one.logprob),
    top_logprobs: known.map(one =>
      Object.fromEntries((one.top_logprobs as JsonObject[]).map(other => [other.token, other.logprob])),
    ),
    text_offset: tokens.map(token => (at += token.length) - token.length),
  }
}

interface CompletionChoice {
  readonly index: number
  readonly echoedPrompt: string
  readonly tokens: readonly string[]
  readonly finish: string
}

function choicesOf(replies: readonly Generation[], body: JsonObject): CompletionChoice[] {
  const prompts = promptsOf(body.prompt)
  return replies
    .flatMap((reply, at) => reply.choices.map(choice => ({ choice, prompt: prompts[at] })))
    .map(({ choice, prompt }, index) => ({
      index,
      echoedPrompt: body.echo === true && typeof prompt === 'string' ? prompt : '',
      tokens: choice.text,
      finish: choice.finish === 'length' ? 'length' : 'stop',
    }))
}

function* choiceEvents(
  completion: CompletionChoice,
  body: JsonObject,
  chunk: (choice: JsonObject, kind: StreamEvent['kind']) => StreamEvent,
) {
  const choice = (text: string, more: JsonObject): JsonObject => ({
    text,
    index: completion.index,
    logprobs: null,
    ...more,
  })
  if (completion.echoedPrompt) yield chunk(choice(completion.echoedPrompt, { finish_reason: null }), 'start')
  let offset = completion.echoedPrompt.length
  for (const token of completion.tokens) {
    yield chunk(choice(token, { logprobs: logprobs(body, [token], offset), finish_reason: null }), 'delta')
    offset += token.length
  }
  yield chunk(choice('', { finish_reason: completion.finish }), 'finish')
}

/** The response to a text completion request, streamed or not. */
export function writeCompletion(
  replies: readonly Generation[],
  body: JsonObject,
  usageOf: UsageWriter,
): SimulatedResponse {
  const sum = (pick: (usage: Generation['usage']) => number) =>
    replies.reduce((total, reply) => total + pick(reply.usage), 0)
  const billed = {
    inputTokens: sum(usage => usage.inputTokens),
    outputTokens: sum(usage => usage.outputTokens),
    cachedTokens: sum(usage => usage.cachedTokens),
    cacheWriteTokens: sum(usage => usage.cacheWriteTokens),
    cacheWriteOneHourTokens: 0,
    reasoningTokens: 0,
  }
  const usage = usageOf(billed)
  const billable = { inputTokens: billed.inputTokens, outputTokens: billed.outputTokens }
  const head = {
    id: `cmpl-${replies[0]!.id}`,
    object: 'text_completion',
    created: createdS,
    model: replies[0]!.model,
    system_fingerprint: fingerprint,
  }
  const completions = choicesOf(replies, body)
  if (body.stream !== true) {
    const choices = completions.map(one => ({
      text: one.echoedPrompt + one.tokens.join(''),
      index: one.index,
      logprobs: logprobs(body, one.tokens, one.echoedPrompt.length),
      finish_reason: one.finish,
    }))
    const content = JSON.stringify({ ...head, choices, ...(usage ? { usage } : {}) })
    return { status: 200, headers: [], content, billable }
  }
  const mayReport =
    isJsonObject(body.stream_options) && body.stream_options.include_usage === true && usage !== undefined
  const none = mayReport ? { usage: null } : {}
  const chunk = (choice: JsonObject, kind: StreamEvent['kind']) =>
    dataEvent({ ...head, choices: [choice], ...none }, kind, kind === 'delta' ? 1 : 0)
  const events = (function* (): Generator<StreamEvent> {
    yield* interleave(completions.map(one => choiceEvents(one, body, chunk)))
    if (mayReport) yield dataEvent({ ...head, choices: [], usage }, 'usage')
    yield dataEvent('[DONE]', 'end')
  })()
  return { status: 200, headers: [], content: events, billable, failure: openaiFailure }
}
