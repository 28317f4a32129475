/** Upstreams that write several tool calls at once: every client gets each call whole, or is told that it is not. */
import { describe, expect, test } from 'bun:test'
import type { ChatFormat } from '../../src/core/format.ts'
import { anthropicMessages, geminiGenerate, openaiChat, openaiResponses } from '../../src/formats/index.ts'
import { parsedObject } from '../../src/lib/json/json-values.ts'
import { TranslatedRelay } from '../../src/pipeline/lanes/translate.ts'
import { chatRequest } from '../support/provider-rig.ts'
import { targets } from './targets.ts'

type Fields = Record<string, any>

const wanted = [
  ['first', { city: 'Köln', note: '}"{' }],
  ['second', { unit: ['C', '\\'] }],
] as const

/** In pieces that cut strings and escapes. */
const pieces = wanted.map(([, args]) => {
  const text = JSON.stringify(args)
  return [text.slice(0, 12), text.slice(12, text.length - 3), text.slice(text.length - 3)]
})
/** Piece 0 of each, piece 1 of each, ... */
const alternating = [0, 1, 2].flatMap(piece => wanted.map((_, call) => ({ call, text: pieces[call]![piece]! })))

const sse = (events: readonly (Fields | string)[]): string =>
  events.map(one => `data: ${typeof one === 'string' ? one : JSON.stringify(one)}\n\n`).join('')
const chunk = (delta: Fields, finish: string | null = null): Fields => ({
  id: 'x',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta, finish_reason: finish }],
})

const toolCall = (index: number, fields: Fields): Fields => chunk({ tool_calls: [{ index, ...fields }] })
const begun = (call: number, args = '') =>
  toolCall(call, { id: `call_${call}`, type: 'function', function: { name: wanted[call]![0], arguments: args } })
const more = ({ call, text }: { call: number; text: string }) => toolCall(call, { function: { arguments: text } })
const chatEnd = [chunk({}, 'tool_calls'), '[DONE]']

const cohereBegin = [
  { type: 'message-start', id: 'x' },
  ...wanted.map(([name], index) => ({
    type: 'tool-call-start',
    index,
    delta: { message: { tool_calls: { id: `call_${index}`, function: { name, arguments: '' } } } },
  })),
  ...alternating.map(({ call: index, text }) => ({
    type: 'tool-call-delta',
    index,
    delta: { message: { tool_calls: { function: { arguments: text } } } },
  })),
]
const cohereEnd = [{ type: 'message-end', delta: { finish_reason: 'TOOL_CALL' } }]

const streams: Readonly<Record<string, { readonly provider: string; readonly text: string }>> = {
  'chat completions, both begun first': {
    provider: 'openai',
    text: sse([begun(0), begun(1), ...alternating.map(more), ...chatEnd]),
  },
  'chat completions, the second begun in the middle of the first': {
    provider: 'openai',
    text: sse([begun(0, pieces[0]![0]!), begun(1, pieces[1]![0]!), ...alternating.slice(2).map(more), ...chatEnd]),
  },
  'chat completions, the second written before the first': {
    provider: 'openai',
    text: sse([
      begun(0),
      begun(1, pieces[1]!.join('')),
      ...pieces[0]!.map(text => more({ call: 0, text })),
      ...chatEnd,
    ]),
  },
  Messages: {
    provider: 'anthropic',
    text: sse([
      { type: 'message_start', message: { id: 'x', model: 'm', usage: { input_tokens: 1, output_tokens: 1 } } },
      ...wanted.map(([name], index) => ({
        type: 'content_block_start',
        index,
        content_block: { type: 'tool_use', id: `call_${index}`, name, input: {} },
      })),
      ...alternating.map(({ call: index, text: partial_json }) => ({
        type: 'content_block_delta',
        index,
        delta: { type: 'input_json_delta', partial_json },
      })),
      ...wanted.map((_, index) => ({ type: 'content_block_stop', index })),
      { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 9 } },
      { type: 'message_stop' },
    ]),
  },
  'Cohere, the later call ends first': {
    provider: 'cohere',
    text: sse([...cohereBegin, { type: 'tool-call-end', index: 1 }, { type: 'tool-call-end', index: 0 }, ...cohereEnd]),
  },
  Cohere: {
    provider: 'cohere',
    text: sse([...cohereBegin, ...wanted.map((_, index) => ({ type: 'tool-call-end', index })), ...cohereEnd]),
  },
}

const dataOf = (text: string): Fields[] =>
  text
    .split('\n')
    .filter(line => line.startsWith('data: {'))
    .map(line => JSON.parse(line.slice('data: '.length)) as Fields)

type Calls = (readonly [name: string, args: unknown])[]

/** What a client makes of the stream, by the rules of its dialect. */
const clients: Readonly<Record<string, { readonly format: ChatFormat; calls(events: readonly Fields[]): Calls }>> = {
  'chat completions': {
    format: openaiChat,
    calls(events) {
      const calls: Fields[] = []
      for (const event of events)
        for (const {
          index,
          function: { name, arguments: args },
        } of event.choices[0]?.delta.tool_calls ?? [])
          calls[index] = { name: calls[index]?.name ?? name, text: (calls[index]?.text ?? '') + (args ?? '') }
      return calls.map(({ name, text }) => [name, parsedObject(text)])
    },
  },
  Messages: {
    format: anthropicMessages,
    calls(events) {
      const calls: Fields[] = []
      let open: number | undefined
      for (const event of events) {
        if (event.type === 'content_block_start') {
          expect(open).toBeUndefined()
          open = event.index
          calls.push({ name: event.content_block.name, text: '' })
        } else if (event.type === 'content_block_delta') {
          expect(event.index).toBe(open)
          calls.at(-1)!.text += event.delta.partial_json
        } else if (event.type === 'content_block_stop') open = undefined
      }
      return calls.map(({ name, text }) => [name, parsedObject(text)])
    },
  },
  Responses: {
    format: openaiResponses,
    calls: events =>
      (events.at(-1)!.response.output as Fields[]).map(item => [item.name, parsedObject(item.arguments)]),
  },
  Gemini: {
    format: geminiGenerate,
    calls: events =>
      events
        .flatMap(event => event.candidates[0].content.parts as Fields[])
        .filter(part => part.functionCall)
        .map(({ functionCall: { name, args } }) => [name, args]),
  },
}

function run(provider: string, format: ChatFormat, text: string, size: number) {
  const { adapter } = targets.get(provider)![0]!
  const relay = new TranslatedRelay({ adapter, format, request: chatRequest({ stream: true }), publicModel: 'public' })
  const bytes = Buffer.from(text)
  let out = ''
  for (let at = 0; at < bytes.length; at += size) out += relay.push(bytes.subarray(at, at + size))
  return { out: out + relay.end(), relay }
}

describe.each(Object.entries(streams))('%s', (_, { provider, text }) => {
  test.each(Object.entries(clients))('for a client of %s', (__, { format, calls }) => {
    for (const size of [7, text.length * 2]) {
      const { out, relay } = run(provider, format, text, size)
      expect(relay.failure).toBeUndefined()
      expect(calls(dataOf(out))).toEqual(wanted.map(([name, args]) => [name, args]))
    }
  })
})

test('calls that follow one another are each told at once', () => {
  const { adapter } = targets.get('openai')![0]!
  const read = adapter.reader()
  const types = [begun(0, '{"a":'), more({ call: 0, text: '1}' }), begun(1)].map(one =>
    read({ data: JSON.stringify(one) }).map(event => event.type),
  )
  expect(types).toEqual([
    ['start', 'tool-call-start', 'tool-call-arguments'],
    ['tool-call-arguments'],
    ['tool-call-end', 'tool-call-start'],
  ])
})

test.each(Object.entries(clients))('a call that goes on behind its end is an error for a client of %s', (_, client) => {
  const late = sse([begun(0, '{"a":1}'), begun(1, '{}'), more({ call: 0, text: '2' }), ...chatEnd])
  expect(run('openai', client.format, late, 7).relay.failure?.kind).toBe('upstream-broken')
})
