/** The rest of the public API: models, keys, revocation, spend, probes, bad input, reload. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { backends, masterKey, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'
import { until } from '../support/until.ts'

for (const backend of backends())
  describe(`API on ${backend.name}`, () => {
    let gateway: Gateway

    beforeAll(async () => {
      gateway = await startGateway({ backend })
    })
    afterAll(() => gateway?.stop())

    const get = (path: string, key: string, headers: Record<string, string> = {}) =>
      fetch(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${key}`, ...headers } })
    const chat = (key: string, body: object = {}, path = '/v1/chat/completions') =>
      fetch(`${gateway.url}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}` },
        body: JSON.stringify({ model: 'chat-model', messages: [{ role: 'user', content: 'say: hi' }], ...body }),
      })
    const json = async (response: Response) =>
      (await response.json()) as Record<string, never> & { [key: string]: unknown }

    test('the four path forms; the deployment of the path wins over the body', async () => {
      const key = await gateway.key()
      for (const path of [
        '/chat/completions',
        '/v1/chat/completions/',
        '/compat/deployments/claude-model/chat/completions',
        '/openai/deployments/claude-model/chat/completions?api-version=1',
        '/engines/claude-model/chat/completions',
      ]) {
        const response = await chat(key, {}, path)
        expect(response.status).toBe(200)
        expect(response.headers.get('x-proxy-model-id')).toBe(
          path.includes('claude') ? 'claude-deployment' : 'chat-deployment',
        )
      }
      const completion = await fetch(`${gateway.url}/completions?model=chat-model`, {
        method: 'POST',
        headers: { 'x-api-key': key },
        body: JSON.stringify({ model: 'other', prompt: 'say: x' }),
      })
      expect(completion.status).toBe(200)
    })

    test('a key sees and uses only its models', async () => {
      const key = await gateway.key({ models: ['chat-model', 'fault/*'] })
      const list = (await json(await get('/models', key))) as unknown as { data: { id: string; type: string }[] }
      expect(list.data.map(one => one.id)).toEqual(['chat-model'])
      const wild = (await json(await get('/v1/models?return_wildcard_routes=true', key))) as unknown as {
        data: { id: string }[]
      }
      expect(wild.data.map(one => one.id)).toEqual(['chat-model', 'fault/*'])
      expect((await get('/v1/models/claude-model', key)).status).toBe(404)
      expect((await get('/v1/models/chat-model', key)).status).toBe(200)
      expect((await get('/v1/models?scope=all', key)).status).toBe(400)
      expect((await get('/v1/models?fallback_type=x', key)).status).toBe(400)
      const refused = await chat(key, { model: 'claude-model' })
      expect([refused.status, ((await refused.json()) as { error: { name: string } }).error.name]).toEqual([
        403,
        'PermissionDeniedError',
      ])
      expect((await chat(key, { model: 'nope' })).status).toBe(404)
      const codex = (await json(await get('/v1/models?client_version=0.1', key))) as unknown as {
        models: { slug: string }[]
      }
      expect(codex.models[0]?.slug).toBe('chat-model')
    })

    test('model info withholds keys from all and addresses from keys', async () => {
      const key = await gateway.key()
      const text = await (await get('/model/info?proxy_model_id=chat-deployment', key)).text()
      expect(text).not.toContain('canary')
      expect(text).not.toContain('127.0.0.1')
      const admin = (await (await gateway.admin('/v1/model/info')).json()) as {
        data: { proxy_params: { api_base?: string } }[]
      }
      expect(JSON.stringify(admin)).not.toContain('canary')
      expect(admin.data[0]?.proxy_params.api_base).toContain('127.0.0.1')
    })

    test('a key works from its creation to its deletion, and is refused at once after blocking, changes and deletion', async () => {
      const key = await gateway.key({ key_alias: 'mine', duration: '1h', metadata: { cost_centre: 7 }, rpm_limit: 5 })
      expect(key).toMatch(/^sk-[A-Za-z0-9_-]{43}$/)
      const own = (await (await get('/key/info', key)).json()) as { info: Record<string, unknown> }
      expect(own.info).toMatchObject({ key_alias: 'mine', rpm_limit: 5, metadata: { cost_centre: 7 } })
      expect(JSON.stringify(own)).not.toContain(key)
      expect((await chat(key)).status).toBe(200)
      await gateway.admin('/key/block', { key })
      expect((await chat(key)).status).toBe(401)
      await gateway.admin('/key/unblock', { key })
      expect((await chat(key)).status).toBe(200)
      await gateway.admin('/key/update', { key, models: ['claude-model'] })
      expect((await chat(key)).status).toBe(403)
      expect((await gateway.admin('/key/delete', { keys: [key] })).status).toBe(200)
      expect((await chat(key)).status).toBe(401)
      expect((await gateway.admin('/key/delete', { keys: [key] })).status).toBe(404)
    })

    test('a key expires, whatever the period of its budget is', async () => {
      const key = await gateway.key({ max_budget: 1000, budget_duration: '30d' })
      expect((await gateway.admin('/key/update', { key, duration: '1h' })).status).toBe(200)
      expect((await chat(key)).status).toBe(200)
      const fromMs = performance.now()
      expect((await gateway.admin('/key/update', { key, duration: '1s' })).status).toBe(200)
      await until(async () => (await chat(key)).status === 401, 'it has expired')
      expect(performance.now() - fromMs).toBeGreaterThan(950)
    })

    test('administration needs the master key, and unknown fields are named', async () => {
      const key = await gateway.key()
      expect((await get('/key/list', key)).status).toBe(403)
      expect((await get('/key/list', 'sk-stranger')).status).toBe(401)
      const refused = await gateway.admin('/key/generate', { max_budgett: 1, rpm_limit: -1 })
      expect(refused.status).toBe(422)
      const body = (await refused.json()) as { detail: { loc: string[] }[] }
      expect(body.detail.map(one => one.loc.at(-1)).sort()).toEqual(['max_budgett', 'rpm_limit'])
    })

    test('requests a minute, tokens and parallel calls are limited, streams included', async () => {
      const key = await gateway.key({ rpm_limit: 3 })
      const statuses = (await Promise.all(Array.from({ length: 8 }, () => chat(key, { stream: true })))).map(
        one => one.status,
      )
      expect(statuses.filter(status => status === 200).length).toBe(3)
      expect(statuses.filter(status => status === 429).length).toBe(5)
      const slow = await gateway.key({ max_parallel_requests: 1 })
      const calls = gateway.simulator.truth.entries.length
      const first = chat(slow, { model: 'fault/sim#slow;ms=1000' })
      await until(() => gateway.simulator.truth.entries.length > calls, 'the first is at the upstream')
      expect((await chat(slow)).status).toBe(429)
      expect((await first).status).toBe(200)
      await until(async () => (await chat(slow)).status === 200, 'its place is free')
    })

    test('the ledger has one row a call, with exact cost, and pages', async () => {
      const key = await gateway.key({ user_id: 'ledger-user' })
      const ids: string[] = []
      for (let at = 0; at < 5; at++) ids.push((await chat(key)).headers.get('x-request-id')!)
      const bad = await chat(key, { temperature: 'hot' })
      ids.push(bad.headers.get('x-request-id')!)
      const page = (await (await get('/spend/logs/v2?page_size=4', key)).json()) as {
        data: Record<string, unknown>[]
        next_cursor: string
      }
      const rest = (await (await get(`/spend/logs/v2?page_size=4&cursor=${page.next_cursor}`, key)).json()) as {
        data: Record<string, unknown>[]
        next_cursor: null
      }
      const rows = [...page.data, ...rest.data]
      expect(rows.map(row => row.request_id).sort()).toEqual(ids.sort())
      expect(rest.next_cursor).toBeNull()
      const good = rows.find(row => row.outcome === 'success')!
      const cost = BigInt(good.input_tokens as number) * 3000n + BigInt(good.output_tokens as number) * 15000n
      expect(good.cost_nano_usd).toBe(cost.toString())
      expect(rows.find(row => row.http_status === 422)).toMatchObject({
        outcome: 'error',
        attempts: 0,
        cost_nano_usd: '0',
      })
      expect((await get('/spend/logs/v2?key_id=someone', key)).status).toBe(403)
      expect((await get('/spend/logs/v2?cursor=zzz', key)).status).toBe(400)
    })

    const bad: [string, string, number, string][] = [
      ['nothing', '', 400, 'empty'],
      ['no JSON', '{', 400, 'JSON'],
      ['a list', '[]', 400, 'object'],
      ['two models', '{"model":"a","model":"b"}', 400, 'twice'],
      ['no messages', '{"model":"chat-model"}', 422, 'messages'],
      [
        'a hot temperature',
        '{"model":"chat-model","messages":[{"role":"user","content":"x"}],"temperature":"hot"}',
        422,
        'temperature',
      ],
      ['a deep bomb', `{"model":"chat-model","messages":${'['.repeat(1_000_000)}`, 400, 'nested'],
      ['a wide bomb', `{"model":"chat-model","messages":[${'{},'.repeat(2_000_000)}{}]}`, 400, 'elements'],
    ]
    for (const [name, body, status, word] of bad)
      test(`bad input (${name}) is ${status} and reaches no upstream`, async () => {
        const before = gateway.simulator.truth.entries.length
        const response = await fetch(`${gateway.url}/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${masterKey}` },
          body,
        })
        const text = await response.text()
        expect(response.status).toBe(status)
        expect(text).toContain(word)
        expect(gateway.simulator.truth.entries.length).toBe(before)
      })

    test('a body never chooses host or key', async () => {
      const response = await fetch(`${gateway.url}/v1/embeddings`, {
        method: 'POST',
        headers: { authorization: `Bearer ${masterKey}` },
        body: JSON.stringify({
          model: 'embedding-model',
          input: ['x'],
          api_base: 'http://127.0.0.1:9/',
          api_key: 'theirs',
          timeout: 1,
        }),
      })
      expect(response.status).toBe(200)
      const sent = gateway.simulator.truth.entries.at(-1)!.body as Record<string, unknown>
      expect(Object.keys(sent).sort()).toEqual(['input', 'model'])
    })

    test('probes, CORS, unknown paths, other methods', async () => {
      for (const path of ['/', '/api/hello', '/health/liveliness'])
        expect((await fetch(`${gateway.url}${path}`, { method: 'HEAD' })).status).toBe(200)
      expect((await fetch(`${gateway.url}/v1/models`, { method: 'HEAD' })).status).toBe(401)
      const preflight = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'OPTIONS',
        headers: { origin: 'https://a.example', 'access-control-request-headers': 'x-any, authorization' },
      })
      expect(preflight.headers.get('access-control-allow-headers')).toBe('x-any, authorization')
      expect(
        (await get('/v1/models', masterKey, { origin: 'https://a.example' })).headers.get(
          'access-control-allow-origin',
        ),
      ).toBe('*')
      expect(
        ((await (await get('/v1/v1/models', masterKey)).json()) as { error: { message: string } }).error.message,
      ).toContain('twice')
      expect((await fetch(`${gateway.url}/v1/chat/completions`)).status).toBe(405)
      const two = await fetch(`${gateway.url}/v1/models`, {
        headers: { authorization: `Bearer ${masterKey}`, 'x-api-key': 'sk-other' },
      })
      expect([two.status, ((await two.json()) as { error: { message: string } }).error.message]).toEqual([
        401,
        expect.stringContaining('x-api-key'),
      ])
      for (const header of ['x-api-key', 'api-key', 'x-goog-api-key'])
        expect((await fetch(`${gateway.url}/v1/models`, { headers: { [header]: masterKey } })).status).toBe(200)
    })

    test('health, metrics and the API document', async () => {
      expect(await (await fetch(`${gateway.url}/health/liveliness`)).json()).toBe("I'm alive!")
      expect((await fetch(`${gateway.url}/health/readiness`)).status).toBe(200)
      expect(await (await fetch(`${gateway.url}/metrics`)).text()).toContain(
        'modelgate_calls_total{route="/v1/chat/completions"',
      )
      const document = (await (await fetch(`${gateway.url}/openapi.json`)).json()) as { paths: Record<string, unknown> }
      expect(Object.keys(document.paths)).toEqual(
        expect.arrayContaining(['/v1/chat/completions', '/engines/{model}/embeddings', '/key/generate']),
      )
      const page = await fetch(`${gateway.url}/docs`)
      expect(await page.text()).not.toContain('http')
      expect((await fetch(`${gateway.url}/docs/swagger-ui-bundle.js`)).status).toBe(200)
      expect((await fetch(`${gateway.url}/docs/..%2fpackage.json`)).status).toBe(404)
    })

    test('a valid new configuration is applied, an invalid one changes nothing', async () => {
      const text = readFileSync(gateway.configFile, 'utf8')
      writeFileSync(gateway.configFile, text.replace('model_name: chat-model', 'model_name: renamed-model'))
      await until(async () => (await chat(masterKey, { model: 'renamed-model' })).status === 200, 'it is applied')
      writeFileSync(gateway.configFile, 'model_list: [')
      expect(await gateway.server.reload()).toMatchObject({ applied: false })
      expect((await chat(masterKey, { model: 'renamed-model' })).status).toBe(200)
      writeFileSync(gateway.configFile, text)
      expect(await gateway.server.reload()).toMatchObject({ applied: true })
      expect((await chat(masterKey)).status).toBe(200)
    })
  })

test('no minted key is anywhere in the data directory', async () => {
  const gateway = await startGateway()
  const minted = await gateway.key()
  await gateway.rows()
  const files = [...new Bun.Glob('**/*').scanSync({ cwd: gateway.dataDirectory, dot: true })]
  expect(files.length).toBeGreaterThan(1)
  for (const file of files) expect(readFileSync(join(gateway.dataDirectory, file)).includes(minted)).toBe(false)
  await gateway.stop()
})
