/** Discounts and margins in what calls cost, in their rows, and in the costs that are made again from the rows. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { Database } from 'bun:sqlite'
import { join } from 'node:path'
import { runCommand } from '../../src/cli/cli-fixture.ts'
import { startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

// 3 and 15 dollars a million tokens; 10 % off for team red, then 20 % and a tenth of a cent on top.
const config = `
model_list:
  - model_name: chat-model
    proxy_params: { model: custom_openai/sim-chat, api_base: "{simulator}/v1", api_key: k, input_cost_per_token: 0.000003, output_cost_per_token: 0.000015 }
    model_info: { id: chat-deployment }
settings:
  cost_discount_config: { other_provider: 0.5 }
  cost_margin_config: { global: { percentage: 0.2, fixed_amount: 0.001 } }
  cost_terms: { teams: { red: { discount: 0.1 } } }
`

let gateway: Gateway
beforeAll(async () => {
  gateway = await startGateway({ config })
})
afterAll(() => gateway.stop())

const call = async (fields: object): Promise<Response> =>
  fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${await gateway.key(fields)}` },
    body: JSON.stringify({ model: 'chat-model', messages: [{ role: 'user', content: 'Hi' }] }),
  })

const verify = () =>
  runCommand(['ledger', 'verify', '--prices', '--json', '--config', gateway.configFile], {
    MODELGATE_DATA_DIR: gateway.dataDirectory,
    MODELGATE_DISCOVER: '0',
  })

test('a call costs its list price under the terms, and the row says how', async () => {
  const response = await call({ team_id: 'red', user_id: 'ann' })
  await response.text()
  const [row] = await gateway.rows('&user_id=ann')
  const list = row!.input_tokens! * 3000 + row!.output_tokens! * 15_000
  // One and the same order: margin of the provider, then the team's discount.
  const cost = Math.round(list * 1.2 * 0.9) + 1_000_000
  expect(row).toMatchObject({
    list_cost_nano_usd: String(list),
    cost_nano_usd: String(cost),
    price_terms: '0,200000,1000000;100000,0,0',
  })
  expect(row!.price_list).toMatch(/^20\d\d-\d\d-\d\d/)
  expect(Number(response.headers.get('x-proxy-response-cost'))).toBe(cost / 1e9)
})

test('every cost can be made again from its row, and a row that was changed is found', async () => {
  await (await call({ user_id: 'bob' })).text()
  await gateway.rows()
  const good = await verify()
  expect(good).toMatchObject({ code: 0, error: '' })
  expect(JSON.parse(good.out)).toEqual({ ok: true, rows: 2, terms: 2, usage: 2, skipped: 0, different: [] })
  const database = new Database(join(gateway.dataDirectory, 'modelgate.sqlite'))
  database.run("update ledger set cost_nano_usd = cost_nano_usd + 1 where user_id = 'ann'")
  database.run("update ledger set list_cost_nano_usd = 5 where user_id = 'bob'")
  database.close()
  const found = await verify()
  expect(found.code).toBe(1)
  const { different } = JSON.parse(found.out) as { different: { what: string; expected: string; found: string }[] }
  const ann = different.filter(one => BigInt(one.found) - BigInt(one.expected) === 1n)
  expect(ann.map(one => one.what)).toEqual(['cost'])
  expect(different.map(one => one.what).sort()).toEqual(['cost', 'cost', 'list cost'])
})

test('estimates of tokens, a usage, a body, and a completion are those of calls', async () => {
  const ask = async (path: string, body: object): Promise<Record<string, any>> => {
    const response = await gateway.admin(path, body)
    return { status: response.status, ...((await response.json()) as object) }
  }
  const model = 'chat-model'
  // 1000 * 3 and 100 * 15 dollars a million are 0.0045; 20 % and 0.001 on top.
  const tokens = await ask('/cost/estimate', {
    model,
    input_tokens: 1000,
    output_tokens: 100,
    num_requests_per_day: 10,
  })
  expect(tokens).toMatchObject({
    cost_per_request: 0.0064,
    list_cost_per_request: 0.0045,
    input_cost_per_request: 0.003,
    output_cost_per_request: 0.0015,
    daily_cost: 0.064,
    monthly_cost: null,
  })
  const usage = { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 }
  expect(await ask('/cost/estimate', { model, usage })).toMatchObject({ cost_per_request: 0.0064 })
  expect(await ask('/spend/calculate', { completion_response: { model, usage } })).toMatchObject({ cost: 0.0064 })
  const request = { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 100 }
  const body = await ask('/cost/estimate', { model, request })
  expect(body.output_tokens).toBe(100)
  expect(body.list_cost_per_request).toBeCloseTo((body.input_tokens * 3 + 100 * 15) / 1e6, 12)
  expect((await ask('/cost/estimate', { model: 'none', input_tokens: 1 })).status).toBe(404)
  expect((await ask('/cost/estimate', { model, usage: { prompt_tokens: -1 } })).status).toBe(422)
  expect((await ask('/spend/calculate', { model })).status).toBe(422)
})
