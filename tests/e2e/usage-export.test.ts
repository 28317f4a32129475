/**
 * Rows of the ledger at a webhook and at Stripe: every one, once by its identifier, in spite of kill -9 and of
 * receivers.
 */
import { describe, expect, test } from 'bun:test'
import { createHmac } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SQL } from 'bun'
import { startSimulator } from '../../simulator/index.ts'
import { startGatewayProcess } from '../support/gateway-process.ts'
import { backends, masterKey } from './harness.ts'
import { until } from '../support/until.ts'

const secret = 'whsec_c2VjcmV0LW9mLXRoZS10ZXN0'

/** Notes what arrives. Its first answers fail, come late, or are lost behind what was taken. */
function startReceiver() {
  const copies = new Map<string, number>()
  const metered = new Map<string, string>()
  /** Stripe's first answer to each idempotency key. */
  const saved = new Map<string, { status: number; body: string }>()
  let [requests, unsigned, refused, replayed] = [0, 0, 0, 0]
  const meter = (form: URLSearchParams, isLost: boolean) => {
    const id = form.get('identifier')!
    if (metered.has(id)) {
      refused++
      const message = `An event already exists with identifier ${id}.`
      return { status: 400, body: JSON.stringify({ error: { type: 'invalid_request_error', message } }) }
    }
    metered.set(id, `${form.get('payload[stripe_customer_id]')} ${form.get('payload[value]')}`)
    return isLost ? { status: 500, body: 'lost' } : { status: 200, body: '{"object":"billing.meter_event"}' }
  }
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const body = await request.text()
      const turn = requests++
      const isBad = turn < 40
      if (isBad && turn % 4 === 0) return new Response('not now', { status: 503 })
      if (request.url.endsWith('/v1/billing/meter_events')) {
        const key = request.headers.get('idempotency-key')!
        const known = saved.get(key)
        if (known) replayed++
        const { status, body: text } = known ?? meter(new URLSearchParams(body), isBad && turn % 3 === 0)
        // What fails validation is not saved.
        if (status !== 400) saved.set(key, { status, body: text })
        return new Response(text, { status, headers: known && { 'idempotent-replayed': 'true' } })
      }
      const [id, at] = [request.headers.get('webhook-id'), request.headers.get('webhook-timestamp')]
      const signed = createHmac('sha256', Buffer.from(secret.slice(6), 'base64')).update(`${id}.${at}.${body}`)
      if (request.headers.get('webhook-signature') !== `v1,${signed.digest('base64')}`) unsigned++
      for (const row of (JSON.parse(body) as { data: { identifier: string }[] }).data)
        copies.set(row.identifier, (copies.get(row.identifier) ?? 0) + 1)
      if (isBad && turn % 3 === 0) await Bun.sleep(300)
      return isBad && turn % 5 === 0 ? new Response('lost', { status: 500 }) : new Response('ok')
    },
  })
  return {
    copies,
    metered,
    url: `http://127.0.0.1:${server.port}`,
    counts: () => ({ unsigned, refused, replayed }),
    stop: () => server.stop(true),
  }
}

/** An event that Stripe is too late for, and a row that retention deleted first, are noted once and sent no more. */
async function expectGivenUp(
  gateway: { admin(path: string): Promise<Response> },
  database: string,
  id: string,
): Promise<void> {
  const sql = new SQL(database.replace('sqlite:', 'sqlite://'))
  if (database.startsWith('sqlite:')) await sql`pragma busy_timeout = 10000`
  const startedAtMs = Date.now() - 36 * 86_400_000
  await sql`update ledger set started_at_ms = ${startedAtMs} where request_id = ${id}`
  await sql`insert into usage_outbox (destination, request_id, attempts, due_at_ms) values
    ('stripe', ${id}, 7, 0), ('webhook', 'deleted', 0, 0)`
  await until(async () => {
    const text = await (await gateway.admin('/metrics')).text()
    return ['stripe', 'webhook'].every(one => text.includes(`given_up_rows_total{destination="${one}"} 1\n`))
  }, 'both are given up')
  const rows = (await sql`select * from usage_given_up order by destination`) as Record<string, unknown>[]
  expect(rows.map(one => ({ ...one, started_at_ms: Number(one.started_at_ms) }))).toMatchObject([
    {
      destination: 'stripe',
      request_id: id,
      attempts: 7,
      reason: 'Stripe takes no events older than 35 days',
      started_at_ms: startedAtMs,
      customer: expect.stringMatching(/^cus_/) as unknown,
      amount: expect.stringMatching(/^[1-9]\d*$/) as unknown,
    },
    { destination: 'webhook', request_id: 'deleted', customer: null },
  ])
  expect([...(await sql`select * from usage_outbox`)]).toEqual([])
  await sql.close()
}

for (const backend of backends())
  describe(`on ${backend.name}`, () => {
    test('every row arrives, known by its identifier, over kill -9 and a receiver that fails, is late or loses answers', async () => {
      const [receiver, simulator] = [startReceiver(), await startSimulator({ seed: 1 })]
      const folder = mkdtempSync(join(tmpdir(), 'modelgate-export-'))
      const store = await backend.open()
      const database = store.databaseUrl ?? `sqlite:${join(folder, 'x.sqlite')}`
      const config = JSON.stringify({
        model_list: [
          {
            model_name: 'm',
            proxy_params: {
              model: 'custom_openai/sim-chat',
              api_base: `${simulator.url.replace(/\/$/, '')}/v1`,
              api_key: 'k',
            },
          },
        ],
        general_settings: {
          usage_export: {
            webhook_url: `${receiver.url}/usage`,
            stripe: { event_name: 'tokens', customer: 'end_user', value: 'total_tokens', api_base: receiver.url },
          },
        },
      })
      const start = () =>
        startGatewayProcess(config, {
          DATABASE_URL: database,
          REDIS_URL: store.redisUrl ?? '',
          MODELGATE_MASTER_KEY: masterKey,
          USAGE_EXPORT_WEBHOOK_SECRET: secret,
          STRIPE_API_KEY: 'sk_test',
        })
      const idsOf = async (gateway: Awaited<ReturnType<typeof start>>) => {
        const page = (await (await gateway.admin('/spend/logs/v2?page_size=1000')).json()) as {
          data: { request_id: string; end_user: string | null }[]
        }
        return page.data
      }
      let gateway = await start()
      try {
        const key = await gateway.key()
        for (let round = 0; round < 3; round++) {
          await Promise.all(
            Array.from({ length: 40 }, (_, at) =>
              fetch(`${gateway.url}/v1/chat/completions`, {
                method: 'POST',
                headers: { authorization: `Bearer ${key}` },
                body: JSON.stringify({
                  model: 'm',
                  messages: [{ role: 'user', content: 'say: hi' }],
                  ...(at % 2 === 0 && { user: `cus_${at}` }),
                }),
              }).then(answer => answer.text()),
            ),
          )
          // What the killed process has stored is delivered by the next one.
          await idsOf(gateway)
          await gateway.stop()
          gateway = await start()
          const sql = new SQL(database.replace('sqlite:', 'sqlite://'))
          if (database.startsWith('sqlite:')) await sql`pragma busy_timeout = 10000`
          // The leases of the killed process would last for 45 s.
          await sql`update usage_outbox set due_at_ms = 0 where lease_owner is not null`
          await sql.close()
        }
        const rows = await idsOf(gateway)
        expect(rows.length).toBe(120)
        const ids = rows.map(row => row.request_id)
        const customers = rows.filter(row => row.end_user !== null).map(row => row.request_id)
        await until(() => ids.every(id => receiver.copies.has(id)), 'all have arrived')
        await until(() => customers.every(id => receiver.metered.has(id)), 'all are metered')
        await until(async () => {
          const text = await (await gateway.admin('/metrics')).text()
          return /modelgate_usage_export_waiting_rows\{destination="stripe"\} 0\b/.test(text)
        }, 'nothing waits')
        expect(new Set(receiver.copies.keys())).toEqual(new Set(ids))
        expect(new Set(receiver.metered.keys())).toEqual(new Set(customers))
        expect([...receiver.metered.values()].every(one => /^cus_\d+ [1-9]\d*$/.test(one))).toBe(true)
        expect(receiver.counts().unsigned).toBe(0)
        // A saved failure is not taken for the answer to the next attempt.
        expect(receiver.counts().refused).toBeGreaterThan(0)
        expect(receiver.counts().replayed).toBeGreaterThan(0)
        await expectGivenUp(gateway, database, customers[0]!)
        expect(receiver.metered.size).toBe(customers.length)
        expect(receiver.copies.has('deleted')).toBe(false)
      } finally {
        await gateway.stop()
        await simulator.stop()
        await receiver.stop()
        await store.close()
        rmSync(folder, { recursive: true, force: true })
      }
    })
  })
