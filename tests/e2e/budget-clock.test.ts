/** Periods of budgets follow one clock, that of the database: the clock of this replica is an hour behind it. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { SQL } from 'bun'
import { hourMs } from '../../src/lib/clock.ts'
import { readBudgetScopes } from '../../src/core/tenancy/budget-charge.ts'
import { backends, startGateway } from './harness.ts'
import type { Backend, Gateway } from './harness.ts'

const shared = backends().find(({ name }) => name !== 'SQLite')

/** Its server says that it is an hour later. */
const ahead = (backend: Backend): Backend => ({
  name: backend.name,
  async open() {
    const store = await backend.open()
    const sql = new SQL(store.databaseUrl!, { max: 1 })
    await sql.unsafe(`create schema ahead;
      create function ahead.clock_timestamp() returns timestamptz language sql
        as $$ select pg_catalog.clock_timestamp() + interval '1 hour' $$;
      alter database "${new URL(store.databaseUrl!).pathname.slice(1)}" set search_path = ahead, pg_catalog, public`)
    await sql.close()
    return store
  },
})

describe.if(shared !== undefined)('a replica whose clock is an hour behind', () => {
  let gateway: Gateway
  beforeAll(async () => {
    gateway = await startGateway({
      backend: ahead(shared!),
      config: `
model_list:
  - model_name: chat-model
    proxy_params: { model: custom_openai/sim-chat, api_base: "{simulator}/v1", api_key: k, input_cost_per_token: 0.000003, output_cost_per_token: 0.000015 }
router_settings: { num_retries: 0, provider_budget_config: { custom_openai: { budget_limit: 100, time_period: 1h } } }
`,
    })
  })
  afterAll(() => gateway.stop())

  const call = (key: string, fields: object = {}) =>
    fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify({ model: 'chat-model', messages: [{ role: 'user', content: 'hi' }], ...fields }),
    })
  const hourOf = (ms: number) => Math.floor(ms / hourMs) * hourMs

  test('counts in the period that the others are in, and says when it ends by the same clock', async () => {
    const key = await gateway.key({ max_budget: 1, budget_duration: '1h' })
    const before = hourOf(Date.now() + hourMs)
    expect((await call(key, { max_tokens: 16 })).status).toBe(200)
    const [row] = await gateway.rows()
    const { periods } = readBudgetScopes(row!.budget_scopes!)
    // Beside the key's own that of the provider.
    expect(periods).toHaveLength(2)
    for (const { startMs } of periods) expect([before, hourOf(Date.now() + hourMs)]).toContain(startMs)
    const shown = (await (await gateway.admin(`/key/limits?key=${key}`)).json()) as {
      scopes: { budget: { budget_reset_at: string } | null }[]
    }
    const resets = shown.scopes.flatMap(({ budget }) => (budget ? [Date.parse(budget.budget_reset_at)] : []))
    expect(resets).toHaveLength(1)
    expect([before + hourMs, hourOf(Date.now() + hourMs) + hourMs]).toContain(resets[0]!)
  })

  test('a refusal says how long it is to the end of that period', async () => {
    const key = await gateway.key({ max_budget: 0.000001, budget_duration: '1h' })
    const refused = await call(key, { max_tokens: 1000 })
    expect(refused.status).toBe(429)
    expect(Number(refused.headers.get('retry-after'))).toBeWithin(0, 3601)
  })

  test('a reset by hand holds at once, by the same clock', async () => {
    const key = await gateway.key({ max_budget: 0.001 })
    while ((await call(key, { max_tokens: 16 })).status === 200);
    expect((await gateway.admin(`/key/${key}/reset_spend`, { reset_to: 0 })).status).toBe(200)
    expect((await call(key, { max_tokens: 16 })).status).toBe(200)
  })
})
