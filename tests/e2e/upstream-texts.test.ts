/** What upstreams say of their failures reaches clients without addresses of the operator's network. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

let gateway: Gateway
let status = 400
/** Events before the error; -1 = no stream. */
let eventsBefore = -1
const messageFor = (host: string): string =>
  `the field is wrong (worker http://10.20.30.40:8000/v1 behind ${host}, ` +
  'gpu-7.internal:9000, [fd00::7]:80); see https://docs.example.com/errors'
const content = { role: 'assistant', content: 'Hello' }
const contentEvent = { id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta: content }] }
/** After content the client has read the beginning of its answer when the error comes. */
function brokenStream(host: string, events: number): ReadableStream<Uint8Array> {
  const encoded = (event: object) => Buffer.from(`data: ${JSON.stringify(event)}\n\n`)
  return new ReadableStream({
    async start(controller) {
      for (let sent = 0; sent < events; sent++) controller.enqueue(encoded(contentEvent))
      await Bun.sleep(20)
      controller.enqueue(encoded({ error: { message: messageFor(host), code: 'bad' } }))
      controller.close()
    },
  })
}
const upstream = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch(request) {
    const { host } = new URL(request.url)
    if (eventsBefore >= 0)
      return new Response(brokenStream(host, eventsBefore), { headers: { 'content-type': 'text/event-stream' } })
    return Response.json({ error: { message: messageFor(host), code: 'bad' } }, { status })
  },
})

beforeAll(async () => {
  gateway = await startGateway({
    config: `
model_list:
  - model_name: m
    proxy_params: { model: custom_openai/x, api_base: "http://127.0.0.1:${upstream.port}/v1", api_key: k }
router_settings: { num_retries: 0, cooldown_time: 0 }
`,
  })
})
afterAll(async () => {
  await gateway.stop()
  await upstream.stop(true)
})

const chat = { model: 'm', messages: [{ role: 'user', content: 'x' }] }
const paths: [path: string, body: object][] = [
  ['/v1/chat/completions', chat],
  ['/v1/chat/completions', { ...chat, stream: true }],
  ['/v1/messages', { ...chat, max_tokens: 5 }],
  ['/v1/responses', { model: 'm', input: 'x' }],
  ['/v1beta/models/m:generateContent', { contents: [{ parts: [{ text: 'x' }] }] }],
  ['/v1/embeddings', { model: 'm', input: 'x' }],
]

test('texts of an upstream, of every status, have no inner addresses and keep the rest', async () => {
  for (status of [400, 404, 409, 422, 429, 500, 503, 200])
    for (const [path, body] of paths) {
      const text = await (await gateway.admin(path, body)).text()
      expect([status, path, text.match(/10\.20|fd00|gpu-7|127\.0\.0\.1/)]).toEqual([status, path, null])
      // One that says 200 to a stream has broken its protocol, of which the gateway tells in its own words.
      if (status !== 200)
        expect([status, path, text]).toEqual([status, path, expect.stringContaining('docs.example.com')])
    }
})

test('nor has the error that a stream holds, first of all or after content, on either lane', async () => {
  const streams = paths.slice(1, 4)
  for (eventsBefore of [0, 1, 3])
    for (const [path, body] of streams) {
      const text = await (await gateway.admin(path, { ...body, stream: true })).text()
      const shown = [path, eventsBefore, text.includes('Hello'), text.match(/10\.20|fd00|gpu-7|127\.0\.0\.1/), text]
      expect(shown).toEqual([path, eventsBefore, eventsBefore > 0, null, expect.stringContaining('docs.example.com')])
    }
})
