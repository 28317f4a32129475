import { describe, expect, test } from 'bun:test'
import type { ChatEvent, ChatRequest } from '../../core/hub/chat.ts'
import { GatewayError } from '../../core/errors.ts'
import { JsonBody } from '../../lib/json/json-body.ts'
import { frameSplitter } from '../../lib/frame-splitter.ts'
import { generateReader, generateResult } from '../../providers/gemini/read.ts'
import { geminiGenerate, geminiGenerateArray } from './index.ts'
import { decodeThoughts } from './thought-signature.ts'

const requestWith = (thinkingConfig: object): ChatRequest =>
  geminiGenerate.decode(
    JsonBody.read(
      Buffer.from(JSON.stringify({ contents: [{ parts: [{ text: 'x' }] }], generationConfig: { thinkingConfig } })),
    ),
  )
const quiet = requestWith({})
const open = requestWith({ includeThoughts: true })

const start: ChatEvent = { type: 'start', id: 'r1', model: 'up' }
const text = (words: string, choice = 0): ChatEvent => ({ type: 'text', choice, text: words })
const finish = (reason: 'stop' | 'length' | 'tool-calls' | 'content-filter' = 'stop', choice = 0): ChatEvent => ({
  type: 'finish',
  choice,
  reason,
})
const call = (id: string, name: string, ...fragments: string[]): ChatEvent[] => [
  { type: 'tool-call-start', choice: 0, index: 0, id, name },
  ...fragments.map((fragment): ChatEvent => ({ type: 'tool-call-arguments', choice: 0, index: 0, fragment })),
  { type: 'tool-call-end', choice: 0, index: 0 },
]

interface Wire {
  candidates: {
    content: { parts: Record<string, unknown>[] }
    finishReason?: string
    finishMessage?: string
    index: number
    [key: string]: unknown
  }[]
  usageMetadata?: object
  modelVersion: string
  responseId: string
}
const encode = (events: ChatEvent[], request = quiet) => geminiGenerate.encode(events, 'public', request) as Wire
const streamed = (events: ChatEvent[], request = quiet, format = geminiGenerate): string => {
  const writer = format.writer('public', request)
  return events.map(event => writer.write(event)).join('') + writer.end()
}
const elements = (wire: string): Wire[] =>
  frameSplitter()
    .push(Buffer.from(wire))
    .map(frame => JSON.parse(frame.data) as Wire)

test('a whole answer', () => {
  const answer = encode([
    start,
    text('Hel'),
    text('lo'),
    finish(),
    { type: 'usage', usage: { inputTokens: 5, outputTokens: 7, reasoningTokens: 3, cachedInputTokens: 2 } },
  ])
  expect(answer).toEqual({
    candidates: [{ content: { parts: [{ text: 'Hello' }], role: 'model' }, finishReason: 'STOP', index: 0 }] as never,
    usageMetadata: {
      promptTokenCount: 5,
      candidatesTokenCount: 4,
      totalTokenCount: 12,
      thoughtsTokenCount: 3,
      cachedContentTokenCount: 2,
    },
    modelVersion: 'public',
    responseId: 'r1',
  })
})

test('a stream: every answer has a part, the last one says why and how much', () => {
  const list = elements(
    streamed([
      start,
      text('Hel'),
      text('lo'),
      finish('length'),
      { type: 'usage', usage: { inputTokens: 1, outputTokens: 2 } },
    ]),
  )
  expect(list.map(one => one.candidates[0]!.content.parts)).toEqual([
    [{ text: 'Hel' }],
    [{ text: 'lo' }],
    [{ text: '' }],
  ])
  expect(list.map(one => one.candidates[0]!.finishReason)).toEqual([undefined, undefined, 'MAX_TOKENS'])
  expect(list.map(one => one.usageMetadata)).toEqual([
    undefined,
    undefined,
    { promptTokenCount: 1, candidatesTokenCount: 2, totalTokenCount: 3 },
  ])
  expect(new Set(list.map(one => `${one.modelVersion} ${one.responseId}`))).toEqual(new Set(['public r1']))
})

test('calls go out whole, with their ids', () => {
  const events = [
    start,
    text('wait'),
    ...call('c1', 'f', '{"ci', 'ty":"Paris"}'),
    ...call('c2', 'g'),
    finish('tool-calls'),
  ]
  const parts = [
    { text: 'wait' },
    { functionCall: { id: 'c1', name: 'f', args: { city: 'Paris' } } },
    { functionCall: { id: 'c2', name: 'g', args: {} } },
  ]
  const [candidate] = encode(events).candidates
  expect([candidate!.content.parts, candidate!.finishReason]).toEqual([parts, 'STOP'])
  expect(elements(streamed(events)).flatMap(one => one.candidates[0]!.content.parts)).toEqual([...parts, { text: '' }])
})

test('arguments that are no object are the model’s failure, or the limit’s', () => {
  const wrong = encode([start, ...call('c', 'f', '[1'), finish('tool-calls')]).candidates[0]!
  expect([wrong.finishReason, wrong.finishMessage]).toEqual([
    'MALFORMED_FUNCTION_CALL',
    'the call of "f" has arguments that are not one JSON object: [1',
  ])
  // No end of the call: the limit cut it.
  const cut = encode([start, ...call('c', 'f', '{"a":').slice(0, 2), finish('length')]).candidates[0]!
  expect(cut.finishReason).toBe('MAX_TOKENS')
  expect(cut.finishMessage).toContain('"f"')
  expect(() => encode([start, { type: 'tool-call-arguments', choice: 0, index: 3, fragment: '{}' }, finish()])).toThrow(
    'never began',
  )
})

describe('thinking', () => {
  const thinking: ChatEvent[] = [
    { type: 'reasoning', choice: 0, text: 'I th' },
    { type: 'reasoning', choice: 0, text: 'ink' },
    { type: 'reasoning', choice: 0, signature: 'c2ln' },
  ]
  const events = [start, ...thinking, ...call('c', 'f', '{}'), finish('tool-calls')]

  test('is shown only to those who ask; its signature travels either way', () => {
    for (const [request, shown] of [
      [quiet, []],
      [open, [{ text: 'I think', thought: true }]],
    ] as const) {
      const [candidate] = encode(events, request).candidates
      expect(candidate!.content.parts.slice(0, -1)).toEqual([...shown])
      expect(decodeThoughts(candidate!.content.parts.at(-1)!.thoughtSignature as string)).toEqual([
        { text: 'I think', signature: 'c2ln' },
      ])
    }
  })

  test('comes back from the client as it was, streamed and whole', () => {
    for (const request of [quiet, open])
      for (const answers of [[encode(events, request)], elements(streamed(events, request))]) {
        const contents = answers.map(one => ({ role: 'model', parts: one.candidates[0]!.content.parts }))
        const [message] = geminiGenerate.decode(JsonBody.read(Buffer.from(JSON.stringify({ contents })))).messages
        expect(message!.parts).toEqual([
          { type: 'reasoning', text: 'I think', signature: 'c2ln' },
          { type: 'tool-call', id: 'c', name: 'f', arguments: '{}' },
        ])
      }
  })

  test('that nothing follows has a part of its own', () => {
    const only = [start, ...thinking, { type: 'reasoning', choice: 0, redacted: 'cmVk' } as ChatEvent, finish('length')]
    for (const parts of [
      encode(only).candidates[0]!.content.parts,
      elements(streamed(only)).at(-1)!.candidates[0]!.content.parts,
    ]) {
      expect(parts.length).toBe(1)
      expect(decodeThoughts(parts[0]!.thoughtSignature as string)).toEqual([
        { text: 'I think', signature: 'c2ln' },
        { redacted: 'cmVk' },
      ])
    }
  })
})

test('pictures, sources and logprobs have their words', () => {
  const events: ChatEvent[] = [
    start,
    { type: 'image', choice: 0, source: { data: 'QQ==', mediaType: 'image/png' } },
    { type: 'image', choice: 0, source: { url: 'data:image/webp;base64,QUJD' } },
    text('Yes'),
    {
      type: 'logprobs',
      choice: 0,
      content: [{ token: 'Yes', logprob: -0.1, bytes: null, top_logprobs: [{ token: 'No', logprob: -3 }] }],
    },
    {
      type: 'citation',
      choice: 0,
      citation: { type: 'url_citation', url_citation: { url: 'https://a', title: 'A', start_index: 0, end_index: 3 } },
    },
    { type: 'citation', choice: 0, citation: { type: 'char_location', cited_text: 'q', document_title: 'D' } },
    finish(),
  ]
  const logprobsResult = {
    chosenCandidates: [{ token: 'Yes', logProbability: -0.1 }],
    topCandidates: [{ candidates: [{ token: 'No', logProbability: -3 }] }],
  }
  const groundingMetadata = {
    groundingChunks: [{ web: { uri: 'https://a', title: 'A' } }, { retrievedContext: { title: 'D', text: 'q' } }],
    groundingSupports: [{ segment: { startIndex: 0, endIndex: 3, text: 'Yes' }, groundingChunkIndices: [0] }],
  }
  const [candidate] = encode(events).candidates
  expect(candidate).toMatchObject({ logprobsResult, groundingMetadata })
  expect(candidate!.content.parts.slice(0, 2)).toEqual([
    { inlineData: { mimeType: 'image/png', data: 'QQ==' } },
    { inlineData: { mimeType: 'image/webp', data: 'QUJD' } },
  ])
  expect(elements(streamed(events)).at(-1)!.candidates[0]!).toMatchObject({ logprobsResult, groundingMetadata })
})

test('several candidates end together', () => {
  const events = [start, text('a', 1), text('b', 0), finish('stop', 1), finish('content-filter', 0)]
  expect(encode(events).candidates.map(one => [one.index, one.finishReason])).toEqual([
    [0, 'SAFETY'],
    [1, 'STOP'],
  ])
  expect(
    elements(streamed(events))
      .at(-1)!
      .candidates.map(one => [one.index, one.finishReason]),
  ).toEqual([
    [0, 'SAFETY'],
    [1, 'STOP'],
  ])
  expect(() => encode([start, text('a')])).toThrow('no finish reason')
})

test("what is written here is what the reader of Gemini's own answers reads", () => {
  const events: ChatEvent[] = [
    start,
    { type: 'reasoning', choice: 0, text: 'hm' },
    text('Grüße 😀 "\n'),
    ...call('c', 'f', '{"a":[1,null]}'),
    finish('tool-calls'),
    { type: 'usage', usage: { inputTokens: 9, outputTokens: 4, reasoningTokens: 1 } },
  ]
  const expected = [{ ...start, model: 'public' }, ...events.slice(1)] as ChatEvent[]
  expect(generateResult(encode(events, open))).toEqual(expected)
  const read = generateReader()
  expect(
    frameSplitter()
      .push(Buffer.from(streamed(events, open)))
      .flatMap(read),
  ).toEqual(expected)
  const readArray = generateReader()
  expect(
    frameSplitter('json-array')
      .push(Buffer.from(streamed(events, open, geminiGenerateArray)))
      .flatMap(readArray),
  ).toEqual(expected)
})

describe('the array', () => {
  const error = new GatewayError('upstream-broken', 'cut')
  const broken = (...events: ChatEvent[]): unknown => {
    const writer = geminiGenerateArray.writer('public', quiet)
    return JSON.parse(events.map(event => writer.write(event)).join('') + writer.fail!(error))
  }

  test('is one, complete or not, with white space between its elements', () => {
    const wire = streamed([start, text('a'), text('b'), finish()], quiet, geminiGenerateArray)
    expect((JSON.parse(`\n${wire.replaceAll(',\n{', ',\n\n{')}`) as unknown[]).length).toBe(3)
    expect(broken(start)).toMatchObject([{ error: { code: 502, status: 'UNAVAILABLE', message: 'cut' } }])
    expect(broken(start, text('a'))).toMatchObject([{ candidates: [{}] }, { error: { code: 502 } }])
    expect(JSON.parse(geminiGenerateArray.errorEvent(error))).toMatchObject([{ error: { code: 502 } }])
  })
})

test("errors are Google's, with what its clients look for", () => {
  const limited = new GatewayError('rate-limited', 'slow down', { retryAfterMs: 1500 })
  expect(geminiGenerate.errorBody(limited)).toEqual({
    error: {
      code: 429,
      message: 'slow down',
      status: 'RESOURCE_EXHAUSTED',
      details: [
        {
          '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
          reason: 'RATE_LIMIT_EXCEEDED',
          domain: 'modelgate',
          metadata: { name: 'RateLimitError' },
        },
        { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '1.5s' },
      ],
    },
  })
  const refused = new GatewayError('unprocessable', 'x', {
    problems: [{ loc: ['body', 'contents', 0, 'parts'], msg: 'm', type: 't' }],
  })
  expect(geminiGenerate.errorBody(refused)).toMatchObject({
    error: {
      code: 422,
      status: 'INVALID_ARGUMENT',
      details: [{}, { fieldViolations: [{ field: 'contents[0].parts', description: 'm' }] }],
    },
  })
  expect(geminiGenerate.errorEvent(limited)).toStartWith('data: {"error":{"code":429,')
})
