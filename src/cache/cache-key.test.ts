/**
 * Which calls have the same key: every field of every dialect shapes it, or stands on the list of those that do not.
 */
import { expect, test } from 'bun:test'
import { createHmac } from 'node:crypto'
import { providerOf } from '../../tests/golden/targets.ts'
import { targetOf } from '../../tests/support/provider-rig.ts'
import type { CacheSettings } from '../core/cache/cache-settings.ts'
import type { Call } from '../core/call.ts'
import { bareKey } from '../core/caller.ts'
import type { Format } from '../core/format.ts'
import { noOverrides } from '../core/overrides.ts'
import { messagesTable } from '../formats/anthropic/fields.ts'
import { generateTable } from '../formats/gemini/fields.ts'
import * as formats from '../formats/index.ts'
import { completionTable } from '../formats/openai/completions/index.ts'
import { chatTable } from '../formats/openai/chat/fields.ts'
import { embeddingsTable } from '../formats/openai/embeddings.ts'
import { responsesTable } from '../formats/openai/responses/fields.ts'
import { JsonBody } from '../lib/json/json-body.ts'
import { cacheKey, fieldsBesideTheKey } from './cache-key.ts'
import { requestedInputs } from './embedding-inputs.ts'

type Json = Record<string, any>

const sign = (text: string) => createHmac('sha256', 'pepper').update(text).digest()
const settings = { scope: 'team' } as CacheSettings

function callOf(format: Format, body: Json, more: Partial<Call> = {}): Call {
  const json = JsonBody.read(Buffer.from(JSON.stringify(body)))
  const request = 'decode' in format ? () => ({ kind: 'chat', request: format.decode(json) }) : undefined
  return {
    format,
    body: json,
    operation: format.operation,
    candidates: [{ id: 'd1', target: { model: 'up', provider: { speaks: {} } } }],
    caller: { role: 'key', key: { ...bareKey, id: 'key-1' } },
    overrides: noOverrides,
    edits: [],
    input: request,
    ...more,
  } as unknown as Call
}
const keyOf = (format: Format, body: Json, more: Partial<Call> = {}): string =>
  cacheKey(callOf(format, body, more), settings, sign) as string

/** Values that differ from each other, for fields that are decoded; other fields are taken as they are written. */
const samples: Json = {
  messages: [{ role: 'user', content: 'another' }],
  max_tokens: 7,
  max_completion_tokens: 8,
  temperature: 0.5,
  top_p: 0.5,
  top_k: 5,
  stop: ['x'],
  stop_sequences: ['x'],
  seed: 7,
  presence_penalty: 0.5,
  frequency_penalty: 0.5,
  n: 2,
  user: 'ann',
  input: 'another',
  instructions: 'be brief',
  max_output_tokens: 7,
  system: 'be brief',
  contents: [{ role: 'user', parts: [{ text: 'another' }] }],
  systemInstruction: { parts: [{ text: 'be brief' }] },
  generationConfig: { temperature: 0.5 },
}

const dialects: [string, Format, readonly string[], Json][] = [
  ['chat', formats.openaiChat, names(chatTable.fields), { messages: [{ role: 'user', content: 'hello' }] }],
  ['completions', formats.openaiCompletions, names(completionTable.fields), { prompt: 'hello' }],
  ['responses', formats.openaiResponses, names(responsesTable.fields), { input: 'hello' }],
  [
    'messages',
    formats.anthropicMessages,
    names(messagesTable.fields),
    { max_tokens: 5, messages: [{ role: 'user', content: 'hello' }] },
  ],
  [
    'gemini',
    formats.geminiGenerate,
    names(generateTable.fields),
    { contents: [{ role: 'user', parts: [{ text: 'hello' }] }] },
  ],
  ['embeddings', formats.openaiEmbeddings, names(embeddingsTable.fields), { input: 'hello' }],
]

function names(fields: readonly { readonly name: string }[]): string[] {
  return fields.map(({ name }) => name)
}

for (const [name, format, fields, base] of dialects)
  test(`flipping any field of ${name} changes the key, or the field is on the list`, () => {
    const before = keyOf(format, { model: 'm', ...base })
    const unchanged: string[] = []
    for (const field of [...fields, 'a_field_that_nothing_knows']) {
      const body = { model: 'm', ...base, [field]: samples[field] ?? { flipped: true } }
      if (keyOf(format, body) === before) unchanged.push(field)
    }
    expect(unchanged.filter(field => !fieldsBesideTheKey.has(field))).toEqual([])
    expect(fields.length).toBeGreaterThan(5)
  })

test('flipping any field of embeddings changes the key of each input, or the field is on the list', () => {
  const keysOf = (body: Json) => requestedInputs(callOf(formats.openaiEmbeddings, body), settings, sign)!.keys
  const before = keysOf({ input: ['hello', 'there'] })
  for (const name of [...names(embeddingsTable.fields).filter(one => one !== 'input'), 'a_new_field']) {
    const after = keysOf({ input: ['hello', 'there'], [name]: name === 'encoding_format' ? 'base64' : 7 })
    expect([name, after.some(key => before.includes(key))]).toEqual([name, fieldsBesideTheKey.has(name)])
  }
  expect(keysOf({ input: ['there', 'hello'] })).toEqual(before.toReversed())
  expect(keysOf({ input: 'hello', encoding_format: 'float', dimensions: null })).toEqual(before.slice(0, 1))
})

test('what is not plain inside of a field changes the key', () => {
  const text = (more: Json) =>
    keyOf(formats.openaiChat, { messages: [{ role: 'user', content: [{ type: 'text', text: 'hello', ...more }] }] })
  const keys = [text({}), text({ cache_control: { type: 'ephemeral' } }), text({ unknown: 1 }), text({ unknown: 2 })]
  expect(new Set(keys).size).toBe(4)
})

test('a name that is given twice is another question than either: an upstream may take the first', () => {
  const inputOf = (body: JsonBody) => ({ kind: 'chat' as const, request: formats.openaiChat.decode(body) })
  const of = (message: string) => {
    const body = JsonBody.read(Buffer.from(`{"messages":[{"role":"user",${message}}]}`))
    return keyOf(formats.openaiChat, {}, { body, input: () => inputOf(body) })
  }
  expect(of('"content":"a","content":"b"')).not.toBe(of('"content":"b"'))
  expect(of('"content":"a","content":"b"')).not.toBe(of('"content":"c","content":"b"'))
})

test('chat_template_kwargs is part of the key', () => {
  const of = (mode: string) =>
    keyOf(formats.openaiChat, {
      messages: [{ role: 'user', content: 'hello' }],
      chat_template_kwargs: { thinking_mode: mode },
    })
  expect(of('on')).not.toBe(of('off'))
})

test('a plain conversation has one key in all dialects of chats, streamed or not', () => {
  const turns = ['one', 'two', 'three']
  const messages = turns.map((text, at) => ({ role: at === 1 ? 'assistant' : 'user', content: text }))
  const keys = [false, true].flatMap(stream => [
    keyOf(formats.openaiChat, { messages, max_tokens: 5, stream }),
    keyOf(formats.anthropicMessages, { messages, max_tokens: 5, stream }),
    keyOf(formats.openaiResponses, { input: messages, max_output_tokens: 5, stream }),
    keyOf(formats.geminiGenerate, {
      contents: turns.map((text, at) => ({ role: at === 1 ? 'model' : 'user', parts: [{ text }] })),
      generationConfig: { maxOutputTokens: 5 },
    }),
  ])
  expect(new Set(keys).size).toBe(1)
})

test('whose call it is, its deployments, guardrails and namespace are in the key', () => {
  const body = { messages: [{ role: 'user', content: 'hello' }] }
  const inTeam = (id: string) =>
    ({ caller: { role: 'key', key: { ...bareKey, id: `key of ${id}`, teamId: id } } }) as Partial<Call>
  const deployment = (id: string, model: string) =>
    ({ candidates: [{ id, target: { model } }] }) as unknown as Partial<Call>
  const keys = [
    {},
    inTeam('red'),
    inTeam('blue'),
    deployment('d2', 'up'),
    deployment('d1', 'down'),
    { guardrails: ['pii'] },
    { overrides: { ...noOverrides, cache: { namespace: 'n' } } as unknown as Call['overrides'] },
  ].map(more => keyOf(formats.openaiChat, body, more))
  expect(new Set(keys).size).toBe(keys.length)
})

test('a request that a policy has changed is not one that was sent so', () => {
  const body = { messages: [{ role: 'user', content: 'hello <name>' }] }
  const changed = keyOf(formats.openaiChat, body, { edits: [() => {}] })
  expect(changed).not.toBe(keyOf(formats.openaiChat, body))
})

test('a policy that changes equal questions in several ways makes several questions of them', () => {
  const [chat, embeddings] = [{ messages: [{ role: 'user', content: 'who am I' }] }, { input: ['who am I', 'hello'] }]
  const edits = [() => {}]
  const messages = (text: string) => [{ role: 'user', parts: [{ type: 'text', text }] }]
  const asked = (text: string) =>
    keyOf(formats.openaiChat, chat, {
      edits,
      input: () => ({ kind: 'chat', request: { messages: messages(text) } }) as never,
    })
  expect(asked('who am I, Ann?')).toBe(asked('who am I, Ann?'))
  expect(asked('who am I, Ann?')).not.toBe(asked('who am I, Bob?'))
  const keysOf = (text: string) => {
    const input = () => ({ kind: 'embeddings', request: { inputs: [text, 'hello'] } }) as never
    return requestedInputs(callOf(formats.openaiEmbeddings, embeddings, { edits, input }), settings, sign)!.keys
  }
  expect(keysOf('who am I, Ann?')[0]).not.toBe(keysOf('who am I, Bob?')[0])
  expect(keysOf('who am I, Ann?')[1]).toBe(keysOf('who am I, Bob?')[1]!)
})

test('a beta that the client asks of the upstream is part of the key, the version of the dialect is not', () => {
  const body = { model: 'm', max_tokens: 5, messages: [{ role: 'user', content: 'Hi' }] }
  const key = (forwardedHeaders: Record<string, string>) => keyOf(formats.anthropicMessages, body, { forwardedHeaders })
  const plain = key({ 'anthropic-version': '2023-06-01' })
  expect(key({})).toBe(plain)
  expect(key({ 'anthropic-version': '2023-06-01', 'anthropic-beta': 'b-1' })).not.toBe(plain)
  expect(key({ 'anthropic-beta': 'b-1' })).not.toBe(key({ 'anthropic-beta': 'b-2' }))
})

test('metadata is in the key where a candidate is sent it, and not where none is', () => {
  const keyAt = (models: readonly (readonly [provider: string, model: string])[], metadata: object) => {
    const call = callOf(formats.openaiChat, { model: 'm', messages: [{ role: 'user', content: 'hello' }], metadata })
    const candidates = models.map(([name, model]) => ({ id: name, target: targetOf(providerOf(name), { model }) }))
    return cacheKey({ ...call, candidates } as unknown as Call, settings, sign)
  }
  const differs = (...models: (readonly [string, string])[]) => keyAt(models, { a: '1' }) !== keyAt(models, { a: '2' })
  expect(differs(['openai', 'gpt-4o'])).toBe(true)
  expect(differs(['anthropic', 'claude-sonnet-4-5'])).toBe(true)
  expect(differs(['groq', 'llama-3.3-70b-versatile'], ['openai', 'gpt-4o'])).toBe(true)
  // Groq refuses the field: it is left out (rules/hosts.ts).
  expect(differs(['groq', 'llama-3.3-70b-versatile'])).toBe(false)
})
