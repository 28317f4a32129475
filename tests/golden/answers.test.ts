/**
 * Every answer fixture: hub events, OpenAI's non-streamed answer and chunks, and equal results for every split of the
 * bytes.
 */
import { describe, expect, test } from 'bun:test'
import type { ChatEvent, ChatRequest } from '../../src/core/hub/chat.ts'
import { GatewayError } from '../../src/core/errors.ts'
import type { ChatFormat } from '../../src/core/format.ts'
import type { ChatAdapter } from '../../src/core/provider.ts'
import {
  anthropicMessages,
  geminiGenerate,
  geminiGenerateArray,
  openaiChat,
  openaiCompletions,
  openaiResponses,
} from '../../src/formats/index.ts'
import { frameSplitter } from '../../src/lib/frame-splitter.ts'
import type { Frame } from '../../src/lib/frame.ts'
import { AnswerState, TranslatedRelay, readAnswer } from '../../src/pipeline/lanes/translate.ts'
import { providers } from '../../src/providers/index.ts'
import { expectConforms, streamData } from '../support/openai-conformance.ts'
import { chatRequest } from '../support/provider-rig.ts'
import { families } from './answers/index.ts'
import type { AnswerFamily, AnswerFixture } from './answers/index.ts'
import { expectGolden } from './golden.ts'
import { targets } from './targets.ts'

type Json = Record<string, unknown>

const adapterOf = ({ providers: [name] }: AnswerFamily): ChatAdapter => targets.get(name!)![0]!.adapter
const requestOf = ({ request }: AnswerFixture): ChatRequest => chatRequest({ ...request })
const describeFailure = (error: unknown): Json =>
  error instanceof GatewayError
    ? {
        kind: error.kind,
        code: error.code,
        message: error.message,
        ...(error.retryAfterMs !== undefined && { retryAfterMs: error.retryAfterMs }),
      }
    : { thrown: String(error) }

/** Replaces random ids and, unless the upstream sent one, the creation time. */
function withoutRandomness(value: unknown, events: readonly ChatEvent[]): unknown {
  const hasDate = events.some(event => event.type === 'start' && event.createdS !== undefined)
  return JSON.parse(JSON.stringify(value), (key: string, one: unknown) => {
    if (key === 'created' && !hasDate) return 'now'
    if (typeof one !== 'string') return one
    const replaced = one.replace(/\b(call_|chatcmpl-)[0-9a-f]{24,32}\b/g, '$1random')
    return hasDate ? replaced : replaced.replace(/"created":\d+/g, '"created":"now"')
  })
}

const describeEvent = (event: ChatEvent): unknown =>
  event.type === 'error' ? { type: 'error', ...describeFailure(event.error) } : event

function wholeResult(family: AnswerFamily, fixture: AnswerFixture): Json {
  const adapter = adapterOf(family)
  let events: ChatEvent[] = []
  try {
    events = adapter.result(fixture.whole)
    readAnswer(adapter, Buffer.from(JSON.stringify(fixture.whole)))
    const openai = openaiChat.encode(events, 'public', requestOf(fixture))
    return withoutRandomness({ events, openai }, events) as Json
  } catch (error) {
    return withoutRandomness({ events: events.map(describeEvent), failure: describeFailure(error) }, events) as Json
  }
}

interface StreamResult {
  readonly events: ChatEvent[]
  readonly text: string
  readonly failure: GatewayError | undefined
}

/** As in the pipeline: the relay's text for the client, and the events. */
function readStream(
  adapter: ChatAdapter,
  pieces: readonly Uint8Array[],
  { format = openaiChat, request }: { format?: ChatFormat; request: ChatRequest },
): StreamResult {
  const events: ChatEvent[] = []
  const recording: ChatAdapter = {
    ...adapter,
    reader: () => {
      const read = adapter.reader()
      return frame => {
        const found = read(frame)
        events.push(...found)
        return found
      }
    },
  }
  const relay = new TranslatedRelay({ adapter: recording, format, request, publicModel: 'public' })
  let text = ''
  for (const piece of pieces) text += relay.push(piece)
  text += relay.end()
  return { events, text, failure: relay.failure }
}

const sameInAll = ['id', 'object', 'created', 'model', 'system_fingerprint'] as const

/** Fields that are equal in all chunks are listed once. */
function chunksOf(text: string): Json {
  const chunks = streamData(text)
  const objects = chunks.filter(chunk => typeof chunk === 'object') as Json[]
  const head = Object.fromEntries(sameInAll.map(name => [name, objects[0]?.[name]]))
  for (const chunk of objects) expect(Object.fromEntries(sameInAll.map(name => [name, chunk[name]]))).toEqual(head)
  return {
    head,
    list: chunks.map(chunk =>
      typeof chunk === 'string'
        ? chunk
        : Object.fromEntries(Object.entries(chunk as Json).filter(([name]) => !(name in head))),
    ),
  }
}

function streamResult(family: AnswerFamily, fixture: AnswerFixture): Json {
  const { events, text, failure } = readStream(adapterOf(family), [family.bytes(fixture.stream!)], {
    request: requestOf(fixture),
  })
  return withoutRandomness(
    {
      events: events.map(describeEvent),
      chunks: chunksOf(text),
      ...(failure && { failure: describeFailure(failure) }),
    },
    events,
  ) as Json
}

test('every provider that chats reads with the reader of a family', () => {
  for (const [name, provider] of providers) {
    if (!provider.chat) continue
    const family =
      families.find(one => one.providers.includes(name)) ??
      families.find(one => adapterOf(one).result === provider.chat!.result)
    expect({ name, family: family !== undefined }).toEqual({ name, family: true })
    if (name !== 'vertex_ai')
      expect({ name, same: provider.chat.reader === adapterOf(family!).reader }).toEqual({ name, same: true })
  }
  expect([...targets.keys()].filter(name => !families.some(family => family.providers.includes(name)))).toEqual([])
})

describe.each(families.map(family => [family.name, family] as const))('answers of %s', (name, family) => {
  test('there are enough, each by its own name', () => {
    expect(family.fixtures.length).toBeGreaterThanOrEqual(12)
    expect(new Set(family.fixtures.map(fixture => fixture.name)).size).toBe(family.fixtures.length)
  })

  test('become the expected events and answers', () => {
    const results = family.fixtures.map(fixture => [
      fixture.name,
      {
        ...(fixture.whole !== undefined && { whole: wholeResult(family, fixture) }),
        ...(fixture.stream && { stream: streamResult(family, fixture) }),
      },
    ])
    expectGolden(`answers-${name}`, Object.fromEntries(results))
  })

  test('are the same whole and as a stream', () => {
    for (const fixture of family.fixtures) {
      if (fixture.apart || fixture.whole === undefined || !fixture.stream) continue
      const request = requestOf(fixture)
      const { events, failure } = readStream(adapterOf(family), [family.bytes(fixture.stream)], { request })
      const whole = wholeResult(family, fixture)
      const streamed = failure
        ? { failure: describeFailure(failure) }
        : { openai: openaiChat.encode(events, 'public', request) }
      expect({ fixture: fixture.name, ...(withoutRandomness(streamed, events) as Json) }).toEqual({
        fixture: fixture.name,
        ...(whole.failure ? { failure: whole.failure } : { openai: whole.openai }),
      })
    }
  })

  test('are the same wherever the bytes are cut', () => {
    const adapter = adapterOf(family)
    for (const fixture of family.fixtures) {
      if (!fixture.stream) continue
      const bytes = family.bytes(fixture.stream)
      // A reader sees frames only: they have to be equal for every single split.
      const frames = framesOf(adapter, [bytes])
      for (let at = 1; at < bytes.length; at++)
        if (!sameFrames(framesOf(adapter, [bytes.subarray(0, at), bytes.subarray(at)]), frames))
          throw new Error(`${fixture.name}: other frames when cut at byte ${at}`)
      const request = requestOf(fixture)
      // If the relay fails within a push, it discards the text of that push, so only the events are compared then.
      const single = readStream(adapter, inPieces(bytes, 1), { request })
      const expected = withoutRandomness([single.events, single.text, single.failure?.message], single.events)
      for (const size of [2, 3, 5, 17, bytes.length]) {
        const cut = readStream(adapter, inPieces(bytes, size), { request })
        expect({
          fixture: fixture.name,
          size,
          got: withoutRandomness([cut.events, cut.text, cut.failure?.message], cut.events),
        }).toEqual({ fixture: fixture.name, size, got: expected })
      }
    }
  })

  test('are never taken for complete when the bytes stop early', () => {
    const adapter = adapterOf(family)
    for (const fixture of family.fixtures) {
      if (!fixture.stream) continue
      const bytes = family.bytes(fixture.stream)
      for (const end of frameEnds(adapter, bytes))
        for (const at of [end - 1, end]) {
          const { events, text, failure } = readStream(adapter, [bytes.subarray(0, at)], {
            request: requestOf(fixture),
          })
          const state = new AnswerState()
          for (const event of events) state.see(event)
          expect({ fixture: fixture.name, at, failed: failure !== undefined }).toEqual({
            fixture: fixture.name,
            at,
            failed: !state.complete || state.failure !== undefined,
          })
          expect({ fixture: fixture.name, at, done: text.includes('[DONE]') }).toEqual({
            fixture: fixture.name,
            at,
            done: failure === undefined,
          })
        }
    }
  })

  test('conform to the OpenAI document', async () => {
    for (const fixture of family.fixtures) {
      const whole = fixture.whole === undefined ? undefined : wholeResult(family, fixture).openai
      if (whole && (whole as Json).created !== 'now') expectConforms('CreateChatCompletionResponse', whole)
      if (!fixture.stream) continue
      const { text, failure } = readStream(adapterOf(family), [family.bytes(fixture.stream)], {
        request: requestOf(fixture),
      })
      if (failure) continue
      for (const chunk of streamData(text))
        if (chunk !== '[DONE]') expectConforms('CreateChatCompletionStreamResponse', chunk)
    }
  })

  test('reach the clients of every dialect, whole and as a stream', () => {
    for (const fixture of family.fixtures)
      for (const format of [openaiCompletions, openaiResponses, anthropicMessages, geminiGenerate, geminiGenerateArray])
        expectTranslation(family, fixture, format)
  })
})

/** In another dialect the text is complete, a failure is reported, and nothing is thrown. */
function expectTranslation(family: AnswerFamily, fixture: AnswerFixture, format: ChatFormat): void {
  const adapter = adapterOf(family)
  const about = { fixture: fixture.name, dialect: format.dialect }
  if (fixture.whole !== undefined) {
    const expected = wholeResult(family, fixture)
    if (expected.openai) {
      const body = JSON.stringify(format.encode(adapter.result(fixture.whole), 'public', requestOf(fixture)))
      expect({
        ...about,
        text: body.includes(textIn((expected.openai as { choices: { message: Json }[] }).choices[0]!.message.content)),
      }).toEqual({ ...about, text: true })
      expect(body).not.toContain('undefined')
    }
  }
  if (!fixture.stream) return
  const bytes = family.bytes(fixture.stream)
  const openai = readStream(adapter, [bytes], { request: requestOf(fixture) })
  const other = readStream(adapter, inPieces(bytes, 7), { format, request: requestOf(fixture) })
  expect({ ...about, failure: other.failure?.message }).toEqual({ ...about, failure: openai.failure?.message })
  expect(other.text).not.toContain('undefined')
}

/** As escaped inside JSON. */
const textIn = (content: unknown): string => (typeof content === 'string' ? JSON.stringify(content).slice(1, -1) : '')

function framesOf(adapter: ChatAdapter, pieces: readonly Uint8Array[]): Frame[] {
  const splitter = frameSplitter(adapter.framing)
  const frames: Frame[] = []
  for (const piece of pieces) frames.push(...splitter.push(piece))
  frames.push(...splitter.end())
  return frames
}

function sameFrames(one: readonly Frame[], other: readonly Frame[]): boolean {
  return (
    one.length === other.length &&
    one.every((frame, at) => frame.data === other[at]!.data && frame.event === other[at]!.event)
  )
}

function inPieces(bytes: Uint8Array, size: number): Uint8Array[] {
  const pieces: Uint8Array[] = []
  for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size))
  return pieces
}

/** Byte offsets at which a frame is complete. */
function frameEnds(adapter: ChatAdapter, bytes: Uint8Array): number[] {
  const splitter = frameSplitter(adapter.framing)
  const ends: number[] = []
  for (let at = 0; at < bytes.length; at++) if (splitter.push(bytes.subarray(at, at + 1)).length > 0) ends.push(at + 1)
  return ends
}
