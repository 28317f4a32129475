/** An answer that one replica makes, followed at another. */
import { afterAll, expect, test } from 'bun:test'
import { backends, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

type Json = Record<string, any>

const shared = backends().find(one => one.name !== 'SQLite')
const cleanups: (() => unknown)[] = []
afterAll(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

/** Thinks until it is let go, then says `done`. */
function startThinker() {
  let letGo = () => {}
  const isLetGo = new Promise<void>(resolve => (letGo = resolve))
  const event = (delta: Json, finish_reason: string | null = null) =>
    `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason }] })}\n\n`
  const server = Bun.serve({
    port: 0,
    idleTimeout: 0,
    fetch() {
      async function* body() {
        yield event({ role: 'assistant', reasoning_content: 'first ' })
        for (let isEnded = false; !isEnded; ) {
          yield event({ reasoning_content: 'more ' })
          isEnded = await Promise.race([isLetGo.then(() => true), Bun.sleep(50).then(() => false)])
        }
        yield event({ content: 'done' })
        yield event({}, 'stop')
        yield 'data: [DONE]\n\n'
      }
      return new Response(body() as unknown as ReadableStream, { headers: { 'content-type': 'text/event-stream' } })
    },
  })
  return { url: server.url.href.replace(/\/$/, ''), letGo, stop: () => server.stop(true) }
}

test.skipIf(!shared)('thinking is seen at another replica while it grows, and the end of the answer', async () => {
  const thinker = startThinker()
  cleanups.push(thinker.stop)
  const place = await shared!.open()
  cleanups.push(place.close)
  const backend = { name: 'shared', open: async () => ({ ...place, close: async () => {} }) }
  const config = `
model_list:
  - model_name: thinker
    proxy_params: { model: custom_openai/m, api_base: "${thinker.url}/v1", api_key: k }
`
  const environment = { MODELGATE_ENCRYPTION_KEY: 'an encryption key of more than 32 characters' }
  const gateways: Gateway[] = []
  for (let at = 0; at < 2; at++) {
    const gateway = await startGateway({ backend, config, environment })
    cleanups.push(gateway.stop)
    gateways.push(gateway)
  }
  const [maker, other] = gateways as [Gateway, Gateway]
  const headers = { authorization: `Bearer ${await maker.key()}` }
  const post = async (path: string, body: Json): Promise<Json> =>
    (await fetch(`${maker.url}/chat${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).json()
  const { id } = await post('/conversations', {})
  const { answers } = await post(`/conversations/${id}/messages`, {
    text: 'think',
    models: ['thinker'],
    parent_id: null,
  })
  const followed = await fetch(`${other.url}/chat/conversations/${id}/messages/${answers[0].id}/events`, { headers })
  expect(followed.status).toBe(200)
  const seen: Json[] = []
  let text = ''
  for await (const bytes of followed.body!) {
    text += new TextDecoder().decode(bytes)
    const events = text.split('\n\n')
    text = events.pop()!
    for (const event of events)
      if (event.startsWith('event: message')) seen.push(JSON.parse(event.slice(event.indexOf('data: ') + 6)))
    const lengths = new Set(seen.map(one => one.content.thinking?.length ?? 0))
    if (lengths.size >= 3) thinker.letGo()
  }
  expect(seen.filter(one => one.content.text === '' && one.content.thinking).length).toBeGreaterThanOrEqual(2)
  expect(seen.at(-1)).toMatchObject({ status: 'completed', content: { text: 'done' } })
})
