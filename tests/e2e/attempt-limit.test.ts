/** How many requests to upstreams one call may cause, and that each of them counts. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

const entry = (name: string, id: string, more = ''): string => `
  - model_name: ${name}
    proxy_params: { model: custom_openai/${name}, api_base: "{simulator}/v1", api_key: k, input_cost_per_token: 0.000001, output_cost_per_token: 0.00001 }
    model_info: { id: ${id}${more} }`
const others = Array.from({ length: 10 }, (_, at) => `other-${at}`)
/** Twelve deployments: a further attempt does not wait. */
const many = Array.from({ length: 12 }, (_, at) => entry('many', `many-${at}`)).join('')
const config = (more: string): string => `model_list:${many}${others.map(name => entry(name, name)).join('')}
${entry('loose', 'loose', ', structured_output: none')}
  - model_name: claude
    proxy_params: { model: anthropic/claude, api_base: "{simulator}", api_key: k }
${more}`
const router = (more: string): string => `router_settings: { allowed_fails: 1000, cooldown_time: 0${more} }\n`

let gateway: Gateway
beforeAll(async () => {
  gateway = await startGateway({ config: config(router('')) })
})
afterAll(() => gateway?.stop())
afterEach(() => gateway.simulator.reset())

const fails = (at: Gateway): void =>
  at.simulator.script({}, { raw: { status: 503, body: '{"error":{"message":"busy"}}' } })
const asked = (at = gateway): string[] => at.simulator.truth.entries.map(one => (one.body as { model: string }).model)
const messages = [{ role: 'user', content: 'say: no json' }]

async function ask(key: string, body: object, at = gateway, path = '/v1/chat/completions'): Promise<Response> {
  const response = await fetch(`${at.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify(path.endsWith('chat/completions') ? { messages, ...body } : body),
  })
  await response.clone().text()
  return response
}

describe('requests to upstreams for one call', () => {
  test('ten retries are six requests', async () => {
    fails(gateway)
    const response = await ask(await gateway.key(), { model: 'many', num_retries: 10 })
    expect([response.status, asked()]).toEqual([503, Array(6).fill('many')])
    expect(response.headers.get('x-proxy-attempted-retries')).toBe('5')
  })

  test('ten fallbacks are six requests, one a model', async () => {
    fails(gateway)
    const response = await ask(await gateway.key(), { model: 'many', num_retries: 10, fallbacks: others })
    expect([response.status, asked()]).toEqual([503, ['many', ...others.slice(0, 5)]])
    expect(response.headers.get('x-proxy-attempted-fallbacks')).toBe('5')
  })

  test('retries give way to the models that have not been tried', async () => {
    fails(gateway)
    await ask(await gateway.key(), { model: 'many', fallbacks: others.slice(0, 4) })
    expect(asked()).toEqual(['many', 'many', ...others.slice(0, 4)])
    gateway.simulator.truth.clear()
    await ask(await gateway.key(), { model: 'many', fallbacks: others.slice(0, 1) })
    expect(asked().slice(0, 4)).toEqual(['many', 'many', 'many', 'other-0'])
  })

  test('the operator sets the number, a call does not', async () => {
    const few = await startGateway({ config: config(router(', max_attempts: 2, num_retries: 4')) })
    try {
      fails(few)
      await ask(await few.key(), { model: 'many', num_retries: 10, fallbacks: others, max_attempts: 50 }, few)
      expect(asked(few)).toEqual(['many', 'other-0'])
    } finally {
      await few.stop()
    }
  })
})

for (const counts of ['calls', 'requests'])
  describe(`each request to an upstream is one of the caller's, where limits count ${counts}`, () => {
    let limited: Gateway
    beforeAll(async () => {
      limited = await startGateway({
        config: config(`${router('')}general_settings: { rate_limit_counts: ${counts} }\n`),
      })
    })
    afterAll(() => limited?.stop())
    afterEach(() => limited.simulator.reset())

    test('retries and fallbacks', async () => {
      fails(limited)
      const key = await limited.key({ rpm_limit: 4 })
      const response = await ask(key, { model: 'many', num_retries: 2, fallbacks: ['other-0', 'other-1'] }, limited)
      expect([response.status, asked(limited)]).toEqual([503, ['many', 'many', 'many', 'other-0']])
      if (counts === 'calls') expect(response.headers.get('x-ratelimit-remaining-requests')).toBe('0')
      expect((await ask(key, { model: 'many' }, limited)).status).toBe(429)
    })

    test('answers that are asked for again', async () => {
      const key = await limited.key({ rpm_limit: 2 })
      const schema = { type: 'object', required: ['a'], properties: { a: { type: 'integer' } } }
      const format = { type: 'json_schema', json_schema: { name: 'x', schema, strict: true } }
      const response = await ask(key, { model: 'loose', response_format: format }, limited)
      expect([response.status, asked(limited)]).toEqual([500, ['loose', 'loose']])
      expect(await response.text()).toContain('may not be asked for again')
    })

    for (const stream of [false, true])
      test(`the prompts of a list, ${stream ? 'streamed' : 'whole'}`, async () => {
        const key = await limited.key({ rpm_limit: 2 })
        const body = { model: 'claude', prompt: ['say: a', 'say: b', 'say: c'], stream }
        const response = await ask(key, body, limited, '/v1/completions')
        expect([response.status, asked(limited)]).toEqual([stream ? 200 : 429, ['claude', 'claude']])
        expect(await response.text()).toContain('send fewer of them')
        const row = (await limited.rows())[0]!
        const { truth } = limited.simulator
        expect(row).toMatchObject({
          usage_source: 'upstream',
          input_tokens: truth.entries.reduce((sum, one) => sum + one.billable.inputTokens, 0),
          output_tokens: truth.entries.reduce((sum, one) => sum + one.billable.outputTokens, 0),
        })
      })
  })
