/**
 * Gemini's signatures of tool calls survive clients that return nothing but the calls, in every dialect, whole and
 * streamed; other vendors get ids as they were made.
 */
import { describe, expect, test } from 'bun:test'
import { readCallId, withoutCallSignatures, writeCallId } from '../../src/core/dialects/call-signature.ts'
import type { ChatRequest } from '../../src/core/hub/chat.ts'
import type { ChatFormat } from '../../src/core/format.ts'
import type { ChatAdapter, Target } from '../../src/core/provider.ts'
import { anthropicMessages, geminiGenerate, openaiChat, openaiResponses } from '../../src/formats/index.ts'
import { JsonBody } from '../../src/lib/json/json-body.ts'
import { TranslatedRelay, encodeAnswer, readAnswer } from '../../src/pipeline/lanes/translate.ts'
import { providers } from '../../src/providers/index.ts'
import { targets } from './targets.ts'

type Json = Record<string, any>

/** All characters of base64 that differ between its alphabets, and padding; as long as Gemini's own. */
const signature = Buffer.from(Array.from({ length: 701 }, (_, at) => (at * 251) % 256)).toString('base64')
const answer = {
  candidates: [
    {
      content: {
        role: 'model',
        parts: [
          { functionCall: { id: 'own-1', name: 'weather', args: { city: 'Paris' } }, thoughtSignature: signature },
          { functionCall: { id: 'own-2', name: 'weather', args: { city: 'Rome' } } },
        ],
      },
      finishReason: 'STOP',
      index: 0,
    },
  ],
  responseId: 'r',
}
const targetOf = (name: string, model: string, baseUrl?: string): Target => {
  const provider = providers.get(name)!
  return {
    provider,
    model,
    baseUrl: baseUrl ?? provider.defaultBaseUrl ?? 'https://x',
    apiKey: undefined,
    headers: {},
    options: {},
  }
}
const gemini = targetOf('gemini', 'gemini-3-pro-preview')
const adapter = gemini.provider.chat!
const decoded = (format: ChatFormat, body: object): ChatRequest =>
  format.decode(JsonBody.read(Buffer.from(JSON.stringify(body))))

/** How a client of a dialect asks, reads calls, and brings them back with their results alone. */
interface Client {
  readonly format: ChatFormat
  readonly ask: Json
  /** Of a whole answer. */
  calls(body: Json): Json[]
  /** Of the events of a stream. */
  streamed(events: Json[]): Json[]
  again(calls: Json[]): Json
}

const chatClient: Client = {
  format: openaiChat,
  ask: { model: 'm', messages: [{ role: 'user', content: 'weather?' }] },
  calls: body => body.choices[0].message.tool_calls,
  streamed: events => {
    const calls: Json[] = []
    for (const event of events)
      for (const { index, ...delta } of event.choices[0]?.delta.tool_calls ?? []) {
        const call = (calls[index] ??= { function: { arguments: '' } })
        const { arguments: text, ...called } = delta.function
        Object.assign(call, delta, { function: { ...call.function, ...called } })
        call.function.arguments += text
      }
    return calls
  },
  again: calls => ({
    model: 'm',
    messages: [
      { role: 'user', content: 'weather?' },
      { role: 'assistant', content: null, tool_calls: calls },
      ...calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'mild' })),
    ],
  }),
}
const responsesClient: Client = {
  format: openaiResponses,
  ask: { model: 'm', input: 'weather?' },
  calls: body => body.output.filter((item: Json) => item.type === 'function_call'),
  streamed: events =>
    events
      .filter(event => event.type === 'response.output_item.done')
      .flatMap(({ item }) => (item.type === 'function_call' ? [item] : [])),
  again: calls => ({
    model: 'm',
    input: [
      { role: 'user', content: 'weather?' },
      ...calls,
      ...calls.map(({ call_id }) => ({ type: 'function_call_output', call_id, output: 'mild' })),
    ],
  }),
}
const messagesClient: Client = {
  format: anthropicMessages,
  ask: { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'weather?' }] },
  calls: body => body.content.filter((block: Json) => block.type === 'tool_use'),
  streamed: events => {
    const calls: Json[] = []
    for (const event of events) {
      if (event.content_block?.type === 'tool_use') calls.push({ ...event.content_block, json: '' })
      if (event.delta?.type === 'input_json_delta') calls.at(-1)!.json += event.delta.partial_json
    }
    return calls.map(({ json, ...call }) => ({ ...call, input: JSON.parse(json) }))
  },
  again: calls => ({
    model: 'm',
    max_tokens: 9,
    messages: [
      { role: 'user', content: 'weather?' },
      { role: 'assistant', content: calls },
      { role: 'user', content: calls.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'mild' })) },
    ],
  }),
}
const clients: [string, Client][] = [
  ['chat', chatClient],
  ['Responses', responsesClient],
  ['Messages', messagesClient],
]

function callsFor({ format, ask, calls, streamed }: Client, isStream: boolean, from: ChatAdapter = adapter): Json[] {
  const request = decoded(format, isStream ? { ...ask, stream: true } : ask)
  const stream = { adapter: from, format, request, publicModel: 'public' }
  const bytes = Buffer.from(JSON.stringify(answer))
  if (!isStream) return calls(JSON.parse(encodeAnswer(stream, readAnswer(from, bytes).events)) as Json)
  const relay = new TranslatedRelay(stream)
  const text = relay.push(Buffer.from(`data: ${JSON.stringify(answer)}\n\n`)) + relay.end()
  expect(relay.failure).toBeUndefined()
  return streamed([...text.matchAll(/^data: (\{.*)$/gm)].map(([, data]) => JSON.parse(data!) as Json))
}

const sentTo = (target: Target, request: ChatRequest): Json =>
  target.provider.chat!.request(request, target).body as Json

function expectSigned(request: ChatRequest): void {
  const [, turn, results] = sentTo(gemini, request).contents
  expect(turn.parts).toEqual([
    { functionCall: { id: 'own-1', name: 'weather', args: { city: 'Paris' } }, thoughtSignature: signature },
    { functionCall: { id: 'own-2', name: 'weather', args: { city: 'Rome' } } },
  ])
  expect(results.parts.map((part: Json) => part.functionResponse.id)).toEqual(['own-1', 'own-2'])
}

describe.each(clients)('a client of %s that returns only its calls', (_name, client) => {
  for (const isStream of [false, true])
    test(`brings Gemini's signature back, ${isStream ? 'streamed' : 'whole'}`, () => {
      const calls = callsFor(client, isStream)
      expect(calls).toHaveLength(2)
      const plain = calls.map(({ extra_content: _, ...call }) => call)
      for (const { id, call_id } of plain) expect(call_id ?? id).toMatch(/^[A-Za-z0-9_-]+$/)
      expectSigned(decoded(client.format, client.again(plain)))
    })

  test("is read with Google's own member on the call, beside a short id", () => {
    const [first, ...others] = callsFor(client, false).map(call => {
      const idName = call.call_id === undefined ? 'id' : 'call_id'
      return { ...call, [idName]: readCallId(call[idName]).id }
    })
    const signed = { ...first, extra_content: { google: { thought_signature: signature } } }
    expectSigned(decoded(client.format, client.again([signed, ...others])))
  })

  test("is read with LiteLLM's ids, in the other alphabet of base64", () => {
    const [first, ...others] = callsFor(client, false).map(({ extra_content: _, ...call }) => call)
    const idName = first!.call_id === undefined ? 'id' : 'call_id'
    const signed = { ...first, [idName]: `own-1__thought__${signature}` }
    expectSigned(decoded(client.format, client.again([signed, ...others])))
  })

  test('is sent to every other vendor with ids as they were made, for calls and results alike', () => {
    const request = decoded(client.format, client.again(callsFor(client, true)))
    let seen = 0
    for (const [name, list] of targets)
      for (const { target } of list) {
        if (!target.provider.chat || ['gemini', 'vertex_ai'].includes(name)) continue
        const text = JSON.stringify(target.provider.chat.request(structuredClone(request), target).body)
        expect(text).not.toContain('thought')
        seen++
      }
    expect(seen).toBeGreaterThan(5)
  })

  test('is forwarded without the signature where the model is none of Gemini', () => {
    const body = JsonBody.read(Buffer.from(JSON.stringify(client.again(callsFor(client, true)))))
    const plain = Buffer.from(withoutCallSignatures(body).bytes).toString()
    expect(plain).not.toContain('thought')
    expect(plain.split('"own-1"')).toHaveLength(3)
    expect(plain.split('"own-2"')).toHaveLength(3)
    expect(withoutCallSignatures(JsonBody.read(Buffer.from(plain))).bytes.length).toBe(plain.length)
  })
})

test("the calls of Google's own chat completions keep theirs for clients of other dialects", () => {
  const target = targetOf('openai', 'gemini-3-pro-preview', 'https://generativelanguage.googleapis.com/v1beta/openai')
  const call = {
    id: 'function-call-1',
    type: 'function',
    extra_content: { google: { thought_signature: signature } },
    function: { name: 'weather', arguments: '{"city":"Paris"}' },
  }
  const completion = { choices: [{ index: 0, message: { tool_calls: [call] }, finish_reason: 'tool_calls' }] }
  const request = decoded(anthropicMessages, messagesClient.ask)
  const { events } = readAnswer(target.provider.chat!, Buffer.from(JSON.stringify(completion)))
  const stream = { adapter: target.provider.chat!, format: anthropicMessages, request, publicModel: 'public' }
  const calls = messagesClient.calls(JSON.parse(encodeAnswer(stream, events)) as Json)
  const [, turn, result] = sentTo(target, decoded(anthropicMessages, messagesClient.again(calls))).messages
  expect(turn.tool_calls[0].extra_content).toEqual(call.extra_content)
  expect(turn.tool_calls[0].id).toBe(result.tool_call_id)
  expect(readCallId(result.tool_call_id)).toEqual({ id: 'function-call-1', signature })
})

test("a client of Gemini's dialect keeps the signature where the call is translated", () => {
  const { content } = answer.candidates[0]!
  const ask = { role: 'user', parts: [{ text: 'weather?' }] }
  const results = ['own-1', 'own-2'].map(id => ({
    functionResponse: { id, name: 'weather', response: { output: 'mild' } },
  }))
  expectSigned(decoded(geminiGenerate, { model: 'm', contents: [ask, content, { role: 'user', parts: results }] }))
})

describe('ids', () => {
  test('come back as they were, and ids of others stay as they are', () => {
    expect(readCallId(writeCallId('call_1', signature))).toEqual({ id: 'call_1', signature })
    expect(writeCallId('call_1', undefined)).toBe('call_1')
    // No base64, or not as it is written: another would come back.
    for (const odd of ['skip_thought_signature_validator', 'a b', 'CiQB+/='])
      expect(readCallId(writeCallId('call_1', odd))).toEqual({ id: 'call_1' })
    for (const id of ['', 'call_1', '__thought__AAAA', 'a__thought__', 'a__thought__b c'])
      expect(readCallId(id)).toEqual({ id })
  })

  test('inside of texts and arguments of a forwarded body are no ids', () => {
    const text = 'call_1__thought__AAAA'
    const messages = [
      { role: 'user', content: `"id": "${text}"` },
      {
        role: 'assistant',
        tool_calls: [{ id: text, function: { name: 'f', arguments: JSON.stringify({ id: text }) } }],
      },
      {
        role: 'tool',
        tool_call_id: text,
        content: JSON.stringify({ id: text, extra_content: { thought_signature: 1 } }),
      },
    ]
    const body = JsonBody.read(Buffer.from(JSON.stringify({ model: 'm', messages })))
    const [first, second, third] = withoutCallSignatures(body).get('messages') as Json[]
    expect(first).toEqual(messages[0])
    expect(second).toMatchObject({ tool_calls: [{ id: 'call_1', function: messages[1]!.tool_calls![0]!.function }] })
    expect(third).toEqual({ ...messages[2], tool_call_id: 'call_1' })
  })
})
