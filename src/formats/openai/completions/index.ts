/**
 * Text completions (OpenAI API reference, "Completions", legacy). Models that only chat emulate them: each prompt
 * becomes a conversation of one user message. What cannot be emulated is refused, never ignored.
 */
import type { ChatRequest, Message } from '../../../core/chat.ts'
import { GatewayError } from '../../../core/errors.ts'
import type { ChatFormat, Inspection } from '../../../core/format.ts'
import type { JsonBody } from '../../../lib/json/json-body.ts'
import {
  booleanField,
  checkFields,
  integerBetween,
  ProblemList,
  readField,
  sharedChecks,
  stringField,
  parseChecked,
  textOf,
  unknownFields,
} from '../../common/field-checks.ts'
import type { Check, Fields } from '../../common/field-checks.ts'
import { includesUsage, readSampling } from '../chat/decode.ts'
import { checkStreamOptions } from '../chat/inspect.ts'
import { checkTexts } from '../../common/texts.ts'
import { readOverrides } from '../../common/overrides.ts'
import { CompletionsWriter, encodeCompletion } from './encode.ts'
import { openaiErrorBody, openaiErrorEvent } from '../error.ts'
import { openaiCompletionsForward } from '../forward.ts'

const promptsMax = 2048

function checkPrompt(value: unknown, problems: ProblemList): void {
  checkTexts({ field: 'prompt', most: promptsMax, emptyAllowed: true }, value, problems)
}

const completionChecks: ReadonlyMap<string, Check> = new Map<string, Check>([
  ...sharedChecks,
  ['prompt', checkPrompt],
  // 0 is legal here: with `echo` it scores the prompt.
  ['max_tokens', integerBetween('max_tokens', 0)],
  ['best_of', integerBetween('best_of', 0, 20)],
  ['echo', booleanField('echo')],
  ['logprobs', integerBetween('logprobs', 0, 20)],
  ['suffix', stringField('suffix')],
])

const knownFields: ReadonlySet<string> = new Set([
  'model',
  'prompt',
  'stream',
  'stream_options',
  'max_tokens',
  'n',
  'temperature',
  'top_p',
  'top_k',
  'stop',
  'seed',
  'frequency_penalty',
  'presence_penalty',
  'logit_bias',
  'logprobs',
  'best_of',
  'echo',
  'suffix',
  'user',
  'metadata',
])

function inspect(body: JsonBody): Inspection {
  const list = new ProblemList()
  checkFields(body, completionChecks, list)
  if (!body.has('prompt') || (body.sizeOf('prompt') <= 4 && readField(body, 'prompt') === null)) {
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

function refuseWhatCannotBeEmulated(fields: Fields): void {
  if (fields.echo === true && typeof fields.logprobs === 'number')
    throw refused('echo', 'has no logprobs of its prompt; leave out `echo` or `logprobs`')
  const bestOf = fields.best_of ?? 0
  // Asking for as many as one gets, or for one, changes nothing.
  if (typeof bestOf === 'number' && bestOf > 1 && bestOf !== (fields.n ?? 1))
    throw refused('best_of', 'cannot choose among hidden answers; leave it out, or set `n` to the same number')
  if (fields.max_tokens === 0) throw refused('max_tokens', 'always answers; send at least 1')
}

/** Without `max_tokens` the model's own limit holds: the old default of 16 cuts every chat short. */
function decode(body: JsonBody): ChatRequest {
  const fields = parseChecked(body, completionChecks)
  refuseWhatCannotBeEmulated(fields)
  const [first, ...more] = promptTexts(fields.prompt, typeof fields.n === 'number' ? fields.n : 1).map(conversation)
  const request: ChatRequest = {
    model: typeof fields.model === 'string' ? fields.model : '',
    messages: first!,
    stream: fields.stream === true,
    includeUsage: includesUsage(fields),
    extra: { format: 'openai-completions', fields: unknownFields(fields, knownFields) },
    ...(more.length > 0 && { series: more }),
  }
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
  inspect,
  overrides: readOverrides,
  decode,
  encode: encodeCompletion,
  writer: (model, request) => new CompletionsWriter(model, request),
  errorBody: openaiErrorBody,
  errorEvent: openaiErrorEvent,
  forward: openaiCompletionsForward,
}
