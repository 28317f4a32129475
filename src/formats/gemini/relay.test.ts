import { describe, expect, test } from 'bun:test'
import { JsonBody } from '../../lib/json/json-body.ts'
import { frameSplitter } from '../../lib/frame-splitter.ts'
import { geminiGenerate, geminiGenerateArray } from './index.ts'
import { fieldRules } from '../../core/dialects/field-rules.ts'

const eventOf = (answer: unknown): string => `data: ${JSON.stringify(answer)}\n\n`

/** As AI Studio streams (ai.google.dev/api/generate-content, "streamGenerateContent"): CRLF, usage in every event. */
const answers = [
  {
    candidates: [{ content: { parts: [{ text: 'Grüße' }], role: 'model' }, index: 0 }],
    usageMetadata: { promptTokenCount: 8, totalTokenCount: 8 },
    modelVersion: 'gemini-2.5-flash',
    responseId: 'r',
  },
  {
    candidates: [
      {
        content: {
          parts: [{ functionCall: { name: 'f', args: { modelVersion: 'mine', big: 1 } }, thoughtSignature: 'CiQ=' }],
          role: 'model',
        },
        index: 0,
      },
    ],
    modelVersion: 'gemini-2.5-flash',
    responseId: 'r',
  },
  {
    candidates: [{ content: { parts: [{ text: '' }], role: 'model' }, finishReason: 'STOP', index: 0 }],
    usageMetadata: { promptTokenCount: 8, candidatesTokenCount: 5, thoughtsTokenCount: 2, totalTokenCount: 15 },
    modelVersion: 'gemini-2.5-flash',
    responseId: 'r',
  },
]
const wire = Buffer.from(
  answers.map(one => `data: ${JSON.stringify(one).replace('"big":1', '"big":12345678901234567890')}\r\n\r\n`).join(''),
)
const relayOf = (format = geminiGenerate) => format.forward.relay('public-model', JsonBody.read(Buffer.from('{}')))

function run(pieces: Uint8Array[], format = geminiGenerate) {
  const relay = relayOf(format)
  const out = pieces.map(piece => relay.push(piece) as string)
  return { relay, beforeEnd: out.join(''), text: out.join('') + (relay.end() as string) }
}

test('only the name of the model changes, not the numbers and not what a call says', () => {
  const { relay, text } = run([wire])
  expect(text).toBe(wire.toString('utf8').replaceAll('\r\n', '\n').replaceAll('"gemini-2.5-flash"', '"public-model"'))
  expect(text).toContain('"modelVersion":"mine","big":12345678901234567890')
  expect(relay.usage).toEqual({ inputTokens: 8, outputTokens: 7, reasoningTokens: 2 })
  expect([relay.complete, relay.terminated, relay.failure]).toEqual([true, true, undefined])
  expect([relay.contentEvents, relay.contentCharacters > 5]).toEqual([2, true])
})

test('wherever the bytes are cut, the same comes out', () => {
  const whole = run([wire]).text
  for (let at = 1; at < wire.length; at++) expect(run([wire.subarray(0, at), wire.subarray(at)]).text).toBe(whole)
  expect(run([...wire].map(byte => new Uint8Array([byte]))).text).toBe(whole)
})

test('as an array: the same answers', () => {
  const { text } = run(
    [...wire].map(byte => new Uint8Array([byte])),
    geminiGenerateArray,
  )
  expect(JSON.parse(text) as unknown).toEqual(
    JSON.parse(
      `[${run([wire])
        .text.split('\n\n')
        .filter(Boolean)
        .map(one => one.slice(6))
        .join(',')}]`,
    ),
  )
  expect(geminiGenerateArray.streaming).toEqual({ contentType: 'application/json', heartbeat: '\n' })
})

test('the last answer is held until the end shows that it is the last', () => {
  const { beforeEnd, text } = run([wire])
  expect(beforeEnd).not.toContain('"finishReason"')
  expect(text).toContain('"finishReason":"STOP"')
  // Gemini 1 wrote a reason into every answer.
  const chatty = answers.map((_, at) =>
    eventOf({ candidates: [{ content: { parts: [{ text: String(at) }] }, finishReason: 'STOP' }] }),
  )
  const old = run(chatty.map(one => Buffer.from(one)))
  expect(frameSplitter().push(Buffer.from(old.text)).length).toBe(3)
  expect(old.relay.failure).toBeUndefined()
})

test('a last event without its blank line counts if it is whole', () => {
  const trimmed = wire.subarray(0, wire.length - 4)
  expect(run([trimmed]).text).toBe(run([wire]).text)
  const cut = run([wire.subarray(0, wire.length - 6)])
  expect(cut.relay.failure?.kind).toBe('upstream-broken')
})

test('a blocked prompt is a whole answer', () => {
  const blocked = eventOf({
    promptFeedback: { blockReason: 'SAFETY' },
    usageMetadata: { promptTokenCount: 4 },
    modelVersion: 'x',
  })
  const { relay, text } = run([Buffer.from(blocked)])
  expect([relay.complete, relay.failure, relay.usage]).toEqual([true, undefined, { inputTokens: 4, outputTokens: 0 }])
  expect(text).toContain('"blockReason":"SAFETY"')
})

test('JSON with line ends stays one event', () => {
  const pretty = JSON.stringify(answers[2], null, 2)
    .split('\n')
    .map(line => `data: ${line}`)
    .join('\n')
  const { text } = run([Buffer.from(`${pretty}\n\n`)])
  const frames = frameSplitter().push(Buffer.from(text))
  expect(frames.length).toBe(1)
  expect(JSON.parse(frames[0]!.data)).toEqual({ ...answers[2], modelVersion: 'public-model' })
})

describe('what breaks', () => {
  test.each([
    ['nothing', '', 'without finishing'],
    ['no end', `data: ${JSON.stringify(answers[0])}\n\n`, 'without finishing'],
    [
      'one of two candidates',
      `data: ${JSON.stringify({
        candidates: [
          { index: 0, content: { parts: [{ text: 'a' }] } },
          { index: 1, finishReason: 'STOP' },
        ],
      })}\n\n`,
      'without finishing',
    ],
    ['no JSON', 'data: {"candidates":\n\n', 'not a JSON object'],
    ['an array', 'data: []\n\n', 'not a JSON object'],
    ['a name twice', 'data: {"modelVersion":"a","modelVersion":"b"}\n\n', 'not a JSON object'],
    [
      'an error',
      eventOf(answers[0]) + 'data: {"error":{"code":503,"message":"overloaded, sorry","status":"UNAVAILABLE"}}\n\n',
      'overloaded, sorry',
    ],
  ])('%s', (_, text, message) => {
    for (const pieces of [[Buffer.from(text)], [...Buffer.from(text)].map(byte => new Uint8Array([byte]))]) {
      const { relay } = run(pieces)
      expect(relay.failure?.message).toContain(message)
      expect(relay.terminated).toBe(false)
    }
  })

  test('an error in the stream keeps its kind, and the array is closed', () => {
    const relay = relayOf(geminiGenerateArray)
    const first = relay.push(wire.subarray(0, wire.indexOf('\r\n\r\n') + 4)) as string
    relay.push(Buffer.from('data: {"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED"}}\n\n'))
    expect(relay.failure?.kind).toBe('upstream-rate-limited')
    expect(JSON.parse(first + relay.errorEvent(relay.failure!))).toMatchObject([
      { responseId: 'r' },
      { error: { code: 429, status: 'RESOURCE_EXHAUSTED' } },
    ])
  })

  test('implausible usage is ignored', () => {
    const absurd = {
      candidates: [{ finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: -1, candidatesTokenCount: 2 },
    }
    expect(run([Buffer.from(`data: ${JSON.stringify(absurd)}\n\n`)]).relay.usage).toBeUndefined()
  })
})

describe('whole answers', () => {
  const answer = (text: string) => geminiGenerate.forward.answer(Buffer.from(text), 'public-model')

  test('get the public name and give their usage', () => {
    const { body, usage } = answer(JSON.stringify(answers[2]))
    expect(JSON.parse(Buffer.from(body as Uint8Array).toString())).toEqual({
      ...answers[2],
      modelVersion: 'public-model',
    })
    expect(usage?.outputTokens).toBe(7)
    expect(answer('{"promptFeedback":{"blockReason":"OTHER"}}').usage).toBeUndefined()
  })

  test.each(['', '[]', '{"candidates"', '{"error":{}}', '{}'])('%s is refused', text => {
    expect(() => answer(text)).toThrow("the upstream's answer")
  })

  test('the public name never goes to the upstream, and what rules remove is reported', () => {
    const body = JsonBody.read(Buffer.from('{"model":"models/public","contents":[],"labels":{}}'))
    expect(geminiGenerate.forward.edits(body, { fields: fieldRules(['labels']) })).toEqual({
      edits: [{ remove: 'labels' }, { remove: 'model' }],
      dropped: ['labels'],
    })
  })
})

test('sources and empty parts after the finish reason take nothing away, content has to finish again', () => {
  const finished = eventOf({ candidates: [{ index: 0, content: { parts: [{ text: 'a' }] }, finishReason: 'STOP' }] })
  const after = (candidate: object) => run([Buffer.from(finished + eventOf({ candidates: [candidate] }))])
  for (const content of [undefined, { parts: [] }, { role: 'model', parts: [{ text: '' }] }]) {
    const { relay, text } = after({ index: 0, content, groundingMetadata: { webSearchQueries: ['q'] } })
    expect([relay.failure, relay.complete]).toEqual([undefined, true])
    expect(text).toContain('webSearchQueries')
  }
  expect(after({ index: 0, content: { parts: [{ text: 'b' }] } }).relay.failure?.kind).toBe('upstream-broken')
  expect(after({ index: 1, content: { parts: [{ text: '' }] } }).relay.failure?.kind).toBe('upstream-broken')
})

test('a [DONE] that is not of this dialect takes nothing away', () => {
  for (const size of [1, 1000]) {
    const bytes = Buffer.concat([wire, Buffer.from('data: [DONE]\n\n')])
    const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
      bytes.subarray(at * size, (at + 1) * size),
    )
    const { relay, text } = run(pieces)
    expect([text, relay.failure]).toEqual([run([wire]).text, undefined])
  }
  const alone = run([Buffer.from('data: [DONE]\n\n')])
  expect([alone.text, alone.relay.failure?.kind]).toEqual(['', 'upstream-broken'])
})
