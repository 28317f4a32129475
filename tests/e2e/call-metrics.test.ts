/** What operators see of attempts, fallbacks, refused keys and the gateway's own time. */
import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { connect } from 'node:net'
import { masterKey, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

const entry = (name: string) =>
  `  - model_name: ${name}\n    proxy_params: { model: custom_openai/${name}, api_base: "{simulator}/v1", api_key: canary }\n    model_info: { id: ${name}-id }\n`
const config = `model_list:\n${['one', 'two', 'cut', 'flaky', 'drops'].map(entry).join('')}
router_settings: { num_retries: 1, fallbacks: [{ one: [two] }], allowed_fails: 1000, cooldown_time: 0 }
`

let gateway: Gateway
beforeAll(async () => void (gateway = await startGateway({ config })))
afterAll(() => gateway?.stop())
afterEach(() => gateway.simulator.reset())

const body = (model: string, more: object = {}) =>
  JSON.stringify({ model, messages: [{ role: 'user', content: 'say: hi there' }], ...more })
const ask = async (model: string, more: object = {}, key = masterKey) => {
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: body(model, more),
  })
  await response.text()
  return response
}
const fails = (model: string, times?: number) =>
  gateway.simulator.script(request => request.model === model, {
    raw: { status: 500, body: '{}' },
    ...(times && { times }),
  })
/** The lines of these series, without the prefix. */
async function series(name: string, part = ''): Promise<string[]> {
  const text = await (await gateway.admin('/metrics')).text()
  return text.split('\n').filter(line => line.startsWith(`modelgate_${name}{`) && line.includes(part))
}

test('attempts by deployment and error, fallbacks from and to, and the error of a call', async () => {
  fails('one')
  expect((await ask('one')).headers.get('x-proxy-model-id')).toBe('two-id')
  gateway.simulator.script(request => request.model === 'cut', { fault: 'cut;at=3' })
  await ask('cut', { stream: true })
  const attempts = 'modelgate_upstream_attempts_total'
  expect(await series('upstream_attempts_total')).toEqual([
    `${attempts}{model="one",deployment="one-id",error="upstream-failed"} 2`,
    `${attempts}{model="two",deployment="two-id",error=""} 1`,
    `${attempts}{model="cut",deployment="cut-id",error="upstream-closed"} 1`,
  ])
  expect(await series('fallbacks_total')).toEqual(['modelgate_fallbacks_total{from="one",to="two"} 1'])
  const errors = (await series('calls_total')).map(line => /deployment="([^"]*)".*error="([^"]*)"/.exec(line)!.slice(1))
  expect(errors).toEqual([
    ['two-id', ''],
    ['cut-id', 'upstream-closed'],
  ])
})

test('an attempt whose client leaves counts once, as that', async () => {
  gateway.simulator.script(request => request.model === 'drops', { fault: 'hang' })
  const leaving = new AbortController()
  const call = fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${masterKey}` },
    body: body('drops'),
    signal: leaving.signal,
  })
  while (gateway.simulator.truth.entries.length === 0) await Bun.sleep(2)
  leaving.abort()
  await call.catch(() => {})
  while ((await series('upstream_attempts_total', 'drops')).length === 0) await Bun.sleep(5)
  expect(await series('upstream_attempts_total', 'drops')).toEqual([
    'modelgate_upstream_attempts_total{model="drops",deployment="drops-id",error="client-closed"} 1',
  ])
})

test('refused keys are counted by reason, though clients hear the same of them', async () => {
  const blocked = await gateway.key()
  await gateway.admin('/key/block', { key: blocked })
  const refusals = [
    ask('one', {}, 'sk-nobody'),
    ask('one', {}, blocked),
    fetch(`${gateway.url}/v1/models`),
    fetch(`${gateway.url}/v1/models`, { headers: { authorization: 'Basic eDp5' } }),
    fetch(`${gateway.url}/v1/models`, { headers: { authorization: 'Bearer a', 'x-api-key': 'b' } }),
  ]
  expect((await Promise.all(refusals)).map(one => one.status)).toEqual(Array(5).fill(401))
  const counted = (await series('auth_failures_total')).map(line => /reason="(.*)"\} 1$/.exec(line)?.[1])
  expect(counted.sort()).toEqual(['blocked', 'contradictory', 'malformed', 'missing', 'unknown'])
})

test("a client's slow body and the waiting between attempts are not the gateway's overhead", async () => {
  fails('flaky', 1)
  const text = body('flaky')
  const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1')
  let answer = ''
  socket.on('data', bytes => (answer += bytes))
  const beganMs = performance.now()
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${masterKey}\r\n` +
      `content-length: ${text.length}\r\nconnection: close\r\n\r\n${text.slice(0, 10)}`,
  )
  await Bun.sleep(300)
  socket.write(text.slice(10))
  await new Promise(resolve => socket.on('close', resolve))
  const overheadMs = Number(/x-proxy-overhead-ms: ([\d.]+)/i.exec(answer)![1])
  expect(answer).toContain('x-proxy-attempted-retries: 1')
  // 300 ms of the body, and at least 100 ms before the second attempt.
  expect(performance.now() - beganMs - overheadMs).toBeGreaterThan(395)
})
