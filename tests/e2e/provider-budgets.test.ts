/** `provider_budget_config`: a provider whose budget is spent is passed over, and refused where there is no other. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { inputPrice, outputPrice, startBillingUpstream } from '../support/upstreams/billing-upstream.ts'
import { startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

const limited = startBillingUpstream()
const other = startBillingUpstream()
const priced = `input_cost_per_token: ${inputPrice}, output_cost_per_token: ${outputPrice}, api_key: none`
const config = `
model_list:
  - { model_name: both, proxy_params: { model: custom_openai/m, api_base: "${limited.url}", ${priced} } }
  - { model_name: both, proxy_params: { model: openai/m, api_base: "${other.url}", ${priced} } }
  - { model_name: one, proxy_params: { model: custom_openai/m, api_base: "${limited.url}", ${priced} } }
router_settings: { num_retries: 0, provider_budget_config: { custom_openai: { budget_limit: 0.005, time_period: 1d } } }
`
let gateway: Gateway
let key: string
beforeAll(async () => {
  gateway = await startGateway({ config })
  key = await gateway.key()
})
afterAll(async () => {
  await gateway.stop()
  await limited.stop()
  await other.stop()
})
const call = async (model: string) => {
  const messages = [{ role: 'user', content: 'all' }]
  const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model, max_tokens: 16, messages }),
  })
  return { status: answer.status, text: await answer.text() }
}

test('calls go to another provider when the budget of one is spent, and nothing is spent beyond it', async () => {
  const statuses = new Set<number>()
  for (let wave = 0; wave < 20; wave++) {
    const answers = await Promise.all(Array.from({ length: 20 }, () => call('both')))
    for (const { status } of answers) statuses.add(status)
  }
  expect(statuses).toEqual(new Set([200]))
  expect(limited.spent.get('all')!).toBeWithin(0.0045, 0.005 + 1e-9)
  expect(other.spent.get('all')!).toBeGreaterThan(0.005)
})

test('where there is no other the call is refused with the budget of the provider', async () => {
  // The last calls of before may have left room for another: each reserves more than it costs.
  let { status, text } = await call('one')
  for (let calls = 0; status === 200 && calls < 100; calls++) ({ status, text } = await call('one'))
  expect([status, text]).toEqual([429, expect.stringContaining("provider 'custom_openai'")])
  const rows = await gateway.rows()
  const charged = rows.filter(row => row.budget_scopes?.some(scope => scope.endsWith(' provider:custom_openai')))
  const sum = charged.reduce((total, row) => total + Number(row.budget_nano_usd), 0)
  expect(sum / 1e9).toBeCloseTo(limited.spent.get('all')!, 9)
})
