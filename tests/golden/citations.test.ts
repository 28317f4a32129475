/** Citations name the text that they are about, whole and streamed, from each upstream to each client. */
import { describe, expect, test } from 'bun:test'
import type { ChatFormat } from '../../src/core/format.ts'
import { geminiGenerate, openaiChat, openaiResponses } from '../../src/formats/index.ts'
import { readAnswer, TranslatedRelay } from '../../src/pipeline/lanes/translate.ts'
import { chatRequest } from '../support/provider-rig.ts'
import { families } from './answers/index.ts'
import { targets } from './targets.ts'

type Fields = Record<string, any>

/** Each letter, pair and line counts otherwise in UTF-8 and UTF-16. */
const before = 'Öl 😀 and '
const cited = 'Über “all” 😀'
const after = ' €.'
const url = 'https://news.example/a'

interface Upstream {
  readonly provider: string
  readonly whole: unknown
  readonly stream: readonly unknown[]
}

const found = { type: 'web_search_result_location', url, title: 'News', cited_text: 'source', encrypted_index: 'x' }
const block = (index: number, text: string, ...deltas: Fields[]): Fields[] => [
  { type: 'content_block_start', index, content_block: { type: 'text', text: '', citations: [] } },
  ...deltas.map(delta => ({ type: 'content_block_delta', index, delta })),
  ...[...text].map(one => ({ type: 'content_block_delta', index, delta: { type: 'text_delta', text: one } })),
]
const citedDelta = { type: 'citations_delta', citation: found }
const messages = (...blocks: Fields[][]): Fields[] => [
  { type: 'message_start', message: { id: 'x', model: 'm', usage: { input_tokens: 1, output_tokens: 1 } } },
  ...blocks.flat(),
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 9 } },
  { type: 'message_stop' },
]
const stopped = (index: number, events: Fields[]): Fields[] => [...events, { type: 'content_block_stop', index }]
const ofClaude = (content: readonly Fields[]): Fields => ({
  id: 'x',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content,
  stop_reason: 'end_turn',
  usage: { input_tokens: 1, output_tokens: 9 },
})
const claude = ofClaude([
  { type: 'text', text: before },
  { type: 'text', text: cited, citations: [found] },
  { type: 'text', text: after },
])

const source = { title: 'News', location: { web: { url, domain: 'news.example' } } }
const converse = (index: number, delta: Fields) => ['contentBlockDelta', { contentBlockIndex: index, delta }]

const note = (start: number, text = cited) => ({
  type: 'url_citation',
  start_index: start,
  end_index: start + text.length,
  url,
  title: 'News',
})
const message = (text: string, annotations: Fields[] = []) => ({
  type: 'message',
  id: 'msg',
  status: 'completed',
  role: 'assistant',
  content: [{ type: 'output_text', text, annotations }],
})
const response = (output: readonly Fields[]) => ({
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  status: 'completed',
  model: 'm',
  output,
  usage: { input_tokens: 1, output_tokens: 9, total_tokens: 10 },
})
const output = [message(before.trim()), message(cited + after, [note(0)])]

const bytesOf = (text: string): number => Buffer.byteLength(text)
const candidate = (text: string, more: Fields = {}): Fields => ({
  candidates: [{ index: 0, content: { role: 'model', parts: [{ text }] }, ...more }],
  responseId: 'x',
  modelVersion: 'm',
})
const grounding = {
  finishReason: 'STOP',
  groundingMetadata: {
    groundingChunks: [{ web: { uri: url, title: 'News' } }],
    groundingSupports: [
      {
        segment: { startIndex: bytesOf(before), endIndex: bytesOf(before + cited), text: cited },
        groundingChunkIndices: [0],
      },
    ],
  },
}

const upstreams: Readonly<Record<string, Upstream>> = {
  'Claude, citations before their text': {
    provider: 'anthropic',
    whole: claude,
    stream: messages(
      stopped(0, block(0, before)),
      stopped(1, block(1, cited, citedDelta)),
      stopped(2, block(2, after)),
    ),
  },
  'Claude, citations behind their text': {
    provider: 'anthropic',
    whole: claude,
    stream: messages(
      stopped(0, block(0, before)),
      stopped(1, [...block(1, cited), { type: 'content_block_delta', index: 1, delta: citedDelta }]),
      stopped(2, block(2, after)),
    ),
  },
  'Claude, a last block that is never stopped': {
    provider: 'anthropic',
    whole: ofClaude(claude.content.slice(0, 2) as Fields[]),
    stream: messages(stopped(0, block(0, before)), block(1, cited, citedDelta)),
  },
  Bedrock: {
    provider: 'bedrock',
    whole: {
      output: {
        message: {
          role: 'assistant',
          content: [
            { text: before },
            { citationsContent: { content: [{ text: cited }], citations: [source] } },
            { text: after },
          ],
        },
      },
      stopReason: 'end_turn',
      usage: { inputTokens: 1, outputTokens: 9, totalTokens: 10 },
    },
    stream: [
      ['messageStart', { role: 'assistant' }],
      converse(0, { text: before }),
      ['contentBlockStop', { contentBlockIndex: 0 }],
      converse(1, { text: cited }),
      converse(1, { citation: source }),
      ['contentBlockStop', { contentBlockIndex: 1 }],
      converse(2, { text: after }),
      ['messageStop', { stopReason: 'end_turn' }],
      ['metadata', { usage: { inputTokens: 1, outputTokens: 9, totalTokens: 10 } }],
    ],
  },
  'Responses, in the second message': {
    provider: 'openai-responses',
    whole: response(output),
    stream: [
      { type: 'response.created', response: { ...response([]), status: 'in_progress' } },
      { type: 'response.output_item.added', output_index: 0, item: message('') },
      { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: before.trim() },
      { type: 'response.output_item.done', output_index: 0, item: output[0] },
      { type: 'response.output_item.added', output_index: 1, item: message('') },
      { type: 'response.output_text.delta', output_index: 1, content_index: 0, delta: cited },
      {
        type: 'response.output_text.annotation.added',
        output_index: 1,
        content_index: 0,
        annotation_index: 0,
        annotation: note(0),
      },
      { type: 'response.output_text.delta', output_index: 1, content_index: 0, delta: after },
      { type: 'response.output_item.done', output_index: 1, item: output[1] },
      { type: 'response.completed', response: response(output) },
    ],
  },
  Gemini: {
    provider: 'gemini',
    whole: candidate(before + cited + after, grounding),
    stream: [candidate(before), candidate(cited), candidate(after, grounding)],
  },
}

/** The texts of the answer that its citations are about, with the addresses. */
type Cited = readonly (readonly [text: string, url: unknown])[]

const ofResponse = ({ output: items }: Fields): Cited =>
  (items as Fields[])
    .flatMap(item => (item.content ?? []) as Fields[])
    .flatMap(({ text, annotations }) =>
      (annotations as Fields[]).map(one => [text.slice(one.start_index, one.end_index), one.url] as const),
    )
const ofChat = ({ content, annotations }: Fields): Cited =>
  (annotations as Fields[]).map(({ url_citation: one }) => [content.slice(one.start_index, one.end_index), one.url])
function ofCandidates(answers: readonly Fields[]): Cited {
  const candidates = answers.map(answer => answer.candidates[0] as Fields)
  const text = Buffer.from(candidates.flatMap(one => one.content.parts.map((part: Fields) => part.text)).join(''))
  const { groundingChunks, groundingSupports } = candidates.at(-1)!.groundingMetadata
  return (groundingSupports as Fields[]).map(({ segment, groundingChunkIndices: [at] }) => {
    const piece = text.subarray(segment.startIndex, segment.endIndex).toString()
    expect(segment.text).toBe(piece)
    return [piece, groundingChunks[at].web.uri]
  })
}

interface Client {
  readonly format: ChatFormat
  whole(answer: Fields): Cited
  streamed(events: readonly Fields[]): Cited
}

const clients: Readonly<Record<string, Client>> = {
  'chat completions': {
    format: openaiChat,
    whole: answer => ofChat(answer.choices[0].message),
    streamed(events) {
      const deltas = events.flatMap(event => (event.choices as Fields[]).map(choice => choice.delta as Fields))
      return ofChat({
        content: deltas.map(delta => delta.content ?? '').join(''),
        annotations: deltas.flatMap(delta => delta.annotations ?? []),
      })
    },
  },
  Responses: {
    format: openaiResponses,
    whole: ofResponse,
    streamed(events) {
      const added = events.filter(event => event.type === 'response.output_text.annotation.added')
      const last = events.at(-1)!.response as Fields
      const items = (last.output as Fields[]).flatMap(item => item.content ?? []) as Fields[]
      expect(added.map(event => event.annotation)).toEqual(items.flatMap(part => part.annotations))
      return ofResponse(last)
    },
  },
  Gemini: { format: geminiGenerate, whole: answer => ofCandidates([answer]), streamed: ofCandidates },
}

const eventsOf = (text: string): Fields[] =>
  text
    .split('\n')
    .filter(line => line.startsWith('data: {'))
    .map(line => JSON.parse(line.slice('data: '.length)) as Fields)

describe.each(Object.entries(upstreams))('%s', (_, { provider, whole, stream }) => {
  const family = families.find(one => one.providers.includes(provider))!
  const { adapter } = targets.get(provider)![0]!

  test.each(Object.entries(clients))('for a client of %s', (__, client) => {
    const request = chatRequest({})
    const { events } = readAnswer(adapter, Buffer.from(JSON.stringify(whole)))
    expect(client.whole(client.format.encode(events, 'public', request) as Fields)).toEqual([[cited, url]])
    const relay = new TranslatedRelay({ adapter, format: client.format, request, publicModel: 'public' })
    const text = relay.push(family.bytes(stream)) + relay.end()
    expect(relay.failure).toBeUndefined()
    expect(client.streamed(eventsOf(text))).toEqual([[cited, url]])
  })
})

test('a citation behind a call of a tool counts from its own message in Responses', () => {
  const { adapter } = targets.get('anthropic')![0]!
  const answer = ofClaude([
    { type: 'text', text: before },
    { type: 'tool_use', id: 'a', name: 'look', input: {} },
    { type: 'text', text: cited, citations: [found] },
  ])
  const { events } = readAnswer(adapter, Buffer.from(JSON.stringify(answer)))
  const encoded = openaiResponses.encode(events, 'public', chatRequest({})) as Fields
  expect(ofResponse(encoded)).toEqual([[cited, url]])
  expect(encoded.output.at(-1).content[0].annotations[0]).toMatchObject({ start_index: 0, end_index: cited.length })
})

test('a source without an address keeps its own words, and says which text it is about', () => {
  const { adapter } = targets.get('anthropic')![0]!
  const location = { type: 'char_location', cited_text: 's', document_index: 0, start_char_index: 3, end_char_index: 4 }
  const answer = ofClaude([
    { type: 'text', text: before },
    { type: 'text', text: cited, citations: [location] },
  ])
  const { events } = readAnswer(adapter, Buffer.from(JSON.stringify(answer)))
  const { message: chat } = (openaiChat.encode(events, 'public', chatRequest({})) as Fields).choices[0]
  expect(chat.citations).toEqual([{ ...location, start_index: before.length, end_index: before.length + cited.length }])
})
