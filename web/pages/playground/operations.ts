/** What can be asked of models: fields, parameters, the request that they make, and how its answer is read. */
import { answerTokens, shares, temperatures } from '../../lib/number-text.ts'
import type { NumberRange } from '../../lib/number-text.ts'
import type { StringKey } from '../../strings/index.ts'
import type { StringKey as OwnKey } from '../playground.page.ts'
import {
  chatEvent,
  messageEvent,
  responseEvent,
  wholeChat,
  wholeCompletion,
  wholeEmbeddings,
  wholeImages,
  wholeMessage,
  wholeModeration,
  wholeRanking,
  wholeResponse,
  wholeTranscription,
} from './output.ts'
import type { Output } from './output.ts'

/** What is typed once for all columns. */
export interface Input {
  /** Instructions for the model; empty = none. */
  readonly system: string
  /** The message, prompt, query, or texts with one a line. */
  readonly text: string
  /** One a line. */
  readonly documents: string
  readonly file: File | null
}

/** A value of a request that each column may set for itself. */
export interface Parameter {
  /** Its name in the request. */
  readonly name: string
  readonly title: OwnKey
  /** Absent = a text. */
  readonly number?: {
    readonly unit: OwnKey | null
    readonly range: NumberRange
    readonly step: number
  }
  readonly choices?: readonly string[]
}

/** Values of parameters by name. */
export type Parameters = Readonly<Record<string, string | number>>

/** A request without its model, as JSON. */
export type Body = Readonly<Record<string, unknown>>

/** One kind of call. */
export interface Operation {
  /** Other pages name it, too. */
  readonly title: StringKey
  /** Of the gateway. */
  readonly path: string
  /** `mode` of the models that take it. */
  readonly modes: readonly string[]
  /** The fields of `Input` that it has. */
  readonly fields: readonly (keyof Input)[]
  /** What `text` is here. */
  readonly textTitle: OwnKey
  readonly textHelp?: OwnKey
  readonly parameters: readonly Parameter[]
  readonly body: (input: Input) => Body
  /** Where parameters do not simply stand in the body. */
  readonly nestParameters?: (parameters: Parameters) => Body
  /** Reads a whole answer; `labels` are the lines that were sent. Absent = the answer is a sound. */
  readonly whole?: (json: unknown, labels: readonly string[]) => Output
  /** Reads one event of a stream; absent = it is never streamed. */
  readonly event?: (output: Output, data: unknown) => Output
  /** The event, or data, that says a stream is complete. */
  readonly isLast?: (name: string, data: string) => boolean
  /** What makes a stream of it. */
  readonly streamFields?: Body
  /** The request is a form with a file. */
  readonly isForm?: true
}

const chatModes = ['chat'] as const
const temperature = {
  name: 'temperature',
  title: 'playground.temperature',
  number: { unit: null, range: temperatures, step: 0.1 },
} as const satisfies Parameter
const topP = {
  name: 'top_p',
  title: 'playground.topP',
  number: { unit: null, range: shares, step: 0.05 },
} as const satisfies Parameter
const tokens = (name: string) =>
  ({
    name,
    title: 'playground.maxTokens',
    number: { unit: 'playground.unit.tokens', range: answerTokens, step: 1 },
  }) as const satisfies Parameter
const effort = {
  name: 'reasoning_effort',
  title: 'playground.effort',
  choices: ['none', 'minimal', 'low', 'medium', 'high'],
} as const satisfies Parameter
const count = (name: string, title: OwnKey, max: number) =>
  ({ name, title, number: { unit: null, range: { min: 1, max, decimals: 0 }, step: 1 } }) as const satisfies Parameter

/** The lines of a text that are not empty. */
export const linesOf = (text: string): string[] => text.split('\n').filter(line => line.trim() !== '')

/** Messages has no default for it. */
const messageTokens = 1024

const withSystem = ({ system, text }: Input): object[] => [
  ...(system === '' ? [] : [{ role: 'system', content: system }]),
  { role: 'user', content: text },
]

const ends = {
  chat: (_name: string, data: string) => data === '[DONE]',
  responses: (name: string) => name === 'response.completed' || name === 'response.incomplete',
  messages: (name: string) => name === 'message_stop',
}

export const operations = {
  chat: {
    title: 'playground.chat',
    path: '/v1/chat/completions',
    modes: chatModes,
    fields: ['system', 'text'],
    textTitle: 'playground.message',
    parameters: [temperature, topP, tokens('max_tokens'), effort],
    body: input => ({ messages: withSystem(input) }),
    whole: wholeChat,
    event: chatEvent,
    isLast: ends.chat,
    streamFields: { stream: true, stream_options: { include_usage: true } },
  },
  responses: {
    title: 'playground.responses',
    path: '/v1/responses',
    modes: chatModes,
    fields: ['system', 'text'],
    textTitle: 'playground.message',
    parameters: [temperature, topP, tokens('max_output_tokens'), effort],
    body: ({ system, text }) => ({ ...(system !== '' && { instructions: system }), input: text, store: false }),
    nestParameters: ({ reasoning_effort: wanted, ...others }) => ({
      ...others,
      ...(wanted !== undefined && { reasoning: { effort: wanted } }),
    }),
    whole: wholeResponse,
    event: responseEvent,
    isLast: ends.responses,
    streamFields: { stream: true },
  },
  messages: {
    title: 'playground.messages',
    path: '/v1/messages',
    modes: chatModes,
    fields: ['system', 'text'],
    textTitle: 'playground.message',
    parameters: [
      { ...temperature, number: { ...temperature.number, range: { ...temperatures, max: 1 } } },
      topP,
      tokens('max_tokens'),
    ],
    body: ({ system, text }) => ({
      max_tokens: messageTokens,
      ...(system !== '' && { system }),
      messages: [{ role: 'user', content: text }],
    }),
    whole: wholeMessage,
    event: messageEvent,
    isLast: ends.messages,
    streamFields: { stream: true },
  },
  completions: {
    title: 'playground.completions',
    path: '/v1/completions',
    modes: ['completion'],
    fields: ['text'],
    textTitle: 'playground.prompt',
    parameters: [temperature, topP, tokens('max_tokens')],
    body: ({ text }) => ({ prompt: text }),
    whole: wholeCompletion,
  },
  embeddings: {
    title: 'playground.embeddings',
    path: '/v1/embeddings',
    modes: ['embedding'],
    fields: ['text'],
    textTitle: 'playground.texts',
    textHelp: 'playground.textsHelp',
    parameters: [count('dimensions', 'playground.dimensions', 10_000)],
    body: ({ text }) => ({ input: linesOf(text) }),
    whole: wholeEmbeddings,
  },
  rerank: {
    title: 'playground.rerank',
    path: '/v1/rerank',
    modes: ['rerank'],
    fields: ['text', 'documents'],
    textTitle: 'playground.query',
    parameters: [count('top_n', 'playground.topN', 1000)],
    body: ({ text, documents }) => ({ query: text, documents: linesOf(documents) }),
    whole: wholeRanking,
  },
  image: {
    title: 'playground.image',
    path: '/v1/images/generations',
    modes: ['image_generation'],
    fields: ['text'],
    textTitle: 'playground.prompt',
    parameters: [
      {
        name: 'size',
        title: 'playground.size',
        choices: ['256x256', '512x512', '1024x1024', '1536x1024', '1024x1536'],
      },
      { name: 'quality', title: 'playground.quality', choices: ['low', 'medium', 'high', 'standard', 'hd'] },
      count('n', 'playground.images', 10),
    ],
    body: ({ text }) => ({ prompt: text }),
    whole: wholeImages,
  },
  speech: {
    title: 'playground.speech',
    path: '/v1/audio/speech',
    modes: ['audio_speech'],
    fields: ['text'],
    textTitle: 'playground.spoken',
    parameters: [
      { name: 'voice', title: 'playground.voice' },
      { name: 'response_format', title: 'playground.format', choices: ['mp3', 'wav', 'opus', 'aac', 'flac'] },
    ],
    body: ({ text }) => ({ input: text, voice: 'alloy' }),
  },
  transcription: {
    title: 'playground.transcription',
    path: '/v1/audio/transcriptions',
    modes: ['audio_transcription'],
    fields: ['file'],
    textTitle: 'playground.prompt',
    parameters: [{ name: 'language', title: 'playground.language' }],
    body: () => ({}),
    whole: wholeTranscription,
    isForm: true,
  },
  moderation: {
    title: 'playground.moderation',
    path: '/v1/moderations',
    modes: ['moderation'],
    fields: ['text'],
    textTitle: 'playground.text',
    parameters: [],
    body: ({ text }) => ({ input: text }),
    whole: wholeModeration,
  },
} as const satisfies Readonly<Record<string, Operation>>

export type OperationName = keyof typeof operations
export const operationNames = Object.keys(operations) as OperationName[]

/** As a table of one type: the literal one above has a type for each line. */
export const operationOf = (name: OperationName): Operation => operations[name]

/** The kinds of call that models of this mode take, the usual one first. */
export const operationsOfMode = (mode: string): OperationName[] =>
  operationNames.filter(name => operationOf(name).modes.includes(mode))

/** What asks the model of one column: the body for all, its model, its parameters, and whether it is a stream. */
export function requestOf(
  operation: Operation,
  { body, model, parameters, isStream }: { body: Body; model: string; parameters: Parameters; isStream: boolean },
): Body {
  const placed = operation.nestParameters?.(parameters) ?? parameters
  return { model, ...body, ...placed, ...(isStream && operation.streamFields) }
}

/** The operation of a path in the log, where the playground has it. */
export function operationOfRoute(route: string): OperationName | undefined {
  if (/:(?:stream)?GenerateContent$/i.test(route)) return 'chat'
  return operationNames.find(name => route.endsWith(operations[name].path.replace('/v1', '')))
}
