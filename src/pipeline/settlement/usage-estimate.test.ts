/** What is estimated of requests without a report, by operation and by what was seen of the answer. */
import { describe, expect, test } from 'bun:test'
import type { Attempt, RunningCall } from '../../core/call.ts'
import type { Usage } from '../../core/usage/usage.ts'
import { JsonBody } from '../../lib/json/json-body.ts'
import { bodyTokens } from '../../lib/tokens/body-tokens.ts'
import { AttemptRecord } from '../attempt-record.ts'
import {
  estimatedUsage,
  noteUnusableAnswer,
  noteWholeAnswer,
  plausibleUsage,
  sentInput,
  tokensOfAttempt,
} from './usage-estimate.ts'

const words = { messages: [{ role: 'user', content: 'five short words are here' }] }
const inputTokens = 5
const jsonOf = (value: unknown) => Buffer.from(JSON.stringify(value))
const answerOf = (text: string) => JSON.stringify({ choices: [{ message: { content: text } }] })

interface Given {
  readonly operation?: string
  readonly body?: object
  /** Of the chat, as it was decoded; null = the body cannot be. */
  readonly request?: object | null
  readonly kind?: string
  readonly call?: object
  readonly attempt?: object
  readonly options?: object
  readonly info?: object
}

function callOf({ operation = 'chat', body = words, request = {}, kind = 'chat', ...given }: Given = {}): RunningCall {
  const deployment = { target: { options: given.options ?? {} }, info: given.info ?? {} } as never
  return {
    operation,
    stream: false,
    taken: {},
    body: JsonBody.read(jsonOf(body)),
    estimatedInputTokens: () => bodyTokens(JsonBody.read(jsonOf(body))),
    input: () => {
      if (request === null) throw new Error('the hub has no words for it')
      return { kind, request }
    },
    ...given.call,
    attempt: Object.assign(new AttemptRecord(deployment, ''), { status: 200, ...given.attempt }),
  } as unknown as RunningCall
}
const estimated = (given?: Given): Usage | undefined => {
  const call = callOf(given)
  return estimatedUsage(call, call.attempt!)
}
const outputOf = (given?: Given) => estimated(given)!.outputTokens

describe('each operation is estimated by what its vendor bills', () => {
  test.each([
    ['transcriptions', { file: 'x' }, undefined],
    ['images', { prompt: 'a cat', n: 3 }, { inputTokens: 0, outputTokens: 0, images: 3 }],
    ['images', { prompt: 'a cat', n: 1 }, { inputTokens: 0, outputTokens: 0, images: 1 }],
    ['images', { prompt: 'a cat', n: 0 }, { inputTokens: 0, outputTokens: 0, images: 1 }],
    ['images', { prompt: 'a cat' }, { inputTokens: 0, outputTokens: 0, images: 1 }],
    ['speech', { input: 'seven l' }, { inputTokens: 0, outputTokens: 0, characters: 7 }],
    ['speech', { input: ['seven l'] }, { inputTokens: 0, outputTokens: 0, characters: 0 }],
    ['count-tokens', words, { inputTokens: 0, outputTokens: 0 }],
    ['embeddings', { input: 'one two three' }, { inputTokens: 3, outputTokens: 0 }],
    ['chat', words, { inputTokens, outputTokens: 1024 }],
    ['completions', { prompt: 'one two three' }, { inputTokens: 3, outputTokens: 1024 }],
  ] as const)('%s of %j', (operation, body, usage) => expect(estimated({ operation, body })).toEqual(usage as never))
})

describe('the output of an answer', () => {
  test('that was seen is a quarter of its characters, or its events where these are more', () => {
    expect(outputOf({ attempt: { answerCharacters: 0 } })).toBe(0)
    expect(outputOf({ attempt: { answerCharacters: 1 } })).toBe(1)
    expect(outputOf({ attempt: { answerCharacters: 400 } })).toBe(100)
    const relay = { complete: false, contentCharacters: 401, contentEvents: 7 }
    expect(outputOf({ attempt: { relay } })).toBe(101)
    expect(outputOf({ attempt: { relay: { ...relay, contentEvents: 200 } } })).toBe(200)
  })

  test('that was lost is what was asked for, but none of a stream that its client left before its head', () => {
    expect(outputOf({ call: { stream: true }, attempt: { status: 0 } })).toBe(0)
    expect(outputOf({ call: { stream: false }, attempt: { status: 0 } })).toBe(1024)
    expect(outputOf({ call: { stream: true }, attempt: { status: 200 } })).toBe(1024)
  })

  test('is for each answer the maximum of the client, else of the operator, and no more than the model is able', () => {
    expect(outputOf({ request: { maxOutputTokens: 30 } })).toBe(30)
    expect(outputOf({ request: { maxOutputTokens: 30, choices: 3 } })).toBe(90)
    expect(outputOf({ options: { max_tokens: 70 } })).toBe(70)
    expect(outputOf({ options: { max_tokens: 70 }, request: { maxOutputTokens: 30 } })).toBe(30)
    expect(outputOf({ info: { max_output_tokens: 20 }, request: { maxOutputTokens: 30 } })).toBe(20)
  })

  test('is bounded by a maximum that a budget has set, but not raised to it', () => {
    const call = { taken: { setsMaximum: true } }
    expect(outputOf({ call, request: { maxOutputTokens: 30 } })).toBe(30)
    expect(outputOf({ call, request: { maxOutputTokens: 90_000 } })).toBe(1024)
    expect(outputOf({ request: { maxOutputTokens: 90_000 } })).toBe(90_000)
  })

  test('counts once for every prompt of a list, but once where a request holds one of them', () => {
    const request = { maxOutputTokens: 10, choices: 2, series: ['second', 'third'] }
    expect(outputOf({ operation: 'completions', request })).toBe(60)
    expect(outputOf({ operation: 'completions', request, attempt: { isSeries: true } })).toBe(20)
  })

  test('is read from the body where the hub cannot decode it, and is one answer where it is no chat', () => {
    expect(outputOf({ body: { ...words, n: 2, max_tokens: 8 }, request: null })).toBe(16)
    expect(outputOf({ kind: 'fields', request: { maxOutputTokens: 8, choices: 2 } })).toBe(1024)
  })
})

describe('the input of a request', () => {
  const made = jsonOf({
    messages: [{ role: 'user', content: 'this one has twelve words and so more than the one above' }],
  })

  test('is that of the body of the client, or of the body made of it where that is more', () => {
    expect(sentInput(callOf())).toBe(inputTokens)
    expect(sentInput(callOf({ attempt: { body: [made] } }))).toBe(12)
    expect(sentInput(callOf({ attempt: { body: [jsonOf({ messages: [] })] } }))).toBe(inputTokens)
    expect(sentInput(callOf({ attempt: { body: [Buffer.from('no JSON')] } }))).toBe(inputTokens)
  })

  test('is that of the client where the body was sent in pieces', () => {
    expect(sentInput(callOf({ attempt: { body: [made, made] } }))).toBe(inputTokens)
    expect(sentInput(callOf({ attempt: { body: [{ length: 9 }] } }))).toBe(inputTokens)
  })

  test('is not read again from the bytes of the client', () => {
    const call = callOf({ call: { estimatedInputTokens: () => 2 } })
    call.attempt = Object.assign(new AttemptRecord(call.attempt!.deployment, ''), { body: [call.body!.bytes] })
    expect(sentInput(call)).toBe(2)
  })

  test('of one prompt of a list is all of it, unless nothing was read from it', () => {
    const one = jsonOf({ prompt: 'two words' })
    expect(sentInput(callOf({ attempt: { body: [one], isSeries: true } }))).toBe(2)
    expect(sentInput(callOf({ attempt: { body: [one] } }))).toBe(inputTokens)
    expect(sentInput(callOf({ attempt: { isSeries: true } }))).toBe(inputTokens)
    expect(sentInput(callOf({ attempt: { body: [Buffer.from('no JSON')], isSeries: true } }))).toBe(inputTokens)
  })
})

describe('the tokens of an attempt that ends', () => {
  const usage = { inputTokens: 30, outputTokens: 4 }
  const relay = { usage: { inputTokens: 31, outputTokens: 5 } }
  test.each([
    ['as reported', { status: 200, usage }, 34],
    ['as the stream has reported', { status: 200, relay }, 36],
    ['estimated of an answer without a report', { status: 200, answerCharacters: 40 }, inputTokens + 10],
    ['as reserved where no head has come', { status: 0 }, 77],
    ['none of what was refused', { status: 300, usage }, 0],
    ['those of the last status that is no refusal', { status: 299, usage }, 34],
  ])('are %s', (_, attempt, tokens) => expect(tokensOfAttempt(callOf({ attempt }), 77)).toBe(tokens))

  test('are those reserved where none was made, and where nothing can be estimated', () => {
    const call = callOf()
    call.attempt = undefined
    expect(tokensOfAttempt(call, 77)).toBe(77)
    expect(tokensOfAttempt(callOf({ operation: 'transcriptions' }), 77)).toBe(77)
  })
})

describe('a report is believed unless it cannot be', () => {
  const compared = (outputTokens: number, answerCharacters: number, more: Given = {}) => {
    const call = callOf({ ...more, attempt: { answerCharacters, ...more.attempt } })
    const usage = { inputTokens: 9, outputTokens }
    const found = plausibleUsage(call, call.attempt!, usage)
    return found === usage ? 'believed' : found
  }
  const raised = (outputTokens: number) => ({ inputTokens: 9, outputTokens })

  test('a token has at most 32 characters, in answers of more than 256', () => {
    expect(compared(1, 256)).toBe('believed')
    expect(compared(1, 257)).toEqual(raised(65))
    expect(compared(10, 320)).toBe('believed')
    expect(compared(10, 321)).toEqual(raised(81))
  })

  test('no tokens beside one character are wrong, and beside none right', () => {
    expect(compared(0, 0)).toBe('believed')
    expect(compared(0, 1)).toEqual(raised(1))
    expect(compared(0, -1)).toBe('believed')
  })

  test('the count of a stream that broke off is at least what was seen', () => {
    const relay = { complete: false, contentCharacters: 40, contentEvents: 10 }
    expect(compared(10, -1, { attempt: { relay } })).toBe('believed')
    expect(compared(9, -1, { attempt: { relay } })).toEqual(raised(10))
    expect(compared(9, -1, { attempt: { relay: { ...relay, complete: true } } })).toBe('believed')
  })

  test('only operations with a text beside their report are compared', () => {
    expect(compared(0, 400, { operation: 'speech' })).toBe('believed')
    expect(compared(0, 400, { operation: 'completions', body: { prompt: 'x', echo: true } })).toBe('believed')
    expect(compared(0, 400, { operation: 'completions', body: { prompt: 'x', echo: false } })).toEqual(raised(100))
  })

  test('no input is right where there is none', () => {
    const usage = { inputTokens: 0, outputTokens: 1 }
    const empty = callOf({ body: { messages: [] } })
    expect(plausibleUsage(empty, empty.attempt!, usage)).toBe(usage)
    const some = callOf()
    expect(plausibleUsage(some, some.attempt!, usage)).toEqual({ inputTokens, outputTokens: 1 })
  })
})

describe('the text of a whole answer', () => {
  const noted = (body: string | Uint8Array, usage?: Usage, operation = 'chat') => {
    const call = callOf({ operation })
    noteWholeAnswer(call, body, usage)
    return call.attempt!.answerCharacters
  }
  const reported = (outputTokens: number) => ({ inputTokens: 9, outputTokens })

  test('is counted without a report, and with one only where the answer is long for it', () => {
    expect(noted(answerOf('12345'))).toBe(5)
    expect(noted(answerOf('12345'), reported(0))).toBe(5)
    expect(noted(answerOf('12345'), reported(1))).toBe(-1)
    const around = answerOf('').length
    expect(noted(answerOf('x'.repeat(1024 + 64 - around)), reported(2))).toBe(-1)
    expect(noted(answerOf('x'.repeat(1024 + 65 - around)), reported(2))).toBe(1024 + 65 - around)
  })

  test('that cannot be read is as long as its bytes, unless a report tells more', () => {
    expect(noted('no JSON')).toBe(7)
    expect(noted('no JSON', reported(0))).toBe(7)
    expect(noted('x'.repeat(9000), reported(1))).toBe(-1)
  })

  test('is none of other operations', () => {
    expect(noted(answerOf('12345'), undefined, 'completions')).toBe(5)
    expect(noted(answerOf('12345'), undefined, 'speech')).toBe(-1)
  })

  test('of an unusable answer is no more than was asked for, where it is no JSON', () => {
    const unusable = (body: string, operation = 'chat', request = { maxOutputTokens: 10 }) => {
      const call = callOf({ operation, request })
      noteUnusableAnswer(call, Buffer.from(body))
      return (call.attempt as Attempt).answerCharacters
    }
    expect(unusable(answerOf('12345'))).toBe(5)
    expect(unusable('x'.repeat(39))).toBe(39)
    expect(unusable('x'.repeat(900))).toBe(40)
    expect(unusable('x'.repeat(900), 'completions')).toBe(40)
    expect(unusable('x'.repeat(900), 'embeddings')).toBe(-1)
  })
})
