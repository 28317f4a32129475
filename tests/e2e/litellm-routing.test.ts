/** What LiteLLM's files say of routing, through the whole gateway. */
import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { masterKey, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

const entry = (name: string, id: string, params = '') =>
  `  - model_name: ${name}\n    litellm_params: { model: custom_openai/${id}, api_base: "{simulator}/v1", api_key: canary${params} }\n    model_info: { id: ${id} }\n`
const config = `model_list:
${entry('rates', 'one-a-minute', ', rpm: 1')}\
${entry('rates', 'two-a-minute', ', rpm: 2, order: 1')}\
${entry('tokens', 'few-tokens', ', tpm: 40')}\
${entry('with-spare', 'limited', ', rpm: 1')}\
${entry('spare', 'spare')}
router_settings:
  num_retries: 1
  enable_pre_call_checks: true
  fallbacks: [{ with-spare: [spare] }]
`

let gateway: Gateway
beforeAll(async () => void (gateway = await startGateway({ config })))
afterAll(() => gateway?.stop())
afterEach(() => gateway.simulator.reset())

async function ask(model: string, more: object = {}) {
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${masterKey}` },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'say: hi' }], ...more }),
  })
  const body = await response.text()
  return { status: response.status, id: response.headers.get('x-proxy-model-id'), headers: response.headers, body }
}

const places = async (model: string, calls: number) => {
  const answers = []
  for (let at = 0; at < calls; at++) answers.push(await ask(model, { stream: at % 2 === 1 }))
  return answers.map(one => one.id ?? one.status)
}

test('a deployment at its rpm is not chosen; when none is left the answer is 429 with the time to wait', async () => {
  expect(await places('rates', 3)).toEqual(['one-a-minute', 'two-a-minute', 'two-a-minute'])
  const { status, headers, body } = await ask('rates')
  expect(status).toBe(429)
  expect(Number(headers.get('retry-after'))).toBeWithin(50, 62)
  expect(JSON.parse(body).error).toMatchObject({
    type: 'rate_limit_error',
    message: "every deployment of 'rates' is at its limit of requests or tokens a minute; try again later",
  })
  // Its own id is no way around.
  expect((await ask('one-a-minute')).status).toBe(429)
})

test('a deployment at its tpm is passed over by what its answers have used', async () => {
  const long = { messages: [{ role: 'user', content: `say: ${'word '.repeat(60)}` }] }
  expect((await ask('tokens', long)).id).toBe('few-tokens')
  expect((await ask('tokens')).status).toBe(429)
})

test('calls at a limit go to the fallbacks of their model, and an attempt that was not made counts nowhere', async () => {
  expect(await places('with-spare', 3)).toEqual(['limited', 'spare', 'spare'])
  const { headers } = await ask('with-spare')
  expect(headers.get('x-proxy-attempted-retries')).toBe('0')
})
