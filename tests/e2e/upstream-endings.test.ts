/** A finish reason with which the upstream failed is an error that carries its word, and what it reports is billed. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { standardConfig, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'
import { endingLanes } from './upstream-endings.ts'
import type { EndingLane } from './upstream-endings.ts'

let gateway: Gateway
let key: string

const prices = 'input_cost_per_token: 0.000003, output_cost_per_token: 0.000015'
const model = (name: string, target: string, base: string) => `  - model_name: ${name}
    proxy_params: { model: "${target}", api_base: "${base}", api_key: k, ${prices} }
`
const config = standardConfig.replace(
  'router_settings: { num_retries: 0 }',
  model('openai', 'custom_openai/sim', '{simulator}/v1') +
    model('claude', 'anthropic/sim', '{simulator}') +
    model('command', 'cohere/sim', '{simulator}') +
    model('gemini', 'gemini/sim', '{simulator}') +
    model('pair', 'custom_openai/first', '{simulator}/v1') +
    model('pair', 'custom_openai/second', '{simulator}/v1') +
    model('poor', 'anthropic/poor', '{simulator}') +
    model('poor-pair', 'anthropic/poor', '{simulator}') +
    model('poor-pair', 'custom_openai/rich', '{simulator}/v1') +
    'router_settings: { num_retries: 0, allowed_fails: 1000 }',
)

beforeAll(async () => {
  gateway = await startGateway({ config })
  key = await gateway.key()
})
afterAll(() => gateway?.stop())

const post = (path: string, body: object) =>
  fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'x-api-key': key },
    body: JSON.stringify(body),
  })

function ask({ path, model: name, ask: bodyOf }: EndingLane, stream: boolean): Promise<Response> {
  const method = stream ? 'streamGenerateContent?alt=sse' : 'generateContent'
  return post(path.replace('{model}', name).replace('{method}', method), bodyOf(name, stream))
}

const rowOf = async (response: Response) =>
  (await gateway.rows(`&request_id=${response.headers.get('x-request-id')}`))[0]

/** The first answer to `name` at the upstream has this body. */
function answers(name: string, body: string | object, contentType = 'application/json'): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  gateway.simulator.script(request => request.model === name, {
    raw: { status: 200, headers: { 'content-type': contentType }, body: text },
    times: 1,
  })
}

describe.each(endingLanes)('$name', lane => {
  const { upstream } = lane
  for (const word of [upstream.word, 'a_word_of_tomorrow'])
    for (const stream of [false, true])
      test(`${word} is no end but a failure, ${stream ? 'streamed' : 'whole'}, and is billed as reported`, async () => {
        answers(
          'sim',
          stream ? upstream.stream(word) : upstream.whole(word),
          stream ? 'text/event-stream' : 'application/json',
        )
        const response = await ask(lane, stream)
        const text = await response.text()
        expect(text).toContain(word)
        expect(text).toContain('error')
        if (!stream) expect(response.status).toBeGreaterThanOrEqual(500)
        expect(await rowOf(response)).toMatchObject({
          input_tokens: 7,
          output_tokens: 5,
          usage_source: 'upstream',
          cost_nano_usd: '96000',
        })
        expect((await rowOf(response))!.outcome).not.toBe('success')
      })
})

test('before the first byte another deployment answers, and both are billed', async () => {
  const failing = endingLanes[0]!.upstream
  answers('first', failing.whole('network_error'))
  answers('second', failing.whole('network_error'))
  const body = { model: 'pair', num_retries: 2, messages: [{ role: 'user', content: 'say: yes' }] }
  const response = await post('/v1/chat/completions', body)
  expect(response.status).toBe(200)
  const row = (await rowOf(response))!
  expect(row.outcome).toBe('success')
  expect(row.input_tokens).toBeGreaterThanOrEqual(14)
})

describe('an account without credit', () => {
  const words = 'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade.'
  const poor = (): void =>
    gateway.simulator.script(request => request.model === 'poor', {
      raw: {
        status: 400,
        body: JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', message: words } }),
      },
    })
  const body = (name: string) => ({ model: name, max_tokens: 50, messages: [{ role: 'user', content: 'say: yes' }] })

  test('is not the fault of the client', async () => {
    poor()
    const response = await post('/v1/messages', body('poor'))
    expect(response.status).toBe(502)
    expect(await response.text()).toContain("the gateway's account at the upstream cannot pay")
  })

  test('another deployment is tried', async () => {
    poor()
    for (let call = 0; call < 6; call++) {
      const response = await post('/v1/chat/completions', { ...body('poor-pair'), num_retries: 2 })
      expect(response.status).toBe(200)
    }
  })
})
