import { expect, test } from 'bun:test'
import type { RunningCall } from '../../core/call.ts'
import type { Operation } from '../../core/hub/operation.ts'
import type { Usage, UsageSource } from '../../core/usage/usage.ts'
import { JsonBody } from '../../lib/json/json-body.ts'
import { bodyTokens } from '../../lib/tokens/body-tokens.ts'
import { endRequest, oweRequest, usedTogether, isSuccess, recordUnusableAnswer, recordUsage } from './usage.ts'
import { GatewayError } from '../../core/errors.ts'

interface Given {
  readonly usage?: Usage
  readonly operation?: Operation
  readonly body?: object
  readonly stream?: boolean
  readonly status?: number
  readonly sent?: boolean
  readonly answerCharacters?: number
  readonly relay?: { complete: boolean; contentCharacters: number; contentEvents: number; usage?: Usage }
}

function callOf(given: Given): RunningCall {
  const { usage, body = { messages: [{ role: 'user', content: 'five short words are here' }] } } = given
  const json = JsonBody.read(Buffer.from(JSON.stringify(body)))
  return {
    operation: given.operation ?? 'chat',
    stream: given.stream ?? false,
    body: json,
    attempt: {
      deployment: { target: { options: {} }, info: {} },
      model: '',
      dropped: [],
      isSeries: false,
      isSent: false,
      body: undefined,
      usage,
      usageSource: usage ? 'upstream' : 'none',
      status: given.status ?? 200,
      answeredTier: undefined,
      relay: given.relay,
      answerCharacters: given.answerCharacters ?? -1,
      countedTokens: 0,
    },
    owed: [],
    taken: { setsMaximum: false },
    estimatedInputTokens: () => bodyTokens(json),
    input: () => ({ kind: 'chat', request: {} }),
  } as unknown as RunningCall
}

const tokens = (inputTokens: number, outputTokens: number): Usage => ({ inputTokens, outputTokens })
const input = 5
const noText: Given = { body: { messages: [] }, usage: tokens(0, 0), answerCharacters: 40 }

const reports: [string, Given, [number, number], UsageSource][] = [
  ['no text, no tokens', { usage: tokens(9, 0), answerCharacters: 0 }, [9, 0], 'upstream'],
  ['as many as there are', { usage: tokens(9, 100), answerCharacters: 400 }, [9, 100], 'upstream'],
  ['more than are seen: hidden thinking', { usage: tokens(9, 5000), answerCharacters: 4 }, [9, 5000], 'upstream'],
  ['a short word of one token', { usage: tokens(9, 1), answerCharacters: 20 }, [9, 1], 'upstream'],
  [
    'Russian with escapes: 27 characters a token',
    { usage: tokens(9, 100), answerCharacters: 2700 },
    [9, 100],
    'upstream',
  ],
  ['none beside a text', { usage: tokens(9, 0), answerCharacters: 40 }, [9, 10], 'mixed'],
  ['nothing at all beside a text', { usage: tokens(0, 0), answerCharacters: 40 }, [input, 10], 'estimated'],
  ['nothing at all, of a request without any text', noText, [0, 10], 'estimated'],
  ['one token of input beside a text', { usage: tokens(1, 0), answerCharacters: 40 }, [1, 10], 'mixed'],
  ['one token of output beside more of a text', { usage: tokens(0, 1), answerCharacters: 4 }, [input, 1], 'mixed'],
  ['no input of one word', { ...noText, body: { prompt: 'word' }, usage: tokens(0, 10) }, [1, 10], 'mixed'],
  ['nothing: it is estimated', { answerCharacters: 40 }, [input, 10], 'estimated'],
  ['no input', { usage: tokens(0, 10), answerCharacters: 40 }, [input, 10], 'mixed'],
  ['far fewer than the text has', { usage: tokens(9, 3), answerCharacters: 4000 }, [9, 1000], 'mixed'],
  [
    'an echoed prompt is no output',
    { operation: 'completions', body: { prompt: 'x', echo: true }, usage: tokens(9, 0), answerCharacters: 4000 },
    [9, 0],
    'upstream',
  ],
  [
    'a chat echoes nothing',
    { body: { messages: [], echo: true }, usage: tokens(9, 0), answerCharacters: 4000 },
    [9, 1000],
    'mixed',
  ],
  [
    'the first count of a stream that broke off',
    { stream: true, relay: { complete: false, contentCharacters: 400, contentEvents: 7, usage: tokens(9, 1) } },
    [9, 100],
    'mixed',
  ],
  [
    'the last count of a stream with few characters an event',
    { stream: true, relay: { complete: true, contentCharacters: 40, contentEvents: 40, usage: tokens(9, 12) } },
    [9, 12],
    'upstream',
  ],
  [
    'vectors without a count',
    { operation: 'embeddings', body: { input: 'one two three' }, usage: tokens(0, 0) },
    [3, 0],
    'estimated',
  ],
  [
    'search units are no tokens',
    { operation: 'rerank', usage: { ...tokens(0, 0), searchUnits: 1 } },
    [0, 0],
    'upstream',
  ],
]

for (const [name, given, [inputTokens, outputTokens], source] of reports)
  test(`a report is compared with what was seen: ${name}`, () => {
    const call = callOf(given)
    oweRequest(call, true)
    expect(usedTogether(call.owed)).toMatchObject({ usage: { inputTokens, outputTokens }, usageSource: source })
  })

test('an answer with a status of failure, or to a request that was never sent, owes nothing', () => {
  for (const given of [{ status: 503 }, { status: 302 }, { status: 0, sent: false }]) {
    const call = callOf(given)
    endRequest(call, given.sent !== false)
    expect(call.owed).toEqual([])
    expect(usedTogether(call.owed)).toEqual({ usage: undefined, usageSource: 'none', countedTokens: 0 })
  }
})

test('requests are summed, with the word of the least certain, and none is counted twice', () => {
  const call = callOf({ usage: tokens(9, 20) })
  const first = call.attempt!
  endRequest(call, true)
  expect(call.attempt).not.toBe(first)
  expect(call.attempt).toMatchObject({ usage: undefined, usageSource: 'none', relay: undefined, answerCharacters: -1 })
  call.attempt!.status = 200
  endRequest(call, true)
  call.attempt!.status = 200
  call.attempt!.usage = { ...tokens(9, 3), cachedInputTokens: 4 }
  call.attempt!.usageSource = 'upstream'
  oweRequest(call, true)
  const sum = { inputTokens: 9 + input + 9, outputTokens: 20 + 1024 + 3, cachedInputTokens: 4 }
  const countedTokens = sum.inputTokens + sum.outputTokens
  expect(usedTogether(call.owed)).toEqual({ usage: sum, usageSource: 'mixed', countedTokens })
  expect(call.owed[0]).toBe(first)
})

test('what cannot be estimated is unknown, and counts its input in the limits', () => {
  const call = callOf({ operation: 'transcriptions', body: { prompt: 'one two three' }, status: 0 })
  oweRequest(call, true)
  expect(usedTogether(call.owed)).toMatchObject({ usage: undefined, usageSource: 'none', countedTokens: 3 })
})

test('requests that the same one has counted keep its word', () => {
  const call = callOf({ usage: tokens(9, 20) })
  endRequest(call, true)
  Object.assign(call.attempt!, { status: 200, usage: tokens(1, 2), usageSource: 'upstream' })
  oweRequest(call, true)
  expect(usedTogether(call.owed)).toEqual({ usage: tokens(10, 22), usageSource: 'upstream', countedTokens: 32 })
})

test('a request of which nothing is known counts nothing where it has no text', () => {
  const call = callOf({ operation: 'transcriptions', body: { n: 1 } })
  oweRequest(call, true)
  expect(usedTogether(call.owed)).toMatchObject({ usage: undefined, usageSource: 'none', countedTokens: 0 })
})

test('requests for a count of tokens count none in the limits, whatever they report', () => {
  const call = callOf({ operation: 'count-tokens', usage: tokens(9, 1) })
  oweRequest(call, true)
  expect(usedTogether(call.owed)).toMatchObject({ usage: tokens(9, 1), countedTokens: 0 })
})

test('estimates count at least the input that was sent, reports what they say', () => {
  const estimated = callOf({ usage: tokens(1, 1) })
  estimated.attempt!.usageSource = 'estimated'
  oweRequest(estimated, true)
  const reported = callOf({ usage: tokens(1, 1) })
  oweRequest(reported, true)
  expect([estimated.owed[0]!.countedTokens, reported.owed[0]!.countedTokens]).toEqual([input, 2])
})

test('a report that has not come yet changes nothing', () => {
  const call = callOf({ usage: tokens(9, 20) })
  recordUsage(call, undefined)
  expect(call.attempt).toMatchObject({ usage: tokens(9, 20), usageSource: 'upstream' })
  const later = callOf({})
  recordUsage(later, tokens(3, 4))
  expect(later.attempt).toMatchObject({ usage: tokens(3, 4), usageSource: 'upstream' })
})

test('the usage that an attempt has wins over that of its stream, and an estimate is not compared again', () => {
  const relay = { complete: true, contentCharacters: 4, contentEvents: 1, usage: tokens(1, 1) }
  const both = callOf({ usage: tokens(9, 20), relay })
  oweRequest(both, true)
  expect(both.owed[0]!.usage).toEqual(tokens(9, 20))
  const estimated = callOf({ usage: tokens(0, 0), answerCharacters: 40 })
  estimated.attempt!.usageSource = 'estimated'
  oweRequest(estimated, true)
  expect(estimated.owed[0]).toMatchObject({ usage: tokens(0, 0), usageSource: 'estimated' })
})

test('an unusable answer owes what its error reports, else its text', () => {
  const body = Buffer.from(JSON.stringify({ choices: [{ message: { content: '12345678' } }] }))
  const reported = callOf({})
  recordUnusableAnswer(reported, body, new GatewayError('upstream-broken', 'no').withUsage(tokens(9, 20)))
  expect(reported.attempt).toMatchObject({ usage: tokens(9, 20), answerCharacters: 8 })
  const silent = callOf({})
  recordUnusableAnswer(silent, body, new Error('no'))
  expect(silent.attempt).toMatchObject({ usage: undefined, answerCharacters: 8 })
})

test('a success is 2xx', () => {
  expect([199, 200, 299, 300].map(isSuccess)).toEqual([false, true, true, false])
})

test('without an attempt nothing is owed', () => {
  const call = callOf({})
  call.attempt = undefined
  endRequest(call, true)
  oweRequest(call, true)
  expect([call.owed, call.attempt]).toEqual([[], undefined])
})

test('what a router of the vendor chose is owed with its name: of a whole answer and of a stream', () => {
  const routed = (given: Given, answeredModel?: string) => {
    const call = callOf(given)
    Object.assign(call.attempt!, {
      deployment: { target: { options: {} }, info: {}, prices: { input: 1n, isFee: true } },
    })
    recordUsage(call, tokens(9, 5), answeredModel)
    oweRequest(call, true)
    return call.owed[0]!.usage!.routedModel
  }
  const relay = { complete: true, contentCharacters: 4, contentEvents: 1, answeredModel: 'of-the-stream' }
  expect(routed({ answerCharacters: 4 }, 'chosen')).toBe('chosen')
  expect(routed({ stream: true, relay })).toBe('of-the-stream')
  expect(routed({ answerCharacters: 4 })).toBeUndefined()
})
