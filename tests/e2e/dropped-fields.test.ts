/** Fields that the operator keeps from an upstream: `additional_drop_params`, and LiteLLM's `drop_params` as a list. */
import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

const entry = (name: string, more: string, model = 'custom_openai/sim-chat', base = '{simulator}/v1') =>
  `  - model_name: ${name}\n    litellm_params: { model: ${model}, api_base: "${base}", api_key: canary${more} }\n`
const config = `model_list:
${entry('listed', ', drop_params: [temperature, "tools[*].strict"]')}\
${entry('both', ', drop_params: false, additional_drop_params: [temperature]')}\
${entry('claude', ', additional_drop_params: [temperature]', 'anthropic/sim-claude', '{simulator}')}\
${entry('common', '')}
litellm_settings: { additional_drop_params: [top_p] }
router_settings: { num_retries: 0 }
`

let gateway: Gateway
let key: string
beforeAll(async () => {
  gateway = await startGateway({ config })
  key = await gateway.key()
})
afterAll(() => gateway?.stop())
afterEach(() => gateway.simulator.reset())

async function ask(model: string, fields: object) {
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }], ...fields }),
  })
  const sent = gateway.simulator.truth.entries.at(-1)?.body as Record<string, unknown> | undefined
  return { status: response.status, dropped: response.headers.get('x-proxy-dropped-params'), sent }
}

test('they are taken out on both lanes, and named; others are sent as they are', async () => {
  for (const model of ['listed', 'both', 'claude']) {
    const { status, dropped, sent } = await ask(model, { temperature: 0.3, stop: ['END'] })
    expect([model, status, dropped]).toEqual([model, 200, 'temperature'])
    expect(sent).not.toHaveProperty('temperature')
    expect(JSON.stringify(sent)).toContain('["END"]')
  }
  expect(await ask('listed', { max_tokens: 5 })).toMatchObject({ status: 200, dropped: null })
})

test('those of all models hold for entries that name none', async () => {
  const { dropped, sent } = await ask('common', { temperature: 0.3, top_p: 0.9 })
  expect(dropped).toBe('top_p')
  expect(sent).toMatchObject({ temperature: 0.3 })
  expect(sent).not.toHaveProperty('top_p')
})

test('a client that allows no loss is answered: what the operator drops is none', async () => {
  expect((await ask('both', { temperature: 0.3, drop_params: false })).status).toBe(200)
})

test('a field without which there is no call is refused, and so is the path of a part', async () => {
  for (const name of ['messages', 'tools[0].strict']) {
    const named = entry('m', `, additional_drop_params: ["${name}"]`)
    const wrong = `model_list:\n${named.replace('litellm_params', 'proxy_params')}`
    const starting = startGateway({ config: `${wrong}general_settings: { strict_configuration: true }\n` })
    expect(
      await starting.then(
        one => one.stop(),
        (thrown: Error) => thrown.message,
      ),
    ).toContain('additional_drop_params')
  }
})
