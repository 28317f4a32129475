/**
 * The forward lane of OpenAI's dialects: the client's bytes go to the upstream and back, and only what
 * must change is touched (the model's name, usage requested, gateway-only fields removed).
 */
import { defaultEffort } from '../../core/hub/chat-fields.ts'
import { brokenAnswer, GatewayError } from '../../core/errors.ts'
import type { ForwardedAnswer, ForwardRules } from '../../core/format.ts'
import { choiceEnding, finishReasonOf, reportedError } from '../../core/dialects/openai-chunk.ts'
import { readChunkUsage, readOpenaiUsage } from '../../core/usage/openai-usage.ts'
import type { FieldRules } from '../../core/dialects/field-rules.ts'
import type { Edit, JsonBody } from '../../lib/json/json-body.ts'
import { isObject } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { answerId } from '../common/answer-id.ts'
import { commonEdits } from '../common/forward-edits.ts'
import { editedAnswer, readWholeAnswer } from '../common/whole-answer.ts'
import { createdOr } from './answer-fields.ts'
import { chatMends } from './chat-repairs.ts'
import { embeddingsMends } from './embeddings-repairs.ts'
import { openaiErrorEvent } from './error.ts'
import { mendEdits } from './mends.ts'
import type { Mend } from './mends.ts'
import { OpenaiRelay } from './relay.ts'

/** Usage is always requested, so that every stream can be billed; the relay hides it from clients that did not ask. */
function streamEdits(body: JsonBody, rules: FieldRules): { edits: Edit[]; dropped: string[] } {
  const result = commonEdits(body, rules)
  if (body.has('reasoning_effort') && body.get('reasoning_effort') === defaultEffort)
    result.edits.push({ remove: 'reasoning_effort' })
  if (body.has('max_completion_tokens') && body.has('max_tokens')) alignMaximum(body, result.edits)
  if (!rules.countsLogprobs && body.has('logprobs')) sayLogprobs(body, result.edits)
  const streamOptions = body.get('stream_options')
  if (body.get('stream') !== true || rules.streamOptions === false) {
    if (body.has('stream_options')) result.edits.push({ remove: 'stream_options' })
  } else if (!streamOptions) {
    result.edits.push({ set: 'stream_options', json: '{"include_usage":true}' })
  } else if ((streamOptions as Record<string, unknown>).include_usage !== true) {
    result.edits.push({ set: 'stream_options', json: JSON.stringify({ ...streamOptions, include_usage: true }) })
  }
  return result
}

/** A number of alternatives, as two fields say it in the pure dialect. */
function sayLogprobs(body: JsonBody, edits: Edit[]): void {
  const count = body.get('logprobs')
  const isGone = edits.some(edit => 'remove' in edit && edit.remove === 'logprobs')
  if (typeof count !== 'number' || isGone) return
  edits.push({ set: 'logprobs', json: 'true' })
  if (count > 0 && !body.has('top_logprobs')) edits.push({ set: 'top_logprobs', json: JSON.stringify(count) })
}

/** One maximum counts in budgets: hosts that know the old name alone, or prefer it, must not read another there. */
function alignMaximum(body: JsonBody, edits: Edit[]): void {
  const maximum = body.get('max_completion_tokens')
  const isGone = edits.some(edit => 'remove' in edit && edit.remove === 'max_tokens')
  if (typeof maximum === 'number' && !isGone && body.get('max_tokens') !== maximum)
    edits.push({ set: 'max_tokens', json: JSON.stringify(maximum) })
}

/** What an answer of a dialect must have, and what clients break without. */
interface AnswerShape {
  /** A list; each of `choices` has to be finished. */
  readonly mustHave: 'choices' | 'data'
  /** Where a choice has its content; absent = there are no choices. */
  readonly content?: 'message' | 'text'
  /** What is put right in a parsed answer; `client` = the client's body. */
  readonly mends: (answer: Json, client: JsonBody | undefined) => readonly Mend[]
  /** Fields that clients demand, and the JSON that they are given where the upstream leaves them out. */
  readonly added: readonly (readonly [name: string, json: () => string])[]
}

/** What an answer is read with. */
interface Reading {
  readonly publicModel: string
  readonly shape: AnswerShape
  /** The client's body. */
  readonly client: JsonBody | undefined
}

/** Above this an answer is never text as a whole. */
const smallAnswerBytes = 64 * 1024
const decoder = new TextDecoder('utf-8', { fatal: true })

/** Up to 64 KiB as text, above by its outline. Throws `upstream-broken` for no JSON object, or without `mustHave`. */
function answerOf(bytes: Uint8Array, reading: Reading): ForwardedAnswer {
  return (
    (bytes.length <= smallAnswerBytes ? forwardSmall(bytes, reading) : undefined) ?? forwardOutlined(bytes, reading)
  )
}

/**
 * Nearly every answer: parsed by the platform, changed as text. Costs a quarter of the outline's time and
 * garbage. Undefined = the place of the model's name is not certain, something has to be put right, or the JSON is
 * none: the outline decides.
 */
function forwardSmall(bytes: Uint8Array, { publicModel, shape, client }: Reading): ForwardedAnswer | undefined {
  let text: string
  let answer: Record<string, unknown>
  try {
    text = decoder.decode(bytes)
    answer = JSON.parse(text) as Record<string, unknown>
  } catch {
    return undefined
  }
  if (!isObject(answer) || typeof answer.model !== 'string') return undefined
  checkList(answer, shape)
  if (shape.mends(answer, client).length > 0) return undefined
  const name = modelValue(text)
  if (!name) return undefined
  let value = answer.model === publicModel ? text.slice(name.from, name.to) : JSON.stringify(publicModel)
  for (const [name, json] of shape.added) if (!(name in answer)) value += `,"${name}":${json()}`
  return {
    body: text.slice(0, name.from) + value + text.slice(name.to),
    usage: readChunkUsage(answer),
    answeredModel: answer.model,
  }
}

/**
 * As strict as the translate lane (`providers/openai-compatible/read.ts`). Throws `upstream-broken` where the list is
 * none, or a choice is not finished, and what the upstream itself says of a failure.
 */
function checkList(answer: Json, { mustHave, content }: AnswerShape): void {
  const list = answer[mustHave]
  if (!Array.isArray(list) || (content && list.length === 0))
    throw reportedError(answer) ?? brokenAnswer(`the upstream's answer has no \`${mustHave}\``)
  if (!content) return
  for (const choice of list as unknown[]) {
    if (!isObject(choice) || choice[content] === undefined || choice[content] === null)
      throw brokenAnswer(`the upstream's answer has a choice without \`${content}\``)
    if (finishReasonOf(choice) === '') throw brokenAnswer("the upstream's answer has no finish reason")
    const ending = choiceEnding(choice, choice.error ?? answer.error)
    if (ending instanceof GatewayError) throw ending.withUsage(readChunkUsage(answer))
  }
}

const modelKey = '"model"'
/** A colon, and a string without escapes. */
const plainValue = /\s*:\s*("[^"\\]*")/y

/** Where the value of the only key (or text) `model` stands; undefined when there are several, or none so plain. */
function modelValue(text: string): { from: number; to: number } | undefined {
  const key = text.indexOf(modelKey)
  if (key < 0 || text.includes(modelKey, key + 1)) return undefined
  plainValue.lastIndex = key + modelKey.length
  const found = plainValue.exec(text)
  return found ? { from: plainValue.lastIndex - found[1]!.length, to: plainValue.lastIndex } : undefined
}

/** Any answer, by its outline: an answer of megabytes is never copied. */
function forwardOutlined(bytes: Uint8Array, { publicModel, shape, client }: Reading): ForwardedAnswer {
  const body = readWholeAnswer(bytes)
  const answer = body.parse()
  checkList(answer, shape)
  const added = shape.added.filter(([name]) => !body.has(name)).map(([name, json]) => ({ set: name, json: json() }))
  return forwardAnswer(body, publicModel, [...added, ...mendEdits(body, shape.mends(answer, client))])
}

/**
 * The answer under the public model's name, `more` changed too; copied only if something changes. Its usage is
 * undefined when the upstream reports none that is plausible.
 */
export function forwardAnswer(body: JsonBody, publicModel: string, more: readonly Edit[]): ForwardedAnswer {
  const edits = [...more]
  if (body.get('model') !== publicModel) edits.push({ set: 'model', json: JSON.stringify(publicModel) })
  return { body: editedAnswer(body, edits), usage: readOpenaiUsage(body.get('usage'), body.get('service_tier')) }
}

function includesUsage(body: JsonBody): boolean {
  const options = body.get('stream_options') as Record<string, unknown> | null | undefined
  return options?.include_usage === true
}

/** `n` for each prompt; a list of numbers is one prompt, as tokens. */
function choicesOf(body: JsonBody): number {
  const n = body.get('n')
  const prompt = body.has('prompt') ? body.get('prompt') : undefined
  const prompts = Array.isArray(prompt) && typeof prompt[0] !== 'number' ? prompt.length : 1
  return Math.max(prompts, 1) * (typeof n === 'number' && n > 1 ? n : 1)
}

/** OpenAI itself ends such a call with `stop` (API reference, "Function calling"), which clients know. */
const forcesFunction = (client: JsonBody | undefined): boolean => isObject(client?.get('tool_choice'))

const noMends = (): readonly Mend[] => []

/** @openrouter/sdk refuses an answer without the key; null is enough. */
const chatAnswer: AnswerShape = {
  mustHave: 'choices',
  content: 'message',
  mends: (answer, client) => chatMends(answer, forcesFunction(client)),
  added: [
    ['id', () => JSON.stringify(answerId('chatcmpl-', ''))],
    ['object', () => '"chat.completion"'],
    ['created', () => JSON.stringify(createdOr(undefined))],
    ['system_fingerprint', () => 'null'],
  ],
}
const completionAnswer: AnswerShape = { mustHave: 'choices', content: 'text', mends: noMends, added: [] }
/** @mistralai/mistralai refuses embeddings without an id, which OpenAI's have not. */
const embeddingsAnswer: AnswerShape = {
  mustHave: 'data',
  mends: embeddingsMends,
  added: [['id', () => JSON.stringify(answerId('embd-', ''))]],
}

/** Chat completions (API reference, "Chat"). A whole answer always has `system_fingerprint`, if only as null. */
export const openaiChatForward: ForwardRules = {
  edits: streamEdits,
  answer: (bytes, publicModel, _head, client) => answerOf(bytes, { publicModel, shape: chatAnswer, client }),
  relay: (publicModel, body) =>
    new OpenaiRelay({
      publicModel,
      showUsage: includesUsage(body),
      choices: choicesOf(body),
      forced: forcesFunction(body),
      errorEvent: openaiErrorEvent,
    }),
}

/** Text completions (API reference, "Completions", legacy); they stream as chats do. */
export const openaiCompletionsForward: ForwardRules = {
  edits: streamEdits,
  answer: (bytes, publicModel, _head, client) => answerOf(bytes, { publicModel, shape: completionAnswer, client }),
  relay: openaiChatForward.relay,
}

/** Embeddings (API reference, "Embeddings"), with an `id`. `relay` throws `internal`: there is nothing to stream. */
export const openaiEmbeddingsForward: ForwardRules = {
  edits: commonEdits,
  answer: (bytes, publicModel, _head, client) => answerOf(bytes, { publicModel, shape: embeddingsAnswer, client }),
  relay() {
    throw new GatewayError('internal', 'embeddings are never streamed')
  },
}
