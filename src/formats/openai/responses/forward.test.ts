import { describe, expect, test } from 'bun:test'
import { GatewayError } from '../../../core/errors.ts'
import { JsonBody } from '../../../lib/json/json-body.ts'
import { openaiResponses } from './index.ts'
import { fieldRules, noFieldRules } from '../../../core/dialects/field-rules.ts'
import type { FieldRules } from '../../../core/dialects/field-rules.ts'

const { forward } = openaiResponses
const bodyOf = (fields: object) => JsonBody.read(Buffer.from(JSON.stringify(fields)))
const edited = (fields: object, rules: FieldRules = noFieldRules) => {
  const body = bodyOf(fields)
  const { edits, dropped } = forward.edits(body, rules)
  return { body: JSON.parse(Buffer.concat(body.edited(edits)).toString()), dropped }
}

describe('a request', () => {
  test('loses only what the gateway does itself', () => {
    const fields = { model: 'm', input: 'x', store: true, tools: [{ type: 'web_search' }], unknown: { a: 1 } }
    expect(edited({ ...fields, previous_response_id: 'resp_1', background: true, api_base: 'http://evil' })).toEqual({
      body: fields,
      dropped: [],
    })
    expect(edited({ ...fields, user: 'u' }, { fields: fieldRules(['user']) })).toEqual({
      body: fields,
      dropped: ['user'],
    })
  })

  test('loses the proofs of another vendor, and keeps those of its own', () => {
    const own = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAA' }
    const foreign = { type: 'reasoning', id: 'rs_2', summary: [], encrypted_content: 'modelgate-signature-S' }
    expect(edited({ model: 'm', input: [own, foreign] })).toEqual({
      body: { model: 'm', input: [own] },
      dropped: ['input.encrypted_content'],
    })
    expect(edited({ model: 'm', input: [own, { role: 'user', content: 'modelgate-signature-' }] }).dropped).toEqual([])
  })
})

describe('a whole answer', () => {
  const answer = (fields: object) => forward.answer(Buffer.from(JSON.stringify(fields)), 'public')
  const usage = {
    input_tokens: 5,
    output_tokens: 2,
    input_tokens_details: { cached_tokens: 3 },
    output_tokens_details: { reasoning_tokens: 1 },
  }

  test('gets its public name; its usage is read', () => {
    const { body, usage: read } = answer({ id: 'resp_1', model: 'up', status: 'completed', output: [], usage })
    expect(JSON.parse(Buffer.from(body).toString())).toEqual({
      id: 'resp_1',
      model: 'public',
      status: 'completed',
      output: [],
      usage,
    })
    expect(read).toEqual({ inputTokens: 5, outputTokens: 2, cachedInputTokens: 3, reasoningTokens: 1 })
    expect(answer({ output: [], usage: { input_tokens: -1, output_tokens: 2 } }).usage).toBeUndefined()
  })

  test('that failed, or is none, is an error', () => {
    expect(() =>
      answer({ model: 'm', status: 'failed', output: [], error: { code: 'server_error', message: 'boom' } }),
    ).toThrow('boom')
    expect(() => answer({ model: 'm' })).toThrow(/no `output`/)
    expect(() => forward.answer(Buffer.from('<html>'), 'public')).toThrow(GatewayError)
  })
})

const running = {
  id: 'resp_up',
  object: 'response',
  model: 'up-1',
  status: 'in_progress',
  output: [],
  usage: null,
  previous_response_id: null,
  error: null,
}
/** The example of the API reference ("Streaming"), shortened. */
const whole = (type: string, sequence: number, more: object = {}) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence, response: { ...running, ...more } })}\n\n`
const delta = (text: string, sequence: number) =>
  'event: response.output_text.delta\n' +
  'data: {"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"content_index":0,' +
  `"delta":${JSON.stringify(text)},"sequence_number":${sequence}}\n\n`
const usage = { input_tokens: 5, output_tokens: 2 }
const completed = whole('response.completed', 4, { status: 'completed', usage })
const opening = whole('response.created', 0) + whole('response.in_progress', 1)

function relayOf() {
  return forward.relay('public', bodyOf({ model: 'public', previous_response_id: 'resp_before' }))
}

describe('a stream', () => {
  const text = opening + delta('Hé "you"', 2) + delta('', 3) + completed

  test('is the same wherever its bytes are cut; names are restored, the rest is untouched', () => {
    const expected = text
      .replaceAll('up-1', 'public')
      .replaceAll('"previous_response_id":null', '"previous_response_id":"resp_before"')
    const bytes = Buffer.from(text)
    for (let cut = 0; cut <= bytes.length; cut++) {
      const relay = relayOf()
      const out = [relay.push(bytes.subarray(0, cut)), relay.push(bytes.subarray(cut)), relay.end()].join('')
      expect(out).toBe(expected)
      expect(relay).toMatchObject({
        failure: undefined,
        started: true,
        complete: true,
        terminated: true,
        contentEvents: 1,
        usage: { inputTokens: 5, outputTokens: 2 },
      })
    }
  })

  test('also without event names, with CRLF, and with a [DONE] that is not of this dialect', () => {
    const relay = relayOf()
    const out = relay.push(
      Buffer.from(`${text.replace(/^event: .*\n/gm, '').replaceAll('\n', '\r\n')}data: [DONE]\r\n\r\n`),
    )
    expect(String(out)).toEndWith(
      completed
        .replace('up-1', 'public')
        .replace('"previous_response_id":null', '"previous_response_id":"resp_before"'),
    )
    expect(relay.complete).toBe(true)
  })

  test('begins with its first content', () => {
    const relay = relayOf()
    relay.push(Buffer.from(opening + delta('', 2)))
    expect(relay.started).toBe(false)
    relay.push(Buffer.from(delta('a', 3)))
    expect(relay.started).toBe(true)
  })

  test('that fails by its own words passes them on, whenever it happens', () => {
    const error = { code: 'rate_limit_exceeded', message: 'slow down' }
    for (const before of [opening, opening + delta('Hi', 2)]) {
      const relay = relayOf()
      relay.push(Buffer.from(before + whole('response.failed', 3, { status: 'failed', error })))
      expect(relay.failure).toMatchObject({ kind: 'upstream-rate-limited', message: 'slow down' })
      expect(relay.complete).toBe(false)
      const event = JSON.parse(relay.errorEvent(relay.failure!).split('data: ')[1]!)
      expect(event).toMatchObject({
        type: 'response.failed',
        sequence_number: 4,
        response: { id: 'resp_up', model: 'public', error },
      })
    }
    const relay = relayOf()
    relay.push(
      Buffer.from(
        'event: error\n' +
          'data: {"type":"error","code":"server_error","message":"boom","param":null,"sequence_number":0}\n\n',
      ),
    )
    expect(relay.failure?.message).toBe('boom')
    expect(relay.errorEvent(relay.failure!)).toStartWith('event: error\n')
  })

  test('that is cut, or is no such stream, is broken', () => {
    const cut = relayOf()
    cut.push(Buffer.from(opening + delta('Hi', 2) + completed.slice(0, -3)))
    cut.end()
    expect(cut.failure?.kind).toBe('upstream-broken')
    expect(JSON.parse(cut.errorEvent(cut.failure!).split('data: ')[1]!).response).toMatchObject({
      status: 'failed',
      error: { code: 'server_error' },
    })
    for (const hostile of [
      'event: response.created\ndata: {\n\n',
      'event: response.completed\ndata: {"response":null}\n\n',
      'event: error\ndata: x\n\n',
      'event: response.output_text.delta\ndata: {"delta":"ca\n\n',
    ]) {
      const relay = relayOf()
      expect(relay.push(Buffer.from(hostile))).toBe('')
      expect(relay.failure?.kind).toBe('upstream-broken')
    }
  })

  test('whose last blank line is missing is complete, one that is cut within its last event is not', () => {
    const wire = opening + delta('Hi', 2) + completed
    for (const cut of [1, 2]) {
      const relay = relayOf()
      const out = relay.push(Buffer.from(wire.slice(0, -cut))) + String(relay.end())
      expect([relay.complete, relay.failure, relay.usage]).toEqual([
        true,
        undefined,
        { inputTokens: 5, outputTokens: 2 },
      ])
      expect(out).toContain('event: response.completed')
      expect(out.endsWith('\n\n')).toBe(true)
    }
    for (const text of [wire.slice(0, -3), opening + delta('Hi', 2).trimEnd()]) {
      const relay = relayOf()
      relay.push(Buffer.from(text))
      relay.end()
      expect([relay.complete, relay.failure?.kind]).toEqual([false, 'upstream-broken'])
    }
  })

  test('incomplete is an end, too', () => {
    const relay = relayOf()
    relay.push(
      Buffer.from(
        opening +
          whole('response.incomplete', 2, {
            status: 'incomplete',
            incomplete_details: { reason: 'max_output_tokens' },
          }),
      ),
    )
    relay.end()
    expect(relay).toMatchObject({ complete: true, terminated: true, failure: undefined })
  })
})

test('an error without a type, as hosts of this dialect write it, is a failure in their words', () => {
  for (const event of [
    'data: {"error":{"message":"GPU lost","code":"gpu","type":"server_error"}}\n\n',
    'data: {"error": "GPU lost"}\r\n\r\n',
  ])
    for (const before of ['', opening + delta('a', 2)]) {
      const relay = relayOf()
      const out = String(relay.push(Buffer.from(before + event)))
      expect([relay.failure?.kind, relay.failure?.message, out.includes('GPU')]).toEqual([
        'upstream-failed',
        'GPU lost',
        false,
      ])
    }
  const relay = relayOf()
  expect(relay.push(Buffer.from('data: {"error":null,"more":1}\n\n'))).toContain('"more":1')
  expect(relay.failure).toBeUndefined()
})

test('`detail` in the place of an event is a failure in its words; deltas that are no JSON break the stream', () => {
  for (const [event, kind, message] of [
    ['data: {"detail":"the engine died"}\n\n', 'upstream-failed', 'the engine died'],
    [
      'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","delta":"a" oops}\n\n',
      'upstream-broken',
      "the upstream's stream does not follow its protocol",
    ],
  ]) {
    const relay = relayOf()
    relay.push(Buffer.from(opening + delta('a', 2) + event))
    expect([relay.failure?.kind as string, relay.failure?.message, relay.complete]).toEqual([kind, message, false])
  }
})

test('a whole response without a list of output, or not finished, is none', () => {
  const answer = (fields: object) => () =>
    openaiResponses.forward.answer(Buffer.from(JSON.stringify({ id: 'r', model: 'm', output: [], ...fields })), 'm')
  expect(answer({ status: 'completed' })).not.toThrow()
  expect(answer({})).not.toThrow()
  expect(answer({ output: null })).toThrow('no `output`')
  for (const status of ['in_progress', 'queued', '', null]) expect(answer({ status })).toThrow('not finished')
})

test('keep-alives are no steps, the stages of a hosted tool are', () => {
  const relay = relayOf()
  const steps = ['keepalive', 'response.web_search_call.searching', 'response.web_search_call.completed'].map(type => {
    relay.push(Buffer.from(`event: ${type}\ndata: {"type":"${type}"}\n\n`))
    return [relay.received, relay.steps]
  })
  expect(steps).toEqual([
    [false, 0],
    [true, 1],
    [true, 2],
  ])
})
