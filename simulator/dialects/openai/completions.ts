/** OpenAI text completions, both ends: https://platform.openai.com/docs/api-reference/completions. */
import { BadRequest, isJson } from '../../generation/types.ts'
import type { Answer, Ask, Json, Reply, StreamEvent, UsageOf } from '../../generation/types.ts'
import { dataEvent } from '../stream-events.ts'
import { createdS, fingerprint, interleave, logprobOf } from './chat.ts'
import { readChoices, readMaxTokens, readStop } from './chat.ts'
import { openaiFailure } from './error.ts'
import { countTokens } from '../../generation/tokens.ts'

/** What an absent `max_tokens` means to this vendor. */
const maxTokensDefault = 16

const isTokens = (value: unknown): value is number[] =>
  Array.isArray(value) && value.length > 0 && value.every(one => typeof one === 'number')

function promptsOf(value: unknown): (string | number[])[] {
  if (typeof value === 'string') return [value]
  if (isTokens(value)) return [value]
  if (Array.isArray(value) && value.length > 0 && value.every(one => typeof one === 'string' || isTokens(one)))
    return value
  if (value === undefined) return ['<|endoftext|>']
  throw new BadRequest("Invalid type for 'prompt': expected a string or an array of strings or token ids.", {
    param: 'prompt',
  })
}

/** Reads a text completion request: one question for each of its prompts. Throws BadRequest. */
export function readCompletion(body: Json, model: string): Ask[] {
  return promptsOf(body.prompt).map(prompt => {
    const isText = typeof prompt === 'string'
    return {
      model,
      userText: isText ? prompt : '',
      key: JSON.stringify([prompt, body.seed ?? null]),
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

function logprobs(body: Json, tokens: readonly string[], offset: number): Json | null {
  if (typeof body.logprobs !== 'number') return null
  const known = tokens.map(token => logprobOf(token, Math.max(Number(body.logprobs), 1)))
  let at = offset
  return {
    tokens,
    token_logprobs: known.map(one => one.logprob),
    top_logprobs: known.map(one =>
      Object.fromEntries((one.top_logprobs as Json[]).map(other => [other.token, other.logprob])),
    ),
    text_offset: tokens.map(token => (at += token.length) - token.length),
  }
}

interface Line {
  readonly index: number
  readonly echoed: string
  readonly tokens: readonly string[]
  readonly finish: string
}

function linesOf(replies: readonly Reply[], body: Json): Line[] {
  const prompts = promptsOf(body.prompt)
  return replies
    .flatMap((reply, at) => reply.choices.map(choice => ({ choice, prompt: prompts[at] })))
    .map(({ choice, prompt }, index) => ({
      index,
      echoed: body.echo === true && typeof prompt === 'string' ? prompt : '',
      tokens: choice.text,
      finish: choice.finish === 'length' ? 'length' : 'stop',
    }))
}

function* lineEvents(line: Line, body: Json, chunk: (choice: Json, kind: StreamEvent['kind']) => StreamEvent) {
  const choice = (text: string, more: Json): Json => ({ text, index: line.index, logprobs: null, ...more })
  if (line.echoed) yield chunk(choice(line.echoed, { finish_reason: null }), 'start')
  let offset = line.echoed.length
  for (const token of line.tokens) {
    yield chunk(choice(token, { logprobs: logprobs(body, [token], offset), finish_reason: null }), 'delta')
    offset += token.length
  }
  yield chunk(choice('', { finish_reason: line.finish }), 'finish')
}

/** The answer to a text completion request, whole or as a stream. */
export function writeCompletion(replies: readonly Reply[], body: Json, usageOf: UsageOf<Json | undefined>): Answer {
  const sum = (pick: (usage: Reply['usage']) => number) =>
    replies.reduce((total, reply) => total + pick(reply.usage), 0)
  const billed = {
    inputTokens: sum(usage => usage.inputTokens),
    outputTokens: sum(usage => usage.outputTokens),
    cachedTokens: sum(usage => usage.cachedTokens),
    cacheWriteTokens: sum(usage => usage.cacheWriteTokens),
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
  const lines = linesOf(replies, body)
  if (body.stream !== true) {
    const choices = lines.map(line => ({
      text: line.echoed + line.tokens.join(''),
      index: line.index,
      logprobs: logprobs(body, line.tokens, line.echoed.length),
      finish_reason: line.finish,
    }))
    const content = JSON.stringify({ ...head, choices, ...(usage ? { usage } : {}) })
    return { status: 200, headers: [], content, billable }
  }
  const mayReport = isJson(body.stream_options) && body.stream_options.include_usage === true && usage !== undefined
  const none = mayReport ? { usage: null } : {}
  const chunk = (choice: Json, kind: StreamEvent['kind']) =>
    dataEvent({ ...head, choices: [choice], ...none }, kind, kind === 'delta' ? 1 : 0)
  const events = (function* (): Generator<StreamEvent> {
    yield* interleave(lines.map(line => lineEvents(line, body, chunk)))
    if (mayReport) yield dataEvent({ ...head, choices: [], usage }, 'usage')
    yield dataEvent('[DONE]', 'end')
  })()
  return { status: 200, headers: [], content: events, billable, failure: openaiFailure }
}
