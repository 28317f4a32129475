/**
 * What batches reserve in budgets: held over restarts and replicas, settled once, given back where nothing was done.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SQL } from 'bun'
import type { LedgerRow } from '../../src/core/ledger/ledger-columns.ts'
import { readBudgetScopes } from '../../src/core/tenancy/budget-charge.ts'
import { startBatchUpstream } from '../support/upstreams/batch-upstream.ts'
import { startGatewayProcess } from '../support/gateway-process.ts'
import type { GatewayProcess } from '../support/gateway-process.ts'
import { backends, masterKey, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'
import { until } from '../support/until.ts'

/** In a batch an output token costs 0.001 dollars and input nothing: a line of 100 costs at most 0.1. */
const config = (upstream: string) =>
  JSON.stringify({
    model_list: [
      ...['one', 'two'].map(name => ({
        model_name: name,
        proxy_params: {
          model: `openai/${name}`,
          api_base: upstream,
          api_key: 'k',
          input_cost_per_token: 0.001,
          output_cost_per_token: 0.002,
          input_cost_per_token_batches: 0,
          output_cost_per_token_batches: 0.001,
        },
      })),
      {
        model_name: 'unlisted',
        proxy_params: {
          model: 'openai/unlisted',
          api_base: upstream,
          api_key: 'k',
          input_cost_per_token: 0.001,
          output_cost_per_token: 0.002,
        },
      },
    ],
    general_settings: { batch_poll_seconds: 1 },
  })
const url = '/v1/chat/completions'
const usage = (tokens: number) => ({ input_tokens: 10, output_tokens: tokens, total_tokens: tokens + 10 })
const answered = (model: string, tokens: number) => ({
  custom_id: `of ${model}`,
  response: {
    status_code: 200,
    body: {
      object: 'chat.completion',
      model,
      usage: { prompt_tokens: 10, completion_tokens: tokens, total_tokens: tokens + 10 },
    },
  },
})

function clientOf(address: string, key: string) {
  const call = async (path: string, body?: FormData | object, method = body ? 'POST' : 'GET') => {
    const answer = await fetch(`${address}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}` },
      ...(body && { body: body instanceof FormData ? body : JSON.stringify(body) }),
    })
    return { status: answer.status, body: (await answer.json()) as Record<string, any> }
  }
  return {
    call,
    async file(models: readonly string[], fields: object = { max_tokens: 100 }) {
      const lines = models.map((model, at) =>
        JSON.stringify({
          custom_id: `${at}`,
          method: 'POST',
          url,
          body: { model, messages: [{ role: 'user', content: 'hi' }], ...fields },
        }),
      )
      const form = new FormData()
      form.set('purpose', 'batch')
      form.set('file', new File([lines.join('\n')], 'lines.jsonl'))
      form.set('model', models[0]!)
      const { status, body } = await call('/v1/files', form)
      if (status !== 200) throw new Error(JSON.stringify(body))
      return body.id as string
    },
    start: (file: string) => call('/v1/batches', { input_file_id: file, endpoint: url, completion_window: '24h' }),
  }
}

for (const backend of backends())
  describe(`on ${backend.name}`, () => {
    const upstream = startBatchUpstream()
    let gateway: Gateway
    let sql: SQL
    beforeAll(async () => {
      const store = await backend.open()
      gateway = await startGateway({
        backend: { name: backend.name, open: async () => store },
        config: config(upstream.url),
      })
      sql = new SQL(store.databaseUrl ?? `sqlite://${join(gateway.dataDirectory, 'modelgate.sqlite')}`)
      if (!store.databaseUrl) await sql`pragma busy_timeout = 10000`
    })
    afterAll(async () => {
      await sql.close()
      await gateway?.stop()
      await upstream.stop()
    })

    const keyWith = async (fields: object) => {
      const key = await gateway.key({ max_budget: 0.25, ...fields })
      const info = await (await gateway.admin(`/key/info?key=${key}`)).json()
      const { token_id: id } = (info as { info: { token_id: string } }).info
      return { key, id, client: clientOf(gateway.url, key) }
    }
    const stored = async (scope: string) => {
      const rows = await sql`select spent_nano_usd from budget_spend where scope = ${scope}`
      return (rows as { spent_nano_usd: unknown }[]).reduce((sum, row) => sum + Number(row.spent_nano_usd), 0) / 1e9
    }
    const rowOf = async (id: string) => {
      const found: LedgerRow[] = []
      await until(async () => {
        found.splice(0, 9, ...(await gateway.rows()).filter(row => row.request_id.replaceAll('-', '') === id.slice(6)))
        return found.length > 0
      }, 'the row of the batch')
      expect(found.length).toBe(1)
      return found[0]!
    }
    /** As the rows of the ledger say. */
    const charged = (row: LedgerRow) =>
      Object.fromEntries(
        readBudgetScopes(row.budget_scopes ?? []).periods.map(one => [
          one.scope,
          Number(one.nanoUsd ?? row.budget_nano_usd) / 1e9,
        ]),
      )

    test('a batch whose bound does not fit is refused before anything is sent, and one that fits holds its bound', async () => {
      const { client, id } = await keyWith({})
      const [small, large] = [await client.file(['one', 'one']), await client.file(['one', 'one', 'one'])]
      const before = upstream.starts
      const refused = await client.start(large)
      expect(refused).toMatchObject({ status: 429, body: { error: { type: 'budget_exceeded' } } })
      expect([upstream.starts, await stored(`key:${id}`)]).toEqual([before, 0])
      const batch = await client.start(small)
      expect([batch.status, await stored(`key:${id}`)]).toEqual([200, 0.2])
      expect((await client.start(small)).status).toBe(429)
      upstream.end({ usage: usage(30) })
      expect((await client.call(`/v1/batches/${batch.body.id}`)).body.status).toBe('completed')
      const row = await rowOf(batch.body.id)
      expect([row.cost_nano_usd, charged(row)]).toEqual(['30000000', { [`key:${id}`]: 0.03 }])
      expect(await stored(`key:${id}`)).toBeCloseTo(0.03, 9)
      expect((await client.start(small)).status).toBe(200)
      expect(await stored(`key:${id}`)).toBeCloseTo(0.23, 9)
    })

    test('what was reserved comes back where a batch fails, expires, is cancelled or is refused by its upstream', async () => {
      const { client, id } = await keyWith({})
      const file = await client.file(['one', 'one'])
      for (const status of ['failed', 'expired', 'cancelled']) {
        const { body } = await client.start(file)
        expect(await stored(`key:${id}`)).toBeCloseTo(0.2, 9)
        upstream.end({ status })
        expect((await client.call(`/v1/batches/${body.id}`)).body.status).toBe(status)
        expect([(await rowOf(body.id)).cost_nano_usd, await stored(`key:${id}`)]).toEqual(['0', 0])
      }
      upstream.taking = 'refuses'
      expect((await client.start(file)).status).toBe(400)
      upstream.taking = 'answers'
      expect([await stored(`key:${id}`), (await client.call('/v1/batches')).body.data.length]).toEqual([0, 3])
      expect((await client.start(file)).status).toBe(200)
    })

    test('an expired batch costs what its answered requests cost, and each model counts in its own budget', async () => {
      const { client, id } = await keyWith({
        max_budget: 10,
        model_max_budget: { one: { budget_limit: 0.15 }, two: { budget_limit: 0.25 } },
      })
      const [of, two] = [(model: string) => `key:${id}:model:${model}`, ['one', 'two', 'two']]
      expect(await client.start(await client.file(['one', 'one']))).toMatchObject({
        status: 429,
        body: { error: { message: expect.stringContaining("the model 'one'") } },
      })
      const { body } = await client.start(await client.file(two))
      expect([await stored(of('one')), await stored(of('two')), await stored(`key:${id}`)]).toEqual([0.1, 0.2, 0.3])
      upstream.end({ status: 'expired' }, [answered('one', 7), answered('two', 20)])
      await client.call(`/v1/batches/${body.id}`)
      expect(charged(await rowOf(body.id))).toEqual({ [`key:${id}`]: 0.027, [of('one')]: 0.007, [of('two')]: 0.02 })
      for (const [scope, nanoUsd] of Object.entries(charged(await rowOf(body.id))))
        expect(await stored(scope)).toBeCloseTo(nanoUsd, 9)
    })

    test('without a known price of batches the configured policy decides, and nothing is made of the usual price', async () => {
      const { client } = await keyWith({})
      expect(await client.start(await client.file(['unlisted']))).toMatchObject({
        status: 400,
        body: { error: { message: expect.stringContaining('the price of batches of the model') } },
      })
    })

    test('a batch whose answer was lost is found at its upstream, and one that was not begun is given up', async () => {
      const { client, id } = await keyWith({})
      const file = await client.file(['one', 'one'])
      upstream.taking = 'cuts'
      expect((await client.start(file)).status).toBe(502)
      upstream.taking = 'answers'
      expect(await stored(`key:${id}`)).toBeCloseTo(0.2, 9)
      upstream.end({ usage: usage(5) })
      await until(async () => (await stored(`key:${id}`)) < 0.1, 'it is settled')
      const [batch] = (await client.call('/v1/batches')).body.data as { id: string; status: string }[]
      expect([batch!.status, charged(await rowOf(batch!.id))]).toEqual(['completed', { [`key:${id}`]: 0.005 }])
      upstream.taking = 'fails'
      expect((await client.start(file)).status).toBe(500)
      upstream.taking = 'answers'
      expect(await stored(`key:${id}`)).toBeCloseTo(0.205, 9)
      await sql`update upstream_files set created_at_ms = created_at_ms - 180000, due_at_ms = 0, lease_owner = null
        where kind = 'batch' and upstream_id = id`
      await until(async () => (await stored(`key:${id}`)) < 0.1, 'it is given up')
      expect((await client.call('/v1/batches')).body.data.length).toBe(1)
      await until(async () => (await client.start(file)).status === 200, 'there is room again')
    })

    /** Gateways in processes of their own over one database, and a connection to it. */
    const processes = async () => {
      const folder = mkdtempSync(join(tmpdir(), 'modelgate-batch-kill-'))
      const store = await backend.open()
      const isPostgres = store.databaseUrl !== undefined
      const databaseUrl = store.databaseUrl ?? `sqlite:${join(folder, 'x.sqlite')}`
      const environment = {
        DATABASE_URL: databaseUrl,
        REDIS_URL: store.redisUrl ?? '',
        MODELGATE_MASTER_KEY: masterKey,
      }
      const start = () => startGatewayProcess(config(upstream.url), environment)
      const first = await start()
      const own = new SQL(databaseUrl.replace('sqlite:', 'sqlite://'), { max: 1 })
      if (!isPostgres) await own`pragma busy_timeout = 10000`
      const close = async (...gateways: GatewayProcess[]) => {
        await own.close()
        await Promise.all(gateways.map(gateway => gateway.stop()))
        await store.close()
        rmSync(folder, { recursive: true, force: true })
      }
      return { start, killed: first, own, isPostgres, close }
    }

    test('after kill -9 between the acceptance and the record, another process holds what is reserved and settles it', async () => {
      const { start, killed, own, close } = await processes()
      const key = await killed.key({ max_budget: 0.25 })
      const client = clientOf(killed.url, key)
      const file = await client.file(['one', 'one'])
      upstream.taking = 'hangs'
      const [count, lost] = [upstream.batches.size, client.start(file).catch(() => undefined)]
      await until(() => upstream.batches.size > count, 'the upstream has begun it')
      await killed.stop()
      await lost
      upstream.taking = 'answers'
      const next = await start()
      try {
        const after = clientOf(next.url, key)
        expect((await after.start(file)).status).toBe(429)
        upstream.end({ usage: usage(40) })
        await own`update upstream_files set due_at_ms = 0 where upstream_id = id`
        const spent = async () => {
          const [row] = (await own`select sum(spent_nano_usd) as sum from budget_spend`) as { sum: unknown }[]
          return Number(row!.sum) / 1e9
        }
        await until(async () => (await spent()) < 0.1, 'it is settled')
        expect(await spent()).toBeCloseTo(0.04, 9)
        // Where the kill came before Redis heard that the batch is stored, its lease of 45 s counts beside what is
        // stored.
        await until(async () => (await after.start(file)).status === 200, 'there is room again', 90_000)
      } finally {
        await close(next)
      }
    }, 120_000)

    test('batches whose replica is killed while it settles them are settled once, by another, also when it comes back', async () => {
      const { start, killed, own, isPostgres, close } = await processes()
      const numberOf = async (text: string) => Number(((await own.unsafe(text)) as { found: unknown }[])[0]!.found)
      const open = () => numberOf(`select count(*) as found from upstream_files where kind = 'batch' and recorded = 0`)
      const waitsOfKilled = async () => {
        const text = await (await killed.admin('/metrics')).text()
        return Number(/^modelgate_ledger_waiting_bytes (\d+)/m.exec(text)?.[1])
      }
      const client = clientOf(killed.url, await killed.key({ max_budget: 1 }))
      const batches: string[] = []
      for (let at = 0; at < 4; at++) batches.push((await client.start(await client.file(['one', 'one']))).body.id)
      // Where rows cannot be stored, the ends of batches stay in the journal of the replica that is killed.
      if (isPostgres) await own.unsafe('begin; lock table ledger in share mode')
      for (const id of [...upstream.batches.keys()].slice(-4)) upstream.end({ usage: usage(40) }, undefined, id)
      if (isPostgres) await until(async () => (await waitsOfKilled()) > 0, 'an end is journalled')
      else await until(async () => (await open()) < 4, 'a batch is settled')
      await killed.kill()
      if (isPostgres) await own.unsafe('rollback')
      const next = await start()
      try {
        await own`update upstream_files set due_at_ms = 0, lease_owner = null where kind = 'batch'`
        await until(async () => (await open()) === 0, 'all are settled')
        await killed.revive()
        await until(async () => (await waitsOfKilled()) === 0, 'what it left is stored')
        for (const gateway of [killed, next]) {
          const { data } = (await (await gateway.admin('/spend/logs/v2?page_size=100')).json()) as { data: LedgerRow[] }
          const ids = data.map(row => `batch_${row.request_id.replaceAll('-', '')}`)
          expect(ids.filter(id => batches.includes(id)).toSorted()).toEqual(batches.toSorted())
        }
        const sums = [
          'select sum(cost_nano_usd) as found from ledger',
          'select sum(spent_nano_usd) as found from budget_spend',
          `select sum(cost_nano_usd) as found from ledger_daily where scope = 'key'`,
        ]
        expect(await Promise.all(sums.map(numberOf))).toEqual([160_000_000, 160_000_000, 160_000_000])
      } finally {
        await close(killed, next)
      }
    })
  })
