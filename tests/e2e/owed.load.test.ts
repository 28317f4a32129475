/**
 * Under clients that leave, timeouts and upstreams that fail: what the upstreams saw is not more than what the ledger,
 * the limits and the cost count. The simulator's truth log knows what a vendor would bill.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { TruthEntry } from '../../simulator/server/truth-log.ts'
import type { LedgerRow } from '../../src/core/ledger/ledger-columns.ts'
import type { Policy } from '../../src/core/policy.ts'
import { startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

const calls = 400
const atOnce = 20
/** Events of a stream that was cut or cancelled: sent, and not read any more. */
const lostTokensMax = 12
/** The simulator counts a token for four characters, the estimate by words. */
const estimateError = 0.8

const terms =
  'input_cost_per_token: 0.000001, output_cost_per_token: 0.00001, timeout: 0.6, stream_timeout: 0.6, idle_timeout: 0.6'
const config = `model_list:
${['first', 'second']
  .map(
    name => `  - model_name: ${name}/*
    proxy_params: { model: "custom_openai/*", api_base: "{simulator}/v1", api_key: k, ${terms} }
  - model_name: claude-${name}/*
    proxy_params: { model: "anthropic/*", api_base: "{simulator}", api_key: k, ${terms} }
  - model_name: loose-${name}/*
    proxy_params: { model: "custom_openai/*", api_base: "{simulator}/v1", api_key: k, ${terms} }
    model_info: { structured_output: none }`,
  )
  .join('\n')}
router_settings: { num_retries: 1, allowed_fails: 1000, cooldown_time: 0 }
`
const faults = [
  '',
  '#token-ms=3',
  '#hang',
  '#slow;ms=120',
  '#reset',
  '#refuse',
  '#cut;at=4',
  '#cut-reset;at=5;token-ms=2',
  '#cut-clean;at=4',
  '#hang-mid;at=3',
  '#no-usage',
  '#bad-usage',
  '#truncated-json',
  '#status;code=503',
  '#429',
  '#error-in-stream;at=3',
  '#no-finish',
  '#length-long',
]
const schema = { type: 'object', required: ['a'], properties: { a: { type: 'integer' } } }

/** What each call gave back to the limits. */
const counted = new Map<string, number>()
const counter: Policy = {
  name: 'counter',
  stage: 'body',
  settled: ({ call, countedTokens }) => void counted.set(call.id, countedTokens),
}

let gateway: Gateway
beforeAll(async () => {
  gateway = await startGateway({ config, policies: [counter], seed: 11 })
})
afterAll(() => gateway?.stop())

/** One call, named by the user agent that its row carries, and by the words that the truth log sees. */
async function one(at: number, key: string, random: () => number): Promise<void> {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
  const family = pick(['first', 'claude-first', 'loose-first'])
  const controller = new AbortController()
  if (random() < 0.4) setTimeout(() => controller.abort(), random() * 200)
  const body = {
    model: `${family}/m${pick(faults)}`,
    stream: random() < 0.5,
    messages: [{ role: 'user', content: `call ${at}: ${'cat dog sun '.repeat(30)}\ntokens: ${pick([0, 5, 60])}` }],
    ...(random() < 0.7 && { max_tokens: pick([60, 400]) }),
    ...(random() < 0.3 && { timeout: 0.05 + random() * 0.2 }),
    ...(random() < 0.4 && { fallbacks: [`${family.replace('first', 'second')}/m${pick(faults)}`] }),
    ...(family === 'loose-first' && {
      response_format: { type: 'json_schema', json_schema: { name: 'x', schema, strict: true } },
    }),
  }
  await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    signal: controller.signal,
    headers: { authorization: `Bearer ${key}`, 'user-agent': `call ${at}` },
    body: JSON.stringify(body),
  })
    .then(response => response.text())
    .catch(() => '')
}

const callOf = (entry: TruthEntry): string => /call \d+/.exec(JSON.stringify(entry.body))?.[0] ?? ''

test('the truth log of no call is above its row, its tokens in the limits, or its cost', async () => {
  const key = await gateway.key({ tpm_limit: 100_000_000 })
  let seed = 7
  const random = (): number => (seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648) / 2_147_483_648
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < calls) await one(next++, key, random)
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  const rows = await settledRows()
  const truth = Map.groupBy(gateway.simulator.truth.entries, callOf)
  const sums = { input: 0, output: 0, rowInput: 0, rowOutput: 0, estimated: 0, attempts: 0 }
  for (const row of rows) {
    const seen = truth.get(row.user_agent!) ?? []
    expectCovered(row, seen)
    sums.input += seen.reduce((sum, entry) => sum + entry.billable.inputTokens, 0)
    sums.output += seen.reduce((sum, entry) => sum + entry.billable.outputTokens, 0)
    sums.rowInput += row.input_tokens ?? 0
    sums.rowOutput += row.output_tokens ?? 0
    sums.attempts += seen.length
    if (row.usage_source === 'estimated' || row.usage_source === 'mixed') sums.estimated++
  }
  console.log(`${rows.length} calls, ${sums.attempts} requests: ${JSON.stringify(sums)}`)
  expect(sums.estimated).toBeGreaterThan(calls / 4)
  expect(sums.rowInput).toBeGreaterThanOrEqual(sums.input)
  expect(sums.rowOutput).toBeGreaterThanOrEqual(sums.output)
}, 60_000)

/** The rows of all calls that reached an upstream, once nothing is under way. */
async function settledRows(): Promise<LedgerRow[]> {
  const { truth } = gateway.simulator
  for (let tries = 0; tries < 500; tries++) {
    const rows = await gateway.rows()
    const known = new Set(rows.map(row => row.user_agent))
    const isOver = truth.entries.every(entry => entry.finished !== undefined && known.has(callOf(entry)))
    if (isOver && gateway.server.connections().busy === 0) return rows
    await Bun.sleep(20)
  }
  throw new Error('calls are under way for 10 s')
}

function expectCovered(row: LedgerRow, seen: readonly TruthEntry[]): void {
  const input = seen.reduce((sum, entry) => sum + entry.billable.inputTokens, 0)
  const output = seen.reduce((sum, entry) => sum + entry.billable.outputTokens, 0)
  // Of a stream that is left the system may have taken all, while nothing of it was read yet.
  const isLeft = row.outcome === 'client_closed' || row.error_kind === 'upstream-timeout'
  const lost = seen.reduce((sum, { stream, billable, finished }, at) => {
    // So may an attempt whose time was up, and that was made again.
    const isUnread = isLeft || at < seen.length - 1
    if (!stream || (finished === 'complete' && !isUnread)) return sum
    return sum + (isUnread ? billable.outputTokens : lostTokensMax)
  }, 0)
  const story = `${row.user_agent} ${row.model} ${row.outcome} ${row.error_kind} ${row.usage_source}`
  const found = [row.input_tokens ?? 0, row.output_tokens ?? 0, counted.get(row.request_id) ?? -1]
  const least = row.usage_source === 'upstream' ? input : input * estimateError
  const covers = found[0]! >= least && found[1]! + lost >= output && found[2]! + lost >= least + output
  expect([story, found, [input, output], covers]).toEqual([story, found, [input, output], true])
  if (input > 0) expect([story, Number(row.cost_nano_usd ?? -1) >= least * 1000]).toEqual([story, true])
}
