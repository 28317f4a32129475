/** Invalid scripts: every field is checked; the error names the field, the problem and the remedy. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { startSimulator } from '../index.ts'
import type { Matcher, ScriptedReply, Simulator } from '../index.ts'
import { postJson, chat, rawExchange, keptOpenMs } from '../testing/client.ts'

let simulator: Simulator
beforeAll(async () => {
  simulator = await startSimulator({ seed: 3 })
})
beforeEach(() => simulator.reset())
afterAll(() => simulator.stop())

const answer = async (model: string, headers = {}) => {
  const body = { model, messages: [{ role: 'user', content: 'hello' }] }
  return (await postJson(simulator, { path: '/v1/chat/completions', headers }, body)).text
}
const script = async (body: unknown) => {
  const { status, text } = await postJson(simulator, '/__script', body)
  return { status, error: JSON.parse(text).error }
}

const good = { match: { model: 'm' }, reply: { text: 'SCRIPTED' } }

/** An invalid script, the field that the error must name, and a part of the message. */
const wrong: [unknown, string, string][] = [
  [{ ...good, match: { modle: 'm' } }, 'match.modle', 'did you mean "model"?'],
  [{ ...good, match: { model: 7 } }, 'match.model', 'got 7'],
  [{ ...good, match: { model: 'm#cut' } }, 'match.model', 'before the "#"'],
  [{ ...good, match: { path: '' } }, 'match.path', 'leave it out'],
  [{ ...good, match: { text: ['a'] } }, 'match.text', 'a text'],
  [{ ...good, match: { headers: ['a'] } }, 'match.headers', 'an object'],
  [{ ...good, match: { headers: { 'x-a': 1 } } }, 'match.headers.x-a', 'printable ASCII'],
  [{ ...good, match: { headers: { 'x a': '1' } } }, 'match.headers.x a', 'no header name'],
  [{ ...good, match: 'm' }, 'match', 'an object of model, path, text, headers'],
  [{ reply: good.reply }, 'match', 'missing'],
  [{ match: good.match }, 'reply', 'missing'],
  [{ match: good.match, repyl: good.reply }, 'repyl', 'did you mean "reply"?'],
  [{ ...good, reply: { txt: 'x' } }, 'reply.txt', 'did you mean "text"?'],
  [{ ...good, reply: { text: 3 } }, 'reply.text', 'got 3'],
  [{ ...good, reply: { text: null } }, 'reply.text', 'got null'],
  [{ ...good, reply: { reasoning: {} } }, 'reply.reasoning', 'a text'],
  ...[0, '1', -1, 1.5, null].map((times): [unknown, string, string] => [
    { ...good, reply: { text: 'x', times } },
    'reply.times',
    'a whole number from 1',
  ]),
  [{ ...good, reply: { toolCalls: 'x' } }, 'reply.toolCalls', 'a list'],
  [{ ...good, reply: { toolCalls: [{ name: 'f' }, 'x'] } }, 'reply.toolCalls[1]', 'an object of name'],
  [{ ...good, reply: { toolCalls: [{ arguments: {} }] } }, 'reply.toolCalls[0].name', 'missing'],
  [{ ...good, reply: { toolCalls: [{ name: 'f', args: {} }] } }, 'reply.toolCalls[0].args', 'not known'],
  [{ ...good, reply: { images: [{ data: 'no base64!' }] } }, 'reply.images[0].data', 'base64'],
  [{ ...good, reply: { images: [{ data: 'AAAA', mediaType: 'png' }] } }, 'reply.images[0].mediaType', 'image/png'],
  [{ ...good, reply: { finish: 'tool_calls' } }, 'reply.finish', 'tool-calls'],
  [{ ...good, reply: { fault: 'cutt;at=2' } }, 'reply.fault', 'did you mean "cut"?'],
  [{ ...good, reply: { fault: 'flaky;p=2' } }, 'reply.fault', 'from 0 to 1'],
  ...['x', 99, 600, 200.5, 204, '200'].map((status): [unknown, string, string] => [
    { ...good, reply: { raw: { status, body: '' } } },
    'reply.raw.status',
    'from 200 to 599',
  ]),
  [{ ...good, reply: { raw: { status: 200 } } }, 'reply.raw.body', 'missing'],
  [{ ...good, reply: { raw: { body: { a: 1 } } } }, 'reply.raw.body', 'write it as text'],
  [
    { ...good, reply: { raw: { body: '', headers: { 'x-a': 'b\r\nc: d' } } } },
    'reply.raw.headers.x-a',
    'printable ASCII',
  ],
  [
    { ...good, reply: { raw: { body: '', headers: { 'Transfer-Encoding': 'chunked' } } } },
    'reply.raw.headers.Transfer-Encoding',
    'fault',
  ],
  [{ ...good, reply: { raw: { body: '' }, text: 'x' } }, 'reply.text', 'leave one of them out'],
  [[good], 'body', 'an object of match, reply'],
  [JSON.parse('{"match": {"__proto__": {}}, "reply": {}}'), 'match.__proto__', 'not known'],
]

describe('POST /__script', () => {
  for (const [body, field, words] of wrong)
    test(`${JSON.stringify(body).slice(0, 90)} is refused for ${field}`, async () => {
      const { status, error } = await script(body)
      expect([status, error.param]).toEqual([400, field])
      expect(error.message).toContain(words)
      expect(error.message).toContain(field.split('.').at(-1)!)
      // The script is not active.
      expect(await answer('m')).not.toContain('SCRIPTED')
    })

  test('bodies that are empty or not JSON are refused', async () => {
    for (const [body, words] of [
      ['{"match":', 'no JSON'],
      ['', 'empty'],
    ] as const) {
      const sent =
        'POST /__script HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: ' + `${body.length}\r\n\r\n${body}`
      const { text } = await rawExchange(simulator, sent)
      expect(text).toStartWith('HTTP/1.1 400 ')
      expect(text).toContain(words)
    }
  })

  test('every documented field is accepted', async () => {
    const full = {
      match: { model: 'm', path: '/chat', text: 'hel', headers: { 'X-Test': 'Yes' } },
      reply: {
        text: 'SCRIPTED',
        reasoning: 'hm',
        finish: 'length',
        fault: 'slow;ms=1',
        times: 1,
        toolCalls: [
          { name: 'f', arguments: { a: 1 }, id: 'call_1' },
          { name: 'g', arguments: '{' },
        ],
        images: [{ data: 'AAAA', mediaType: 'image/png' }],
      },
    }
    expect(await script(full)).toEqual({ status: 200, error: undefined })
    expect(await answer('m')).not.toContain('SCRIPTED')
    expect(await answer('m', { 'x-test': 'Yes' })).toContain('SCRIPTED')
    expect(simulator.truth.last()!.fault).toBe('slow;ms=1')
    // `times` was 1.
    expect(await answer('m', { 'x-test': 'Yes' })).not.toContain('SCRIPTED')
    expect(
      (await script({ match: {}, reply: { raw: { status: 503, headers: { 'x-a': 'b' }, body: 'SCRIPTED' } } })).status,
    ).toBe(200)
    const { text } = await rawExchange(simulator, chat(''), keptOpenMs)
    expect(text).toMatch(/^HTTP\/1\.1 503 [\s\S]*\r\nx-a: b\r\n[\s\S]*SCRIPTED$/)
  })
})

test('scripts added in the process are checked too; patterns, functions and bytes are allowed there', async () => {
  const add = (matcher: object, reply: object) => () => simulator.script(matcher as Matcher, reply as ScriptedReply)
  expect(add({ modle: 'm' }, {})).toThrow('did you mean "model"?')
  expect(add(() => true, { times: 0 })).toThrow('"reply.times" must be a whole number from 1')
  add({ model: /^m/, text: /hello/ }, { raw: { body: Buffer.from('SCRIPTED') } })()
  expect(await answer('mm')).toBe('SCRIPTED')
  simulator.script(request => request.model === 'n', { text: 'BY-FUNCTION' })
  expect(await answer('n')).toContain('BY-FUNCTION')
})
