/** Must show of issue 1: 1,000 clients leave at random points. */
import { expect, test } from 'bun:test'
import type { Policy } from '../../src/core/policy.ts'
import { startGateway } from './harness.ts'

const clients = 1000
const atOnce = 50

test('1,000 aborts at random points: no open upstream, one row each, the truth log agrees', async () => {
  const leavers = new Map<string, () => void>()
  // Clients leave after their request was read, however busy the machine is: before it they are no calls.
  const starter: Policy = { name: 'starter', stage: 'body', admit: call => leavers.get(call.userAgent)!() }
  const gateway = await startGateway({ policies: [starter], seed: 5 })
  try {
    const key = await gateway.key()
    let seed = 42
    const random = () => (seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648
    const seen = new Map<string, number>()
    const one = async (at: number) => {
      const controller = new AbortController()
      const model = ['fault/sim#token-ms=4', 'claude-fault/sim#token-ms=4', 'fault/sim#slow;ms=60', 'fault/sim#hang'][
        at % 4
      ]!
      const staysMs = random() * 150
      leavers.set(`client ${at}`, () => void setTimeout(() => controller.abort(), staysMs))
      try {
        const response = await fetch(`${gateway.url}/v1/chat/completions`, {
          method: 'POST',
          signal: controller.signal,
          headers: { authorization: `Bearer ${key}`, 'user-agent': `client ${at}` },
          body: JSON.stringify({
            model,
            stream: at % 4 !== 2,
            messages: [{ role: 'user', content: `tokens: 200 (${at})` }],
          }),
        })
        let bytes = 0
        for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
          bytes += piece.length
          seen.set(response.headers.get('x-request-id')!, bytes)
        }
      } catch {
        // It left; that is the point.
      }
    }
    let next = 0
    const worker = async () => {
      while (next < clients) await one(next++)
    }
    await Promise.all(Array.from({ length: atOnce }, worker))
    while (gateway.server.connections().busy > 0) await Bun.sleep(20)
    await Bun.sleep(1000)
    const truth = gateway.simulator.truth.entries
    expect(truth.filter(entry => entry.finished === undefined)).toEqual([])
    const rows = await gateway.rows()
    expect(rows.length).toBe(clients)
    expect(new Set(rows.map(row => row.user_agent)).size).toBe(clients)
    for (const id of seen.keys()) expect(rows.some(row => row.request_id === id)).toBe(true)
    // Some left before the gateway had asked anyone, a few while their request was on its way to the upstream.
    const attempted = rows.filter(row => row.attempts > 0).length
    expect(attempted).toBeGreaterThanOrEqual(truth.length)
    expect(attempted - truth.length).toBeLessThanOrEqual(clients * 0.2)
    // What is no stream is computed to its end, and owed as asked for: other tests look at that.
    const billed = rows.reduce((sum, row) => sum + (row.stream ? (row.output_tokens ?? 0) : 0), 0)
    const produced = truth.reduce((sum, entry) => sum + (entry.stream ? entry.tokensSent : 0), 0)
    console.log(
      `1,000 aborts: ${rows.length} rows, ${truth.length} upstream requests, tokens sent ${produced}, in the ledger ${billed}`,
    )
    // What was on the wire when its stream was cut was sent and never read: nothing on an idle machine (0.2 % in all),
    // up to a few events a call where others want the processor too. Never may the ledger hold what was not sent.
    expect(produced - billed).toBeLessThanOrEqual(attempted * 4)
    expect(billed - produced).toBeLessThanOrEqual(produced * 0.02)
  } finally {
    await gateway.stop()
  }
}, 120_000)
