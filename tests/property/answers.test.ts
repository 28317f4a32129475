/** Answers there and back: what a dialect's writer says, the reader of the same vendor understands. */
import { describe, expect, test } from 'bun:test'
import type { ChatEvent, ChatRequest, FinishReason } from '../../src/core/hub/chat.ts'
import type { ChatFormat } from '../../src/core/format.ts'
import type { ChatAdapter } from '../../src/core/provider.ts'
import type { Usage, UsageCounts } from '../../src/core/usage/usage.ts'
import {
  anthropicMessages,
  geminiGenerate,
  geminiGenerateArray,
  openaiChat,
  openaiCompletions,
  openaiResponses,
} from '../../src/formats/index.ts'
import type { Framing } from '../../src/lib/frame-splitter.ts'
import { frameSplitter } from '../../src/lib/frame-splitter.ts'
import { JsonBody } from '../../src/lib/json/json-body.ts'
import { providerOf } from '../golden/targets.ts'
import { canonical, forSeeds, seedsOf } from './random.ts'
import type { Random } from './random.ts'

type Json = Record<string, unknown>

/** What a generated answer may hold. */
interface Abilities {
  readonly choices: number
  readonly thinking: readonly ('unsigned' | 'signed' | 'redacted')[]
  readonly refusals?: true
  readonly images?: true
  readonly audio?: true
  readonly logprobs?: true
  readonly citations?: true
  readonly usage: readonly (keyof UsageCounts)[]
  /** The dialect infers the reason from the calls. */
  readonly callsEndTurns?: true
  /** Text may follow calls. */
  readonly textAfterCalls?: true
}

const choiceEvents = (random: Random, choice: number, can: Abilities): ChatEvent[] => {
  const events: ChatEvent[] = []
  const deltas = (make: (text: string) => ChatEvent): void => {
    for (let at = random.int(2); at >= 0; at--) events.push(make(random.text()))
  }
  for (const kind of can.thinking)
    if (random.chance(0.4)) {
      if (kind === 'redacted') events.push({ type: 'reasoning', choice, redacted: random.base64() })
      else deltas(text => ({ type: 'reasoning', choice, text }))
      if (kind === 'signed') events.push({ type: 'reasoning', choice, signature: random.base64() })
    }
  const refuses = can.refusals === true && random.chance(0.1)
  if (refuses) deltas(text => ({ type: 'refusal', choice, text }))
  else if (random.chance(0.8)) {
    deltas(text => ({ type: 'text', choice, text }))
    if (can.logprobs && random.chance(0.3)) events.push({ type: 'logprobs', choice, content: [token(random)] })
    if (can.citations && random.chance(0.3))
      events.push({
        type: 'citation',
        choice,
        citation: {
          type: 'url_citation',
          url: `https://news.example/${random.name('n')}`,
          title: random.text(),
          start_index: 0,
          end_index: 2,
        },
      })
  }
  if (can.images && random.chance(0.2))
    events.push({ type: 'image', choice, source: { data: random.base64(), mediaType: 'image/png' } })
  if (can.audio && random.chance(0.2))
    events.push({
      type: 'audio',
      choice,
      id: random.name('audio'),
      data: random.base64(),
      transcript: random.text(),
      expiresAtS: 1_800_000_000,
    })
  const calls = refuses || random.chance(0.5) ? 0 : 1 + random.int(2)
  for (let index = 0; index < calls; index++) {
    const written = JSON.stringify(random.json())
    const cut = random.int(written.length)
    events.push({
      type: 'tool-call-start',
      choice,
      index,
      id: random.name('call'),
      name: random.pick(['get_weather', 'f']),
    })
    for (const fragment of [written.slice(0, cut), written.slice(cut)])
      if (fragment !== '') events.push({ type: 'tool-call-arguments', choice, index, fragment })
    events.push({ type: 'tool-call-end', choice, index })
  }
  if (calls > 0 && can.textAfterCalls && random.chance(0.2)) deltas(text => ({ type: 'text', choice, text }))
  const plain: FinishReason[] = calls > 0 ? ['tool-calls'] : ['stop', 'length', 'content-filter']
  events.push({ type: 'finish', choice, reason: random.pick(plain) })
  return events
}

const token = (random: Random): Json => {
  const text = random.text()
  const one = { token: text, logprob: -(1 + random.int(100)) / 10, bytes: [...Buffer.from(text)] }
  return { ...one, top_logprobs: [one] }
}

function usageOf(random: Random, can: Abilities): Usage {
  const usage: Usage = { inputTokens: 2000 + random.int(1000), outputTokens: 500 + random.int(500) }
  for (const name of can.usage) if (random.chance(0.5)) usage[name] = 1 + random.int(200)
  if (usage.cacheWriteOneHourTokens !== undefined && usage.cacheWriteTokens === undefined)
    delete usage.cacheWriteOneHourTokens
  if (usage.cacheWriteOneHourTokens !== undefined)
    usage.cacheWriteOneHourTokens = Math.min(usage.cacheWriteOneHourTokens, usage.cacheWriteTokens!)
  return usage
}

/** Choices interleaved, as they stream. */
function randomAnswer(random: Random, can: Abilities): ChatEvent[] {
  const queues = Array.from({ length: 1 + random.int(can.choices - 1) }, (_, choice) =>
    choiceEvents(random, choice, can),
  )
  const events: ChatEvent[] = [
    { type: 'start', id: random.name('chatcmpl'), model: 'upstream', createdS: 1_700_000_000 + random.int(1000) },
  ]
  while (queues.some(queue => queue.length > 0)) {
    const queue = random.pick(queues.filter(one => one.length > 0))
    events.push(...queue.splice(0, 1 + random.int(2)))
  }
  if (random.chance(0.7)) events.push({ type: 'usage', usage: usageOf(random, can) })
  return events
}

/** By choice, in order, deltas joined; ends of calls are where the next thing begins. */
function summary(events: readonly ChatEvent[], change: (event: ChatEvent) => ChatEvent[] = event => [event]): unknown {
  const choices = new Map<number, Json[]>()
  let usage: Usage | undefined
  for (const event of events.flatMap(change)) {
    if (event.type === 'usage') usage = event.usage
    if (event.type === 'error') throw event.error
    if (!('choice' in event) || event.type === 'tool-call-end') continue
    const list = choices.get(event.choice) ?? []
    choices.set(event.choice, list)
    const last = list.at(-1)
    if (event.type === 'text' && last?.type === 'text') last.text = String(last.text) + event.text
    else if (event.type === 'refusal' && last?.type === 'refusal') last.text = String(last.text) + event.text
    else if (
      event.type === 'reasoning' &&
      event.text !== undefined &&
      last?.type === 'reasoning' &&
      last.text !== undefined
    )
      last.text = String(last.text) + event.text
    else if (event.type === 'tool-call-arguments' && last?.type === 'tool-call-arguments' && last.index === event.index)
      last.fragment = String(last.fragment) + event.fragment
    else if (event.type === 'logprobs') list.push({ type: 'logprobs', content: event.content })
    else list.push({ ...event })
  }
  return canonical({ choices: [...choices.entries()].sort(([a], [b]) => a - b), usage })
}

/** What only the order tells: in a whole answer each kind stands together. */
function byKind(value: unknown): unknown {
  const { choices, usage } = value as { choices: [number, Json[]][]; usage?: Usage }
  const order = ['reasoning', 'text', 'refusal', 'citation', 'image', 'audio', 'tool-call-start', 'logprobs', 'finish']
  return {
    usage,
    choices: choices.map(([index, list]) => [
      index,
      order.map(kind =>
        list.filter(one => one.type === kind || (kind === 'tool-call-start' && one.type === 'tool-call-arguments')),
      ),
    ]),
  }
}

/** All text of a writer, at first read in pieces of any size. */
function streamed(events: readonly ChatEvent[], format: ChatFormat, request: ChatRequest): string {
  const writer = format.writer('public', request)
  return events.map(event => writer.write(event)).join('') + writer.end()
}

function readBack(text: string, adapter: ChatAdapter, framing: Framing | undefined, size: number): ChatEvent[] {
  const splitter = frameSplitter(framing)
  const read = adapter.reader()
  const bytes = Buffer.from(text)
  const events: ChatEvent[] = []
  for (let at = 0; at < bytes.length; at += size)
    for (const frame of splitter.push(bytes.subarray(at, at + size))) events.push(...read(frame))
  for (const frame of splitter.end()) events.push(...read(frame))
  expect(splitter.rest()).toBe('')
  return events
}

const decoded = (format: ChatFormat, body: Json): ChatRequest =>
  format.decode(JsonBody.read(Buffer.from(JSON.stringify(body))))
const messages = [{ role: 'user', content: 'hi' }]
const seeds = seedsOf(400)

describe('an answer, written for clients and read as an upstream, is the same', () => {
  test('chat completions', () => {
    const can: Abilities = {
      choices: 3,
      thinking: ['signed', 'unsigned'],
      refusals: true,
      images: true,
      audio: true,
      logprobs: true,
      citations: true,
      textAfterCalls: true,
      usage: ['cachedInputTokens', 'cacheWriteTokens', 'reasoningTokens', 'inputAudioTokens', 'outputAudioTokens'],
    }
    const adapter = providerOf('openai').chat!
    const request = decoded(openaiChat, { model: 'm', messages, stream: true, stream_options: { include_usage: true } })
    // Sources are written as OpenAI writes them; unsigned thinking at the end of an answer is closed by an empty proof.
    const alike = (event: ChatEvent): ChatEvent[] =>
      event.type === 'citation' ? [{ ...event, citation: flat(event.citation) }] : [event]
    forSeeds(seeds, random => {
      const events = randomAnswer(random, can)
      const back = readBack(streamed(events, openaiChat, request), adapter, undefined, 1 + random.int(50))
      expect(byKind(summary(back, alike))).toEqual(byKind(summary(events, alike)))
      expect(back.filter(event => event.type === 'start')).toEqual([
        {
          ...(events[0] as Extract<ChatEvent, { type: 'start' }>),
          id: `chatcmpl-${(events[0] as { id: string }).id}`,
          model: 'public',
        },
      ])
      const whole = adapter.result(JSON.parse(JSON.stringify(openaiChat.encode(events, 'public', request))))
      expect(withoutBlocks(byKind(summary(whole, alike)))).toEqual(withoutBlocks(byKind(summary(events, alike))))
    })
  })

  test('Anthropic', () => {
    const can: Abilities = {
      choices: 1,
      thinking: ['signed', 'redacted'],
      citations: true,
      textAfterCalls: true,
      usage: ['cachedInputTokens', 'cacheWriteTokens', 'cacheWriteOneHourTokens', 'reasoningTokens'],
    }
    const adapter = providerOf('anthropic').chat!
    const request = decoded(anthropicMessages, {
      model: 'm',
      max_tokens: 9000,
      messages,
      stream: true,
      thinking: { type: 'enabled', budget_tokens: 2048 },
    })
    // A source is what was found by a search; its place in the text has no word. That Anthropic does not bill a refusal
    // before any output is read from it, and written for no client.
    const alike = (event: ChatEvent): ChatEvent[] => {
      if (event.type === 'usage') return [{ ...event, usage: { ...event.usage, served: undefined } }]
      return event.type === 'citation'
        ? [{ ...event, span: undefined, citation: { url: event.citation.url, title: event.citation.title } }]
        : [event]
    }
    forSeeds(seeds, random => {
      const events = randomAnswer(random, can)
      const expected = summary(withUsage(events), alike)
      expect(
        summary(readBack(streamed(events, anthropicMessages, request), adapter, undefined, 1 + random.int(50)), alike),
      ).toEqual(expected)
      const whole = adapter.result(JSON.parse(JSON.stringify(anthropicMessages.encode(events, 'public', request))))
      expect(summary(whole, alike)).toEqual(expected)
    })
  })

  test('Gemini, as events and as one array', () => {
    const can: Abilities = {
      choices: 3,
      thinking: ['unsigned'],
      images: true,
      logprobs: true,
      citations: true,
      usage: ['cachedInputTokens', 'reasoningTokens', 'inputAudioTokens', 'outputAudioTokens'],
    }
    const adapter = providerOf('gemini').chat!
    const request = decoded(geminiGenerate, {
      contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
      generationConfig: { thinkingConfig: { includeThoughts: true } },
    })
    // Places count in bytes there; sources are told at the end.
    const alike = (event: ChatEvent): ChatEvent[] =>
      event.type === 'citation'
        ? [{ ...event, citation: { url: event.citation.url, title: event.citation.title } }]
        : [event]
    forSeeds(seeds, random => {
      const events = randomAnswer(random, can)
      const expected = byKind(summary(events, alike))
      expect(
        byKind(summary(readBack(streamed(events, geminiGenerate, request), adapter, 'sse', 1 + random.int(50)), alike)),
      ).toEqual(expected)
      expect(
        byKind(
          summary(
            readBack(streamed(events, geminiGenerateArray, request), adapter, 'json-array', 1 + random.int(50)),
            alike,
          ),
        ),
      ).toEqual(expected)
      const whole = adapter.result(JSON.parse(JSON.stringify(geminiGenerate.encode(events, 'public', request))))
      expect(byKind(summary(whole, alike))).toEqual(expected)
    })
  })
})

/** `{type, url_citation: {...}}` and its short form. */
const flat = (citation: Json): Json => ({
  type: 'url_citation',
  ...((citation.url_citation as Json | undefined) ?? citation),
  ...(citation.url_citation ? { url_citation: undefined } : {}),
})

/** A whole message has thinking in blocks: around a signed one all are blocks, and may be cut in other places. */
function withoutBlocks(value: unknown): unknown {
  const { choices, usage } = value as { choices: [number, Json[][]][]; usage: unknown }
  return {
    usage,
    choices: choices.map(([index, kinds]) => [
      index,
      kinds.map((list, at) =>
        at === 0
          ? [list.map(one => one.text ?? '').join(''), list.flatMap(one => one.signature ?? [])]
          : list.every(one => one.type === 'text')
            ? list.map(one => one.text).join('')
            : list,
      ),
    ]),
  }
}

/** Its messages always count; nothing known is zero. */
function withUsage(events: readonly ChatEvent[]): ChatEvent[] {
  return events.some(event => event.type === 'usage')
    ? [...events]
    : [...events, { type: 'usage', usage: { inputTokens: 0, outputTokens: 0 } }]
}

describe('a stream, put together, is the whole answer', () => {
  test('responses', () => {
    const can: Abilities = {
      choices: 1,
      thinking: ['signed', 'unsigned', 'redacted'],
      refusals: true,
      logprobs: true,
      citations: true,
      textAfterCalls: true,
      usage: ['cachedInputTokens', 'reasoningTokens'],
    }
    const request = decoded(openaiResponses, { model: 'm', input: 'hi', stream: true })
    forSeeds(seeds, random => {
      const events = randomAnswer(random, can)
      const reported = streamed(events, openaiResponses, request)
        .split('\n\n')
        .filter(Boolean)
        .map(event => JSON.parse(event.slice(event.indexOf('data: ') + 6)) as Json)
      const whole = openaiResponses.encode(events, 'public', request) as Json
      const final = reported.at(-1)!.response as Json
      expect(nameless(final.output)).toEqual(nameless(whole.output))
      expect([final.status, final.usage, final.incomplete_details]).toEqual([
        whole.status,
        whole.usage,
        whole.incomplete_details,
      ])
      expect(reported.map(event => event.sequence_number)).toEqual(reported.map((_, at) => at))
      expect(textsOf(reported, 'response.output_text.delta')).toBe(eventTexts(events, 'text'))
      expect(textsOf(reported, 'response.refusal.delta')).toBe(eventTexts(events, 'refusal'))
      expect(textsOf(reported, 'response.reasoning_summary_text.delta')).toBe(eventTexts(events, 'reasoning'))
      // Every item begins and ends once, with what it is in the end.
      const done = reported
        .filter(event => event.type === 'response.output_item.done')
        .sort((a, b) => Number(a.output_index) - Number(b.output_index))
      expect(done.map(event => event.item)).toEqual(final.output as Json[])
      expect(reported.filter(event => event.type === 'response.output_item.added').length).toBe(done.length)
    })
  })

  test('text completions', () => {
    const can: Abilities = { choices: 3, thinking: [], refusals: true, usage: [] }
    const request = decoded(openaiCompletions, { model: 'm', prompt: 'hi', stream: true })
    forSeeds(seeds, random => {
      const events = randomAnswer(random, can)
      const chunks = streamed(events, openaiCompletions, request)
        .split('\n\n')
        .filter(event => event !== '' && event !== 'data: [DONE]')
        .map(
          event =>
            JSON.parse(event.slice(6)) as { choices: { index: number; text: string; finish_reason: string | null }[] },
        )
      const whole = openaiCompletions.encode(events, 'public', request) as {
        choices: { index: number; text: string; finish_reason: string }[]
      }
      for (const { index, text, finish_reason: reason } of whole.choices) {
        const own = chunks.flatMap(chunk => chunk.choices).filter(choice => choice.index === index)
        expect(own.map(choice => choice.text).join('')).toBe(text)
        expect(own.flatMap(choice => choice.finish_reason ?? [])).toEqual([reason])
      }
    })
  })
})

/** Ids of items are random. */
const nameless = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (key: string, one: unknown) => (key === 'id' ? '' : one))
const textsOf = (reported: readonly Json[], type: string): string =>
  reported
    .filter(event => event.type === type)
    .map(event => String(event.delta))
    .join('')
const eventTexts = (events: readonly ChatEvent[], type: string): string =>
  events.map(event => (event.type === type && 'text' in event ? (event.text ?? '') : '')).join('')
