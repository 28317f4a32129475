/** Equal calls at the same time, of which one names fallbacks: another key need not be allowed their models. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { CountingUpstream } from '../support/upstreams/counting-upstream.ts'
import { startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'
import { until } from '../support/until.ts'

const other = new CountingUpstream()
const opening = Promise.withResolvers<void>()
let asked = 0
/** Fails once the test lets it. */
const failing = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  idleTimeout: 0,
  fetch: async () => {
    asked++
    await opening.promise
    return Response.json({ error: { message: 'told to fail', type: 'x' } }, { status: 500 })
  },
})
let gateway: Gateway

beforeAll(async () => {
  gateway = await startGateway({
    config: `
model_list:
  - model_name: failing
    proxy_params: { model: custom_openai/up, api_base: "http://127.0.0.1:${failing.port}/v1", api_key: k }
  - { model_name: other, proxy_params: { model: custom_openai/up, api_base: "${other.url}", api_key: k } }
router_settings: { num_retries: 0 }
litellm_settings: { cache: true }
`,
  })
})
afterAll(async () => {
  opening.resolve()
  await gateway?.stop()
  await Promise.all([other.stop(), failing.stop(true)])
})

test('a call without fallbacks does not get the answer of the fallback of an equal call', async () => {
  const made = await gateway.admin('/team/new', { team_alias: 'sharing' })
  const { team_id } = (await made.json()) as { team_id: string }
  const [wide, narrow] = [await gateway.key({ team_id }), await gateway.key({ team_id, models: ['failing'] })]
  const ask = (key: string, more: object) =>
    fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify({ model: 'failing', messages: [{ role: 'user', content: 'Hi' }], ...more }),
    })
  const first = ask(wide, { fallbacks: ['other'] })
  await until(() => asked === 1, 'the first call is under way')
  const second = ask(narrow, {})
  await until(() => asked === 2, 'the second one is asked itself')
  opening.resolve()
  expect((await first).status).toBe(200)
  expect((await second).status).toBeGreaterThanOrEqual(500)
  expect(other.count).toBe(1)
}, 60_000)
