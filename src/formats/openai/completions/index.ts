/**
 * Text completions (OpenAI API reference, "Completions", legacy). Models that only chat emulate them: each prompt
 * becomes a conversation of one user message. What cannot be emulated is refused, never ignored.
 */
import { withNumber } from '../../common/maximum.ts'
import { sharedChatFields } from '../../../core/hub/chat-fields.ts'
import type { ChatRequest, Message } from '../../../core/hub/chat.ts'
import { GatewayError } from '../../../core/errors.ts'
import * as type from '../../../core/dialects/fields.ts'
import type { ChatFormat, Inspection } from '../../../core/format.ts'
import type { JsonBody } from '../../../lib/json/json-body.ts'
import { checkFields, ProblemList, readField, parseChecked, textOf } from '../../common/field-checks.ts'
import type { CheckedField } from '../../common/field-checks.ts'
import { fieldTable, isGiven, readFields, withChecks } from '../../common/field-table.ts'
import { overrideFields } from '../../common/gateway-fields.ts'
import { includesUsage, readSampling } from '../chat/decode.ts'
import { sharedChecks } from '../chat/fields.ts'
import { checkStreamOptions } from '../chat/inspect.ts'
import { checkTexts } from '../prompt-texts.ts'
import { readOverrides } from '../../common/overrides.ts'
import { CompletionsWriter, encodeCompletion } from './encode.ts'
import { openaiErrorBody, openaiErrorEvent } from '../error.ts'
import { openaiCompletionsForward } from '../forward.ts'
import type { Json } from '../../../lib/json/json-values.ts'

const promptsMax = 2048

function checkPrompt(value: unknown, problems: ProblemList): void {
  checkTexts({ field: 'prompt', most: promptsMax, emptyAllowed: true }, value, problems)
}

const completionFields: readonly CheckedField<ChatRequest>[] = [
  { name: 'model', schema: type.text },
  { name: 'prompt', schema: type.anyOf(type.text, { type: 'array' }), required: true, check: checkPrompt },
  // 0 is legal here: with `echo` it scores the prompt.
  { name: 'max_tokens', schema: type.integer(0), property: 'maxOutputTokens' },
  ...withChecks(sharedChatFields, sharedChecks),
  { name: 'top_k', schema: type.anything, property: 'topK', converted: true },
  { name: 'best_of', schema: type.integer(0, 20) },
  { name: 'echo', schema: type.boolean, description: 'true = the answer begins with the prompt.' },
  { name: 'logprobs', schema: type.integer(0, 20) },
  { name: 'suffix', schema: type.text },
]
/** By name; the request of "Create completion". */
export const completionTable = fieldTable<ChatRequest>([...completionFields, ...overrideFields])

function inspect(body: JsonBody): Inspection {
  const list = new ProblemList()
  checkFields(body, completionTable.checks, list)
  if (!isGiven(body, 'prompt')) {
    const remedy = body.has('messages') ? 'chat messages go to /v1/chat/completions' : 'send a string'
    list.add(['prompt'], `\`prompt\` is missing; ${remedy}`, 'missing')
  }
  if (body.has('stream_options')) checkStreamOptions(body, list)
  return {
    model: textOf(body, 'model'),
    stream: readField(body, 'stream') === true,
    endUser: textOf(body, 'user'),
    problems: list.problems,
  }
}

function refused(field: string, why: string): GatewayError {
  return new GatewayError('invalid-request', `\`${field}\`: this model only chats, and ${why}`, {
    param: field,
  })
}

/** Every prompt is asked by itself, so that a long list takes long: as many answers as OpenAI's `n` allows. */
const answersMax = 128

function promptTexts(prompt: unknown, answersEach: number): string[] {
  if (typeof prompt === 'string') return [prompt]
  const prompts = prompt as unknown[]
  if (typeof prompts[0] !== 'string')
    throw refused('prompt', 'needs text instead of token ids; send the prompt as a string')
  if (prompts.length * answersEach > answersMax)
    throw refused('prompt', `gives at most ${answersMax} answers a call, prompts times \`n\`; send several calls`)
  return prompts as string[]
}

function refuseWhatCannotBeEmulated(fields: Json): void {
  if (fields.echo === true && typeof fields.logprobs === 'number')
    throw refused('echo', 'has no logprobs of its prompt; leave out `echo` or `logprobs`')
  const bestOf = fields.best_of ?? 0
  // `best_of` equal to `n`, or 1, changes nothing.
  if (typeof bestOf === 'number' && bestOf > 1 && bestOf !== (fields.n ?? 1))
    throw refused('best_of', 'cannot choose among hidden answers; leave it out, or set `n` to the same number')
  if (fields.max_tokens === 0) throw refused('max_tokens', 'always answers; send at least 1')
}

/** Without `max_tokens` the model's own limit holds: the old default of 16 cuts every chat short. */
function decode(body: JsonBody): ChatRequest {
  const fields = parseChecked(body)
  refuseWhatCannotBeEmulated(fields)
  const [first, ...more] = promptTexts(fields.prompt, typeof fields.n === 'number' ? fields.n : 1).map(conversation)
  const request: ChatRequest = {
    model: typeof fields.model === 'string' ? fields.model : '',
    messages: first!,
    stream: fields.stream === true,
    includeUsage: includesUsage(fields),
    extra: { format: 'openai-completions', fields: {} },
    ...(more.length > 0 && { series: more }),
  }
  readFields(fields, completionTable, request, request.extra.fields)
  readSampling(fields, request)
  if (typeof fields.logprobs === 'number') {
    request.logprobs = true
    request.topLogprobs = fields.logprobs
  }
  if (typeof fields.suffix === 'string' && fields.suffix !== '') {
    request.extra.fields.suffix = fields.suffix
    request.essentialExtra = ['suffix']
  }
  if (fields.echo === true) {
    // The answer repeats the prompt: nothing is asked of the upstream.
    request.extra.fields.echo = true
    request.understoodExtra = ['echo']
  }
  return request
}

function conversation(prompt: string): Message[] {
  return [{ role: 'user', parts: [{ type: 'text', text: prompt }] }]
}

/** `/v1/completions`. */
export const openaiCompletions: ChatFormat = {
  dialect: 'openai-completions',
  operation: 'completions',
  fieldNames: completionTable.names,
  inspect,
  overrides: readOverrides,
  decode,
  withMaximum: (body, tokens) => withNumber(body, 'max_tokens', tokens),
  encode: encodeCompletion,
  writer: (model, request) => new CompletionsWriter(model, request),
  errorBody: openaiErrorBody,
  errorEvent: openaiErrorEvent,
  forward: openaiCompletionsForward,
}
