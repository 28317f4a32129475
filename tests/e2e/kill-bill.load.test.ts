/**
 * kill -9 while an upstream works, again and again: the ledger says at least what the upstream served, and of a call
 * whose end nobody knows what was reserved for it, so that a process that dies again and again uses its budget up.
 * `ROUNDS=n` for more.
 */
import { afterEach, expect, test } from 'bun:test'
import { startGatewayProcess } from '../support/gateway-process.ts'
import type { GatewayProcess } from '../support/gateway-process.ts'
import { until } from '../support/until.ts'
import { inputPrice, outputPrice, startBillingUpstream } from '../support/upstreams/billing-upstream.ts'

const rounds = Number(process.env.ROUNDS ?? 6)
const clients = 12
const maxTokens = 20

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

interface LedgerRow {
  readonly request_id: string
  readonly outcome: string
  readonly cost_nano_usd: string | null
  readonly cost_source: string | null
  readonly budget_nano_usd: string | null
}

async function start() {
  const upstream = startBillingUpstream(() => 20 + Math.random() * 200)
  cleanups.push(() => upstream.stop())
  const gateway = await startGatewayProcess(`
model_list:
  - model_name: priced
    proxy_params: { model: custom_openai/m, api_base: "${upstream.url}", api_key: none, input_cost_per_token: ${inputPrice}, output_cost_per_token: ${outputPrice} }
router_settings: { num_retries: 0 }
`)
  cleanups.push(() => gateway.stop())
  return { upstream, gateway }
}

const bodyOf = (name: string) =>
  JSON.stringify({ model: 'priced', max_tokens: maxTokens, messages: [{ role: 'user', content: name }] })

/** What a call reserves at most: a token for each byte, and its maximum of output. Nano-dollars. */
const reservedOf = (name: string) => Math.ceil((bodyOf(name).length * inputPrice + maxTokens * outputPrice) * 1e9)

/** Calls at once until the process is killed, when the upstream has been asked by so many more. */
async function callUntilKilled(gateway: GatewayProcess, key: string, { name, upstream }: Load): Promise<number[]> {
  const statuses: number[] = []
  let isRunning = true
  const client = async () => {
    while (isRunning)
      try {
        const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${key}` },
          body: bodyOf(name),
        })
        await answer.text()
        statuses.push(answer.status)
        if (answer.status === 429) return
      } catch {
        // Killed in the middle.
      }
  }
  const wanted = upstream.maxima.length + clients * 2
  const all = Promise.all(Array.from({ length: clients }, client))
  const isRefused = () => statuses.includes(429)
  await until(() => upstream.maxima.length >= wanted || isRefused(), 'the upstream is asked')
  await gateway.kill()
  isRunning = false
  await all
  return statuses
}

interface Load {
  readonly name: string
  readonly upstream: Awaited<ReturnType<typeof start>>['upstream']
}

async function rowsOf(gateway: GatewayProcess): Promise<LedgerRow[]> {
  const rows: LedgerRow[] = []
  for (let cursor = ''; ; ) {
    const answer = await gateway.admin(`/spend/logs/v2?page_size=1000${cursor}`)
    const page = (await answer.json()) as { data: LedgerRow[]; next_cursor: string | null }
    rows.push(...page.data)
    if (!page.next_cursor) return rows
    cursor = `&cursor=${encodeURIComponent(page.next_cursor)}`
  }
}

test(`${rounds} rounds of kill -9: never below the upstream's bill, never above what was reserved`, async () => {
  const { upstream, gateway } = await start()
  const load = { name: 'bill', upstream }
  const key = await gateway.key({ max_budget: 1 })
  const bill = () => Math.round((upstream.spent.get('bill') ?? 0) * 1e9)
  let interrupted: LedgerRow[] = []
  for (let round = 0; round < rounds; round++) {
    await callUntilKilled(gateway, key, load)
    await gateway.revive()
    let rows = await rowsOf(gateway)
    // A gateway that has just started is still storing the journals of those that were killed.
    await until(async () => {
      rows = await rowsOf(gateway)
      return rows.length >= upstream.maxima.length
    }, 'the journals are stored')
    interrupted = rows.filter(row => row.outcome === 'interrupted')
    const cost = rows.reduce((sum, row) => sum + Number(row.cost_nano_usd), 0)
    const known = rows.filter(row => row.outcome !== 'interrupted')
    const mostNanoUsd =
      known.reduce((sum, row) => sum + Number(row.cost_nano_usd), 0) + interrupted.length * reservedOf('bill')
    expect(cost).toBeGreaterThanOrEqual(bill())
    expect(cost).toBeLessThanOrEqual(mostNanoUsd)
    for (const row of interrupted) {
      expect(row).toMatchObject({ cost_source: 'reserved', budget_nano_usd: row.cost_nano_usd })
      expect(Number(row.cost_nano_usd)).toBeWithin(1, reservedOf('bill') + 1)
    }
    const shown = (await (await gateway.admin(`/key/limits?key=${key}`)).json()) as {
      scopes: { budget?: { spent: number } | null }[]
    }
    const spent = shown.scopes.map(one => one.budget?.spent).find(one => one !== undefined)
    expect(Math.round(spent! * 1e9)).toBe(cost)
  }
  expect(interrupted.length).toBeGreaterThan(rounds)
  console.log(`kill -9: ${rounds} rounds, ${upstream.maxima.length} requests, ${interrupted.length} without an end`)
}, 240_000)

test('a process that is killed again and again uses its budget up, and no more', async () => {
  const { upstream, gateway } = await start()
  const load = { name: 'loop', upstream }
  const budget = 0.008
  const key = await gateway.key({ max_budget: budget })
  let statuses: number[] = []
  for (let round = 0; round < 20 && !statuses.includes(429); round++) {
    statuses = await callUntilKilled(gateway, key, load)
    await gateway.revive()
  }
  expect(statuses).toContain(429)
  expect(upstream.spent.get('loop')!).toBeLessThanOrEqual(budget)
}, 240_000)
