/** Answers of hosts that strict clients cannot read, on the forward lane: whole and as streams. */
import { describe, expect, test } from 'bun:test'
import { JsonBody } from '../../lib/json/json-body.ts'
import { openaiChatForward } from './forward.ts'

type Json = Record<string, any>

const head = { id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'up' }
const eventOf = (value: object) => `data: ${JSON.stringify(value)}\n\n`
const chunk = (choice: object, more: object = {}) => eventOf({ ...head, choices: [{ index: 0, ...choice }], ...more })
const calls = (...list: object[]) => chunk({ delta: { tool_calls: list }, finish_reason: null })
const end = (word = 'tool_calls') => chunk({ delta: {}, finish_reason: word })
const done = 'data: [DONE]\n\n'
const bodyOf = (fields: object) => JsonBody.read(Buffer.from(JSON.stringify(fields)))
const asked = { stream: true, stream_options: { include_usage: true } }

function streamed(events: string, size: number, body: object = asked): string {
  const relay = openaiChatForward.relay('up', bodyOf(body))
  const bytes = Buffer.from(events)
  let out = ''
  for (let at = 0; at < bytes.length; at += size)
    out += Buffer.from(relay.push(bytes.subarray(at, at + size))).toString('latin1')
  out += Buffer.from(relay.end()).toString('latin1')
  expect(relay.failure).toBeUndefined()
  return Buffer.from(out, 'latin1').toString('utf8')
}

const chunksOf = (events: string, body?: object): Json[] =>
  streamed(events, 1000, body)
    .split('\n\n')
    .filter(event => event.startsWith('data: {'))
    .map(event => JSON.parse(event.slice('data: '.length)) as Json)

/** The calls as a client gathers them: by index, the id and type of the first piece. */
function gathered(events: string): Json[] {
  const found: Json[] = []
  for (const { choices } of chunksOf(events))
    for (const { index, id, type, function: called } of choices[0]?.delta.tool_calls ?? []) {
      const call = (found[index] ??= { id: '', type, name: '', arguments: '' })
      if (id !== undefined) call.id = id
      call.name += called?.name ?? ''
      call.arguments += called?.arguments ?? ''
    }
  return found
}

const whole = (list: object[], more: object = {}, answer: object = {}, body: object = {}): Json => {
  const message = { role: 'assistant', content: null, tool_calls: list }
  const choices = [{ index: 0, message, finish_reason: 'tool_calls', ...more }]
  const text = JSON.stringify({ ...head, object: 'chat.completion', choices, ...answer })
  const sent = openaiChatForward.answer(Buffer.from(text), 'up', undefined, bodyOf(body)).body
  return JSON.parse(Buffer.from(sent as Uint8Array).toString('utf8')) as Json
}
const wholeCalls = (list: object[]): Json[] => whole(list).choices[0].message.tool_calls as Json[]

const call = (id: unknown, name = 'f', written: unknown = '{}') => ({
  id,
  type: 'function',
  function: { name, arguments: written },
})

describe('ids of tool calls', () => {
  const unreadable: [string, object[]][] = [
    ['missing', [call(undefined), call(undefined, 'g')]],
    ['empty', [call(''), call('', 'g')]],
    ['numbers', [call(0), call(1, 'g')]],
    ['null', [call(null), call(null, 'g')]],
    ['the same twice', [call('a'), call('a', 'g')]],
    ['longer than clients take', [call('x'.repeat(65)), call('y'.repeat(900), 'g')]],
    ['with spaces and other letters', [call('é 1'), call('\u4e2d', 'g')]],
  ]
  test.each(unreadable)('%s: each call has one of its own, streamed and whole', (_, list) => {
    const found = gathered(calls(...list.map((one, index) => ({ ...one, index }))) + end() + done)
    for (const seen of [found, wholeCalls(list)]) {
      for (const { id } of seen) expect(id).toMatch(/^[\x21-\x7e]{1,64}$/)
      expect(new Set(seen.map(({ id }) => id as string)).size).toBe(2)
    }
    expect(found.map(({ name }) => name as string)).toEqual(['f', 'g'])
  })

  test('that clients can read stay, and so does a signed one of any length', () => {
    const signed = `call_1__thought__${'QUJD'.repeat(200)}`
    for (const id of ['call_1', 'functions.f:0', 'x'.repeat(64), signed]) {
      expect(wholeCalls([call(id)])[0]!.id).toBe(id)
      const stream = calls({ index: 0, ...call(id) }) + end() + done
      for (const size of [1, 50, 1000]) expect(streamed(stream, size)).toBe(stream)
    }
  })

  test('one that is repeated in later pieces is the same there, and an empty one goes', () => {
    const piece = (id: string, text: string) => ({ index: 0, id, function: { arguments: text } })
    const found = (id: string) =>
      chunksOf(calls({ index: 0, ...call('', 'f', '') }) + calls(piece(id, '{}')) + end() + done).map(
        ({ choices }) => choices[0].delta.tool_calls?.[0].id as unknown,
      )
    expect(found('')[1]).toBeUndefined()
    const long = 'z'.repeat(100)
    const ids = chunksOf(calls({ index: 0, ...call(long, 'f', '') }) + calls(piece(long, '{}')) + end() + done).map(
      ({ choices }) => choices[0].delta.tool_calls?.[0].id as unknown,
    )
    expect(ids[0]).toMatch(/^call_/)
    expect(ids[1]).toBe(ids[0])
  })
})

describe('tool calls', () => {
  test('without an index, or all with the same, are numbered', () => {
    for (const index of [undefined, 0]) {
      const stream = calls({ index, ...call('a') }) + calls({ index, ...call('b', 'g') }) + end() + done
      expect(gathered(stream).map(({ id, name }) => [id, name])).toEqual([
        ['a', 'f'],
        ['b', 'g'],
      ])
    }
  })

  test('without a type, and with arguments as an object, whose digits and texts stay', () => {
    const written = '{"10":1234567890123456789,"a":1.0,"t":"é\\u4e2d"}'
    const json = JSON.stringify(call('a', 'f', 'HERE'))
      .replace('"HERE"', written)
      .replace('"type":"function",', '')
    const expected = { ...call('a', 'f', '{"10":1234567890123456789,"a":1.0,"t":"é中"}') }
    const stream = calls({ index: 0, here: 1 }).replace('"index":0,"here":1', `"index":0,${json.slice(1, -1)}`)
    const [piece] = chunksOf(stream + end() + done)
    expect(piece!.choices[0].delta.tool_calls).toEqual([{ index: 0, ...expected }])
    const text = JSON.stringify({
      ...head,
      choices: [{ index: 0, message: { role: 'assistant', tool_calls: [1] }, finish_reason: 'tool_calls' }],
    })
    const { body } = openaiChatForward.answer(Buffer.from(text.replace('[1]', `[${json}]`)), 'up')
    expect(JSON.parse(Buffer.from(body as Uint8Array).toString()).choices[0].message.tool_calls).toEqual([expected])
  })
})

describe('chunks that say nothing', () => {
  const usage = eventOf({ ...head, choices: [], usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } })
  const empty = eventOf({ ...head, choices: [] })
  const behind = chunk({ delta: { role: 'assistant', content: '' }, finish_reason: null, logprobs: null })
  const answer = chunk({ delta: { content: 'a' }, finish_reason: null }) + end('stop')

  test('do not reach the client: without choices, or behind the finish reason', () => {
    for (const size of [1, 40, 1000]) {
      expect(streamed(empty + answer + empty + behind + usage + done, size)).toBe(answer + usage + done)
      expect(streamed(answer + empty + behind + done, size, { stream: true })).toBe(answer + done)
    }
  })

  test('those that report filters, usage or sources do', () => {
    const filters = eventOf({ ...head, choices: [], prompt_filter_results: [{ prompt_index: 0 }] })
    const sources = eventOf({ ...head, choices: [], citations: ['https://a'] })
    const late = chunk({ delta: {}, finish_reason: null, content_filter_results: {} })
    const stream = filters + answer + late + sources + usage + done
    for (const size of [1, 40, 1000]) expect(streamed(stream, size)).toBe(stream)
  })

  test('a report of usage without a list of choices gets one', () => {
    const [, , last] = chunksOf(answer + usage.replace('"choices":[],', '') + done)
    expect([last!.choices, last!.usage.total_tokens]).toEqual([[], 2])
  })
})

describe('other things that clients stumble over', () => {
  test('words for the end become those that clients know; a choice that goes on has none', () => {
    for (const [word, shown] of Object.entries({ eos: 'stop', end_turn: 'stop', max_tokens: 'length', STOP: 'stop' })) {
      expect(chunksOf(chunk({ delta: { content: 'a' } }) + end(word) + done).at(-1)!.choices[0].finish_reason).toBe(
        shown,
      )
      const answer = whole([], { message: { role: 'assistant', content: 'é' }, finish_reason: word })
      expect(answer.choices[0]).toMatchObject({ finish_reason: shown, message: { content: 'é' } })
    }
    for (const going of ['', 'null']) {
      const stream = ['a', 'b é', 'c'].map(content => chunk({ delta: { content }, finish_reason: going })).join('')
      const out = chunksOf(stream + end('stop') + done).map(({ choices }) => choices[0] as Json)
      expect(out.map(({ finish_reason: reason }) => reason as unknown)).toEqual([null, null, null, 'stop'])
      expect(out.map(({ delta }) => (delta.content ?? '') as string).join('')).toBe('ab éc')
    }
  })

  test('`stop` beside calls is `tool_calls`, unless the client forced one function', () => {
    const stream = calls({ index: 0, ...call('a') }) + end('stop') + done
    const forced = { tool_choice: { type: 'function', function: { name: 'f' } } }
    for (const [body, word] of [
      [{}, 'tool_calls'],
      [{ tool_choice: 'required' }, 'tool_calls'],
      [forced, 'stop'],
    ] as const) {
      expect(chunksOf(stream, { ...asked, ...body }).at(-1)!.choices[0].finish_reason).toBe(word)
      expect(whole([call('a')], { finish_reason: 'stop' }, {}, body).choices[0].finish_reason).toBe(word)
    }
  })

  test("Azure's filters behind the text get the id of the answer and a delta; a choice gets its number", () => {
    const late = eventOf({
      ...head,
      id: '',
      object: '',
      choices: [{ index: 0, finish_reason: null, content_filter_offsets: {} }],
    })
    const text = chunk({ delta: { content: 'a' } }).replace('"index":0,', '')
    const [first, second] = chunksOf(text + late + end('stop') + done)
    expect(first!.choices[0].index).toBe(0)
    expect(second).toEqual({
      ...head,
      choices: [{ index: 0, finish_reason: null, content_filter_offsets: {}, delta: {} }],
    })
    const bare = { message: { content: 'a' }, index: undefined, finish_reason: 'stop' }
    const answer = whole([], bare, { id: undefined, object: undefined, created: undefined })
    expect(answer.choices[0]).toMatchObject({ index: 0, message: { role: 'assistant', content: 'a' } })
    expect([answer.id, answer.object, typeof answer.created]).toEqual([
      expect.stringMatching(/^chatcmpl-/),
      'chat.completion',
      'number',
    ])
  })
})
