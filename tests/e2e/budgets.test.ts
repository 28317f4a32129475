/** Budgets through the whole gateway, against an upstream that notes the truth of what it was asked for. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { inputPrice, outputPrice, startBillingUpstream } from '../support/upstreams/billing-upstream.ts'
import { backends, startGateway } from './harness.ts'
import type { Backend, Gateway } from './harness.ts'

const config = (upstream: string, fit: string) => `
model_list:
  - model_name: priced
    proxy_params: { model: custom_openai/m, api_base: "${upstream}", api_key: none, input_cost_per_token: ${inputPrice}, output_cost_per_token: ${outputPrice} }
    model_info: { max_input_tokens: 100000, max_output_tokens: 50000 }
  - model_name: free
    proxy_params: { model: custom_openai/m, api_base: "${upstream}", api_key: none, input_cost_per_token: 0, output_cost_per_token: 0 }
  - model_name: unpriced
    proxy_params: { model: custom_openai/unheard-of, api_base: "${upstream}", api_key: none }
settings: { max_end_user_budget: 0.02 }
general_settings: { budget_fit: ${fit} }
router_settings: { num_retries: 0 }
`

for (const backend of backends())
  describe(`on ${backend.name}`, () => {
    const upstream = startBillingUpstream()
    let gateway: Gateway
    let key: string
    beforeAll(async () => {
      gateway = await startGateway({ backend: backend as Backend, config: config(upstream.url, 'shrink') })
      key = await gateway.key()
    })
    afterAll(async () => {
      await gateway.stop()
      await upstream.stop()
    })
    // Budgets of end users outlive the test in a Redis that it shares with others.
    const run = crypto.randomUUID()
    const call = async (name: string, fields: object = {}, user = `${name}-${run}`) =>
      fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}` },
        body: JSON.stringify({ model: 'priced', user, messages: [{ role: 'user', content: user }], ...fields }),
      })

    test('many calls at once spend at least 95 % of a budget and nothing beyond it, by the truth of the upstream', async () => {
      const answers = await Promise.all(Array.from({ length: 400 }, () => call('crowd', { max_tokens: 16 })))
      const statuses = answers.map(one => one.status)
      expect(new Set(statuses)).toEqual(new Set([200, 429]))
      expect(upstream.spent.get(`crowd-${run}`)!).toBeWithin(0.019, 0.02 + 1e-9)
      const refused = answers.find(one => one.status === 429)!
      expect(await refused.json()).toMatchObject({
        error: {
          type: 'budget_exceeded',
          code: 'budget_exceeded',
          message: expect.stringContaining('Max budget: 0.02'),
        },
      })
      const rows = (await gateway.rows()).filter(row => row.end_user === `crowd-${run}`)
      const charged = rows.reduce((sum, row) => sum + Number(row.budget_nano_usd ?? 0), 0)
      expect(charged / 1e9).toBeCloseTo(upstream.spent.get(`crowd-${run}`)!, 9)
    })

    test('a call without a maximum gets one that fits, so that it can be sent; one that asks for less keeps its own', async () => {
      upstream.maxima.length = 0
      const answer = await call('no-maximum')
      expect(answer.status).toBe(200)
      expect(Number(answer.headers.get('x-proxy-budget-max-tokens'))).toBe(upstream.maxima[0] as number)
      expect(upstream.maxima[0]).toBeWithin(1900, 2000)
      expect((await call('no-maximum', { max_tokens: 50 })).headers.get('x-proxy-budget-max-tokens')).toBeNull()
      expect(upstream.maxima[1]).toBe(50)
    })

    test('`shrink` lowers what a call asks for to what is left', async () => {
      upstream.maxima.length = 0
      const answer = await call('shrunk', { max_tokens: 40_000 })
      expect([answer.status, upstream.maxima[0]]).toEqual([
        200,
        Number(answer.headers.get('x-proxy-budget-max-tokens')),
      ])
      expect(upstream.maxima[0]).toBeWithin(1900, 2000)
    })

    test('a free model is not affected by a spent budget, and one without a price is refused by name', async () => {
      while ((await call('spender', { max_tokens: 16 })).status === 200);
      expect((await call('spender', { model: 'free', max_tokens: 200 })).status).toBe(200)
      const refused = await call('spender', { model: 'unpriced', max_tokens: 200 })
      expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining("the model 'unpriced'")])
    })
  })
