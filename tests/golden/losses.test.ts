/**
 * What goes into an adapter comes out, or is in its list of dropped fields: every part of a message, every mark on one,
 * and every field of the hub, at every upstream. A case is sent with and without what is looked for: where the body is
 * the same, or lacks the marker, the list must say so.
 */
import { describe, expect, test } from 'bun:test'
import { carriedFields } from '../../src/core/hub/chat-fields.ts'
import type { ChatRequest, Message, Part, Role } from '../../src/core/hub/chat.ts'
import { GatewayError } from '../../src/core/errors.ts'
import { chatRequest } from '../support/provider-rig.ts'
import { targets } from './targets.ts'

interface Case {
  readonly with: Partial<ChatRequest>
  readonly without: Partial<ChatRequest>
  /** Must be in the body as it is. */
  readonly marker?: string
  /** The name of its loss. */
  readonly lostAs: string
}

const text = (value: string): Part => ({ type: 'text', text: value })
const says = (role: Role, ...parts: Part[]): Message => ({ role, parts })
const question = says('user', text('weather?'))
const call: Part = { type: 'tool-call', id: 'call_1', name: 'weather', arguments: '{"city":"Paris"}' }
const result = (more: Partial<Extract<Part, { type: 'tool-result' }>> = {}): Message =>
  says('tool', { type: 'tool-result', callId: 'call_1', name: 'weather', parts: [text('mild')], ...more })
const tools = [{ name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } }]
const history = (...answer: Part[]): Message[] => [question, says('assistant', ...answer, text('Hm.')), question]
const png = { data: 'iVBORw0KGgo=', mediaType: 'image/png' }
const notes = { data: Buffer.from('notes').toString('base64'), mediaType: 'text/plain' }

const thought = (part: Partial<Extract<Part, { type: 'reasoning' }>>): Case => ({
  with: { messages: history({ type: 'reasoning', text: '', ...part }) },
  without: { messages: history() },
  marker: part.redacted ?? part.text ?? part.signature!,
  lostAs: 'messages.reasoning_content',
})
const messages = (changed: Message[], plain: Message[], lostAs: string, marker?: string): Case => ({
  with: { messages: changed, tools },
  without: { messages: plain, tools },
  lostAs,
  ...(marker !== undefined && { marker }),
})

const cases: Record<string, Case> = {
  'thinking without a signature': thought({ text: 'THOUGHT' }),
  "thinking with Claude's signature": thought({ text: 'THOUGHT', signature: 'EqQBCgIYAhIM1gbcDa9GJwZA2b3h' }),
  "thinking with Gemini's signature": thought({ text: 'THOUGHT', signature: 'gemini/note/000/CiQB' }),
  "thinking with OpenAI's encrypted item": thought({ text: 'THOUGHT', signature: 'openai/item/123456/rs_1/ENCRYPTED' }),
  'thinking that only its vendor can read': thought({ redacted: 'REDACTED' }),
  "Claude's thinking without its text": thought({ signature: 'EqQBCgIYAhIM1gbcDa9GJwZA2b3h' }),
  'thinking before a call': messages(
    [question, says('assistant', { type: 'reasoning', text: 'THOUGHT' }, call), result()],
    [question, says('assistant', call), result()],
    'messages.reasoning_content',
    'THOUGHT',
  ),
  'a failed result': messages(
    [question, says('assistant', call), result({ isError: true })],
    [question, says('assistant', call), result()],
    'messages.content.is_error',
  ),
  'the name of a user': messages([{ ...question, name: 'NAME' }], [question], 'messages.name', 'NAME'),
  'the name of an assistant': messages(
    [question, { ...says('assistant', text('a')), name: 'NAME' }, question],
    [question, says('assistant', text('a')), question],
    'messages.name',
    'NAME',
  ),
  'how a picture is read': messages(
    [says('user', { type: 'image', source: png, detail: 'low' })],
    [says('user', { type: 'image', source: png })],
    'messages.content.image_url.detail',
  ),
  'the name of a file': messages(
    [says('user', text('read'), { type: 'document', source: notes, name: 'FILENAME' })],
    [says('user', text('read'), { type: 'document', source: notes })],
    'messages.content.file.filename',
    'FILENAME',
  ),
  'the name of a file by its id': messages(
    [says('user', text('read'), { type: 'document', source: { fileId: 'file-1' }, name: 'FILENAME' })],
    [says('user', text('read'), { type: 'document', source: { fileId: 'file-1' } })],
    'messages.content.file.filename',
    'FILENAME',
  ),
  'a cache mark on a text': messages(
    [says('user', { type: 'text', text: 'long', cache: { type: 'ephemeral' } })],
    [says('user', text('long'))],
    'cache_control',
  ),
  'a cache mark on a result': messages(
    [question, says('assistant', call), result({ cache: { type: 'ephemeral' } })],
    [question, says('assistant', call), result()],
    'cache_control',
  ),
  'a cache mark on a tool': {
    with: { tools: [{ ...tools[0]!, cache: { type: 'ephemeral' } }] },
    without: { tools },
    lostAs: 'cache_control',
  },
  'a blank turn of the assistant': messages(
    [question, says('assistant', text(' ')), question],
    [question, question],
    'messages.content',
  ),
  'an empty turn of the assistant': messages(
    [question, says('assistant'), question],
    [question, question],
    'messages.content',
  ),
  'a blank turn of the user': messages(
    [question, says('assistant', text('a')), says('user', text('\n')), says('assistant', text('b')), question],
    [question, says('assistant', text('a')), says('assistant', text('b')), question],
    'messages.content',
  ),
}

interface Sent {
  readonly body: string
  readonly dropped: readonly string[]
}

/** undefined = refused, which is said. */
function sent({ target, adapter }: Grid, request: Partial<ChatRequest>): Sent | undefined {
  try {
    const { body, dropped } = adapter.request(chatRequest(structuredClone(request)), target)
    return { body: JSON.stringify(body), dropped }
  } catch (error) {
    if (error instanceof GatewayError) return undefined
    throw error
  }
}

type Grid = typeof targets extends ReadonlyMap<string, readonly (infer One)[]> ? One : never

const grid = [...targets].flatMap(([name, list]) => list.map((one): [string, Grid] => [`${name} ${one.model}`, one]))

describe.each(grid)('%s', (_name, one) => {
  test.each(Object.entries(cases))('%s is sent, or named', (_case, { with: changed, without, marker, lostAs }) => {
    const plain = sent(one, without)
    const found = sent(one, changed)
    if (!found || !plain) return
    const isSent = marker === undefined ? found.body !== plain.body : found.body.includes(marker)
    expect([isSent, found.dropped.filter(name => name === lostAs)]).toEqual([isSent, isSent ? [] : [lostAs]])
  })

  test('what is not there is not named', () => {
    expect(sent(one, { messages: [question, says('assistant', call), result(), question], tools })!.dropped).toEqual([])
  })

  test('a value is sent as it is, or named', () => {
    const values: [Partial<ChatRequest>, string, string[]][] = [
      [{ temperature: 1.7 }, ':1.7', ['temperature']],
      [{ topP: 0.999 }, ':0.999', ['top_p']],
      [{ topK: 777 }, ':777', ['top_k']],
      [{ frequencyPenalty: 1.9 }, ':1.9', ['frequency_penalty']],
      [{ presencePenalty: -1.9 }, ':-1.9', ['presence_penalty']],
      [{ maxOutputTokens: 5 }, ':5', ['max_tokens']],
      [{ maxOutputTokens: 1800, reasoning: { effort: 'high' } }, ':1800', ['max_tokens']],
      [
        { maxOutputTokens: 1800, reasoning: { budgetTokens: 9000 } },
        ':9000',
        ['thinking', 'reasoning', 'reasoning_effort'],
      ],
      [{ seed: 5_000_000_000 }, ':5000000000', ['seed']],
      [{ stop: 'abcdefghijkl'.split('').map(one => `stop-${one}`) }, 'stop-l', ['stop']],
      [{ user: 'u'.repeat(400) }, 'u'.repeat(400), ['user', 'safety_identifier']],
    ]
    for (const [request, marker, names] of values) {
      const found = sent(one, request)
      if (!found || found.body.includes(marker)) continue
      const named = found.dropped.filter(lost => names.includes(lost.split('.')[0]!))
      expect({ request, body: found.body, named }).not.toEqual({ request, body: found.body, named: [] })
    }
  })

  test('of six cache marks as many are sent as are taken: the first and the last', () => {
    const cache = { type: 'ephemeral' } as const
    const marked = ['b', 'c', 'd', 'e', 'f'].map(value => ({ type: 'text', text: value, cache }) as Part)
    const found = sent(one, { tools: [{ ...tools[0]!, cache }], messages: [says('user', ...marked)] })!
    const marks = found.body.match(/"cache_control"|"cachePoint"/g) ?? []
    expect(marks.length).toBeLessThanOrEqual(4)
    expect(found.dropped).toContain('cache_control')
    if (marks.length < 4) return
    const [, ...content] = found.body.replace(/"(?:tools|toolConfig)":.*/, '').split(/"text":"[b-f]"/)
    const isMarked = content.map(piece => /cache_control|cachePoint/.test(piece.split('"text"')[0]!))
    // Where tools take none, the first is that of the first text.
    const { tools: offered, toolConfig } = JSON.parse(found.body) as Record<string, unknown>
    const takesTools = /cache_control|cachePoint/.test(JSON.stringify(offered ?? toolConfig))
    expect(isMarked).toEqual([!takesTools, false, true, true, true])
  })

  test('a call id of several turns is one call where the host asks for that, and each result answers its own', () => {
    const turn = [says('assistant', call, call), result(), result({ parts: [text('cold')] }), question]
    const found = sent(one, { messages: [question, ...turn, ...turn], tools })!
    const calls = [...found.body.matchAll(/"type":"tool_use","id":"([^"]+)"|"toolUse":\{"toolUseId":"([^"]+)"/g)]
    const ids = calls.map(([, claude, bedrock]) => claude ?? bedrock)
    if (ids.length === 0) return
    expect(new Set(ids).size).toBe(4)
    const answered = [...found.body.matchAll(/"tool_use_id":"([^"]+)"|"toolResult":\{"toolUseId":"([^"]+)"/g)]
    expect(answered.map(([, claude, bedrock]) => claude ?? bedrock)).toEqual(ids)
    expect(found.dropped).toEqual([])
  })

  test('every field of a request is sent, or named', () => {
    for (const { name, property, probes = [], neutral, schema, lostAs = [] } of carriedFields) {
      const { type, maximum } = schema as { type?: string; maximum?: number }
      const value = type === 'number' ? maximum! / 4 : type === 'integer' ? 3 : type === 'boolean' ? true : 'text'
      // One token more than what `logprobs` alone asks for.
      const asked = property === 'topLogprobs' ? [{ logprobs: true, topLogprobs: 2 }] : probes
      for (const probe of asked.length > 0 ? asked : [{ [property]: value }]) {
        if (probe[property] === neutral) continue
        const { [property]: _, ...others } = probe
        const [found, plain] = [sent(one, probe), sent(one, others)]
        if (!found || !plain || found.body !== plain.body) continue
        const named = found.dropped.filter(lost => [name, ...lostAs].some(known => lost.split('.')[0] === known))
        expect({ probe, named }).not.toEqual({ probe, named: [] })
      }
    }
  })
})
