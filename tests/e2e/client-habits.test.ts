/** What clients of other gateways and vendors send, and what they expect in answers. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { chatBody } from '../../src/formats/openai/claude-shapes.ts'
import { JsonBody } from '../../src/lib/json/json-body.ts'
import { matrixConfig } from '../sdk/matrix/providers.ts'
import { startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

type Json = Record<string, unknown>

let gateway: Gateway
let key: string
beforeAll(async () => {
  gateway = await startGateway({ config: matrixConfig() })
  key = await gateway.key()
})
afterAll(() => gateway?.stop())

const lastBody = (): Json => gateway.simulator.truth.last()!.body as Json

function post(path: string, body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) {
  const all = { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers }
  return fetch(`${gateway.url}${path}`, { method: 'POST', headers: all, body })
}
const chat = (fields: Json): string => JSON.stringify({ messages: [{ role: 'user', content: 'Hello' }], ...fields })

describe('reasoning_effort "default"', () => {
  for (const model of ['openai', 'openai-six', 'groq', 'anthropic', 'gemini', 'cohere', 'bedrock', 'ollama'])
    test(`means no field at ${model}: nothing is sent, nothing is named as dropped`, async () => {
      const answer = await post('/v1/chat/completions', chat({ model, reasoning_effort: 'default' }))
      expect([answer.status, answer.headers.get('x-modelgate-dropped-params')]).toEqual([200, null])
      const sent = lastBody()
      const again = await post('/v1/chat/completions', chat({ model }))
      expect([again.status, sent]).toEqual([200, lastBody()])
    })

  test('is no word for tools either: they go where the model takes them without an effort', async () => {
    const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }]
    for (const model of ['openai-six', 'openai']) {
      const answer = await post('/v1/chat/completions', chat({ model, tools, reasoning_effort: 'default' }))
      const { path } = gateway.simulator.truth.last()!
      await post('/v1/chat/completions', chat({ model, tools }))
      expect([answer.status, path]).toEqual([200, gateway.simulator.truth.last()!.path])
    }
  })
})

describe("Gemini's signature in the id of a call, after a change of the model", () => {
  const history = (id: string): Json[] => [
    { role: 'user', content: 'weather?' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id, type: 'function', function: { name: 'f', arguments: '{"n":1234567890123456789}' } }],
    },
    { role: 'tool', tool_call_id: id, content: 'mild' },
  ]
  for (const model of ['openai', 'groq', 'anthropic', 'bedrock'])
    test(`does not reach ${model}, nor is it named as dropped`, async () => {
      const signed = history(`call_1__thought__${'QUJD'.repeat(300)}`)
      const answer = await post('/v1/chat/completions', chat({ model, messages: signed }))
      expect([answer.status, answer.headers.get('x-modelgate-dropped-params')]).toEqual([200, null])
      const sent = lastBody()
      await post('/v1/chat/completions', chat({ model, messages: history('call_1') }))
      expect(sent).toEqual(lastBody())
    })
})

describe("parts of Anthropic's Messages in a chat, as Cursor sends them with a name of Claude", () => {
  const schema = { type: 'object', properties: { n: { type: 'integer' } } }
  const data = 'iVBORw0KGgo='
  const shaped = {
    tools: [{ name: 'f', description: 'Does it.', input_schema: schema }],
    tool_choice: { type: 'tool', name: 'f' },
    messages: [
      { role: 'user', content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data } }] },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'I look.' },
          { type: 'tool_use', id: 'toolu_1', name: 'f', input: { n: 1 } },
          { type: 'tool_use', id: 'toolu_2', name: 'f', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: 'one' }] },
          { type: 'tool_result', tool_use_id: 'toolu_2', content: 'two' },
          { type: 'text', text: 'go on' },
        ],
      },
    ],
  }
  const called = (id: string, args: string) => ({ id, type: 'function', function: { name: 'f', arguments: args } })
  const plain = {
    tools: [{ type: 'function', function: { name: 'f', description: 'Does it.', parameters: schema } }],
    tool_choice: { type: 'function', function: { name: 'f' } },
    messages: [
      { role: 'user', content: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } }] },
      {
        role: 'assistant',
        content: [{ type: 'text', text: 'I look.' }],
        tool_calls: [called('toolu_1', '{"n":1}'), called('toolu_2', '{}')],
      },
      { role: 'tool', tool_call_id: 'toolu_1', content: [{ type: 'text', text: 'one' }] },
      { role: 'tool', tool_call_id: 'toolu_2', content: 'two' },
      { role: 'user', content: [{ type: 'text', text: 'go on' }] },
    ],
  }

  for (const model of ['openai', 'groq', 'anthropic', 'gemini', 'bedrock'])
    test(`reach ${model} as those of a chat do`, async () => {
      const answer = await post('/v1/chat/completions', chat({ model, ...shaped }))
      const dropped = answer.headers.get('x-proxy-dropped-params')
      const sent = lastBody()
      const again = await post('/v1/chat/completions', chat({ model, ...plain }))
      const texts = (body: Json) => JSON.stringify(body).replaceAll('[{"type":"text","text":"one"}]', '"one"')
      const alike = (body: Json): unknown =>
        JSON.parse(texts(body), (_, value: unknown) => {
          const [only, more] = Array.isArray(value) ? (value as Json[]) : []
          return only?.type === 'text' && more === undefined && only.cache_control === undefined ? only.text : value
        })
      expect([answer.status, dropped, alike(sent)]).toEqual([
        again.status,
        again.headers.get('x-proxy-dropped-params'),
        alike(lastBody()),
      ])
      expect(answer.status).toBe(200)
    })

  test('keep their digits, an error of a tool, and one call at a time', async () => {
    const input = '{"n":1234567890123456789,"1":1.0}'
    const body = chat({ model: 'anthropic', ...shaped, tool_choice: { type: 'any', disable_parallel_tool_use: true } })
      .replace('"input":{"n":1}', `"input":${input}`)
      .replace('"tool_use_id":"toolu_2"', '"tool_use_id":"toolu_2","is_error":true')
    const [, turn] = chatBody(JsonBody.read(Buffer.from(body))).get('messages') as { tool_calls: Json[] }[]
    expect(turn!.tool_calls[0]!.function).toEqual({ name: 'f', arguments: input })
    expect((await post('/v1/chat/completions', body)).status).toBe(200)
    expect(lastBody().tool_choice).toEqual({ type: 'any', disable_parallel_tool_use: true })
    expect(JSON.stringify(lastBody().messages)).toContain('"is_error":true')
  })

  test('that are incomplete are refused by their place, and nothing is sent', async () => {
    const before = gateway.simulator.truth.entries.length
    for (const content of [
      [{ type: 'tool_use', id: 'a', name: 'f' }],
      [{ type: 'image', source: { type: 'base64' } }],
    ]) {
      const messages = [{ role: 'assistant', content }, shaped.messages[2]]
      const answer = await post('/v1/chat/completions', chat({ model: 'anthropic', ...shaped, messages }))
      const { error } = (await answer.json()) as { error: Json }
      expect([answer.status, error.param]).toEqual([422, 'messages.0.content.0.type'])
    }
    expect(gateway.simulator.truth.entries.length).toBe(before)
  })
})

describe('a picture in the result of a tool', () => {
  const url = 'data:image/png;base64,iVBORw0KGgo='
  const picture = { type: 'image_url', image_url: { url } }
  const history = (content: unknown): Json[] => [
    { role: 'user', content: 'look' },
    {
      ...{ role: 'assistant', content: null },
      tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'call_1', content },
  ]
  for (const model of ['openai', 'groq'])
    test(`reaches ${model}, whose tool messages hold text alone, in a message of the user`, async () => {
      const messages = history([{ type: 'text', text: 'seen' }, picture])
      expect((await post('/v1/chat/completions', chat({ model, messages }))).status).toBe(200)
      expect((lastBody().messages as Json[]).slice(2)).toEqual([
        { role: 'tool', tool_call_id: 'call_1', content: 'seen' },
        { role: 'user', content: [picture] },
      ])
    })

  test('reaches every other host, once', async () => {
    for (const model of ['anthropic', 'bedrock', 'gemini', 'cohere', 'mistral', 'ollama']) {
      const answer = await post('/v1/chat/completions', chat({ model, messages: history([picture]) }))
      expect([model, answer.status]).toEqual([model, 200])
      const sent = JSON.stringify(lastBody())
      expect([model, sent.split('iVBORw0KGgo=').length]).toEqual([model, 2])
    }
  })
})

describe('compressed requests', () => {
  for (const [encoding, pack] of [
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['gzip, zstd', (text: string) => zstdCompressSync(gzipSync(text))],
  ] as const)
    test(`${encoding}: reaches upstreams of both lanes unpacked, at its true size`, async () => {
      for (const model of ['openai', 'anthropic']) {
        const text = chat({ model, messages: [{ role: 'user', content: 'x'.repeat(300_000) }] })
        const answer = await post('/v1/chat/completions', pack(text) as Uint8Array<ArrayBuffer>, {
          'content-encoding': encoding,
        })
        expect(answer.status).toBe(200)
        expect(JSON.stringify(lastBody())).toContain('x'.repeat(300_000))
        const { usage } = (await answer.json()) as { usage: { prompt_tokens: number } }
        expect(usage.prompt_tokens).toBeGreaterThan(30_000)
      }
    })

  test('a form is unpacked as well', async () => {
    const form = new FormData()
    form.set('purpose', 'user_data')
    form.set('model', 'openai')
    form.set('file', new Blob(['a text of 18 bytes']), 'notes.txt')
    const plain = new Response(form)
    const type = plain.headers.get('content-type')!
    const headers = { 'content-type': type, 'content-encoding': 'gzip' }
    const answer = await post('/v1/files', gzipSync(new Uint8Array(await plain.arrayBuffer())), headers)
    expect(await answer.json()).toMatchObject({ object: 'file', filename: 'notes.txt', bytes: 18 })
  })

  test('one that is damaged is refused, and nothing is sent', async () => {
    const before = gateway.simulator.truth.last()
    const packed = gzipSync(chat({ model: 'openai' }))
    const answer = await post('/v1/chat/completions', packed.subarray(0, -8), { 'content-encoding': 'gzip' })
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining("content-encoding 'gzip'")])
    expect(gateway.simulator.truth.last()).toBe(before)
  })
})

test('embeddings have an id in both lanes, and keep the one of their upstream', async () => {
  const answer = await post('/v1/embeddings', JSON.stringify({ model: 'local/simulated-embedding', input: 'x' }))
  expect(await answer.json()).toMatchObject({ id: expect.stringMatching(/^embd-\w{32}$/) as string, object: 'list' })
})
