/** Budgets of stored objects: each kind holds for the calls that belong to it, and its soft limit is told once. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { inputPrice, outputPrice, startBillingUpstream } from '../support/upstreams/billing-upstream.ts'
import { backends, masterKey, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'
import { until } from '../support/until.ts'

const budget = 0.01
const priced = `input_cost_per_token: ${inputPrice}, output_cost_per_token: ${outputPrice}`

for (const backend of backends())
  describe(`on ${backend.name}`, () => {
    const upstream = startBillingUpstream()
    const alerts: Record<string, unknown>[] = []
    const webhook = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      async fetch(request) {
        alerts.push((await request.json()) as Record<string, unknown>)
        return new Response('')
      },
    })
    const entry = (name: string) =>
      `{ model_name: ${name}, proxy_params: { model: custom_openai/m, api_base: "${upstream.url}", api_key: none, ${priced} } }`
    let gateway: Gateway
    beforeAll(async () => {
      const general = `general_settings: { unowned_limits: allow, alert_to_webhook_url: { budget_alerts: "http://127.0.0.1:${webhook.port}/" } }`
      const config = `model_list: [${entry('fast')}, ${entry('slow')}]\nrouter_settings: { num_retries: 0 }\n${general}\n`
      gateway = await startGateway({ backend, config })
    })
    afterAll(async () => {
      await gateway.stop()
      await upstream.stop()
      await webhook.stop(true)
    })
    const made = async (path: string, fields: object) => {
      const answer = await gateway.admin(path, fields)
      if (answer.status !== 200) throw new Error(await answer.text())
      return (await answer.json()) as Record<string, unknown>
    }
    const call = async (key: string, scope: string, fields: object = {}) => {
      const messages = [{ role: 'user', content: scope }]
      const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}` },
        body: JSON.stringify({ model: 'fast', max_tokens: 16, messages, ...fields }),
      })
      await answer.arrayBuffer()
      return answer.status
    }
    /** All at once; the budget is spent to 95 % and not beyond, by the truth of the upstream. */
    const spendAll = async (keys: readonly string[], scope: string, fields: object = {}) => {
      const all = Array.from({ length: 200 }, (_, at) => call(keys[at % keys.length]!, scope, fields))
      expect(new Set(await Promise.all(all))).toEqual(new Set([200, 429]))
      expect(upstream.spent.get(scope)!).toBeWithin(budget * 0.95, budget + 1e-9)
    }
    const id = (kind: string) => `${kind}-${crypto.randomUUID()}`

    test('of a key, which tells the operator once of its soft limit and shows what it spent', async () => {
      const { key, token_id } = await made('/key/generate', {
        max_budget: budget,
        soft_budget: 0.004,
        budget_duration: '30d',
      })
      await spendAll([String(key)], id('key'))
      await until(() => alerts.length > 0, 'the operator is told')
      expect(alerts).toEqual([expect.objectContaining({ event_group: 'key', key_id: token_id, soft_budget: 0.004 })])
    })

    test('of a user and of a team, for all of their keys together', async () => {
      for (const [kind, field] of [
        ['user', 'user_id'],
        ['team', 'team_id'],
      ] as const) {
        const name = id(kind)
        await made(`/${kind}/new`, {
          [field]: name,
          max_budget: budget,
          ...(kind === 'user' && { auto_create_key: false }),
        })
        const keys = await Promise.all([1, 2, 3].map(() => gateway.key({ [field]: name })))
        await spendAll(keys, name)
      }
    })

    test('of one model of a key, and other models of it go on', async () => {
      const key = await gateway.key({ model_max_budget: { fast: { budget_limit: budget, time_period: '1d' } } })
      const scope = id('model')
      await spendAll([key], scope)
      expect(await call(key, scope, { model: 'slow' })).toBe(200)
      // Another text for the key begins no other period (litellm#31079).
      const next = await made('/key/regenerate', { key })
      expect([await call(key, scope), await call(String(next.key), scope)]).toEqual([401, 429])
      expect(await call(String(next.key), scope, { model: 'slow' })).toBe(200)
    })

    test('of a customer, whichever key its calls come by', async () => {
      const name = id('customer')
      await made('/customer/new', { user_id: name, max_budget: budget })
      await spendAll([await gateway.key(), await gateway.key()], name, { user: name })
    })

    test('of an organization, for keys of its teams and its own keys together', async () => {
      const name = id('organization')
      await made('/organization/new', { organization_id: name, organization_alias: name, max_budget: budget })
      const teams = [id('team'), id('team')]
      for (const team_id of teams) await made('/team/new', { team_id, organization_id: name })
      const keys = await Promise.all(
        [...teams.map(team_id => ({ team_id })), { organization_id: name }].map(gateway.key),
      )
      await spendAll(keys, name)
    })

    test('of a member of a team, whose other members go on', async () => {
      const [team_id, member, other] = [id('team'), id('member'), id('other')]
      await made('/team/new', { team_id })
      await made('/team/member_add', {
        team_id,
        member: [{ role: 'user', user_id: member }],
        max_budget_in_team: budget,
      })
      await made('/team/member_add', { team_id, member: [{ role: 'user', user_id: other }] })
      const keys = await Promise.all([1, 2].map(() => gateway.key({ team_id, user_id: member })))
      await spendAll(keys, member)
      expect(await call(await gateway.key({ team_id, user_id: other }), other)).toBe(200)
      expect(await call(await gateway.key({ user_id: member }), other)).toBe(200)
    })

    test('of a tag, whether its calls or their keys name it', async () => {
      const name = id('tag')
      await made('/tag/new', { name, max_budget: budget })
      const [plain, tagged] = [await gateway.key(), await gateway.key({ tags: [name] })]
      const named = Array.from({ length: 100 }, () => call(plain, name, { metadata: { tags: [name] } }))
      const owned = Array.from({ length: 100 }, () => call(tagged, name))
      expect(new Set(await Promise.all([...named, ...owned]))).toEqual(new Set([200, 429]))
      expect(upstream.spent.get(name)!).toBeWithin(budget * 0.95, budget + 1e-9)
      expect(await call(plain, name)).toBe(200)
    })

    test('a raise lets calls through at once, and a lower maximum refuses at once', async () => {
      const scope = id('raised')
      const key = await gateway.key({ max_budget: budget })
      await spendAll([key], scope)
      await made('/key/update', { key, max_budget: budget * 2 })
      expect(await call(key, scope)).toBe(200)
      await made('/key/update', { key, max_budget: budget })
      expect(await call(key, scope)).toBe(429)
    })

    test('of the whole gateway, for all virtual keys together; the master key goes on', async () => {
      const config = `model_list: [${entry('fast')}]\nsettings: { max_budget: ${budget} }\n`
      const whole = await startGateway({ backend, config })
      const scope = id('gateway')
      const ask = async (key: string) => {
        const body = JSON.stringify({ model: 'fast', max_tokens: 16, messages: [{ role: 'user', content: scope }] })
        const headers = { authorization: `Bearer ${key}` }
        const answer = await fetch(`${whole.url}/v1/chat/completions`, { method: 'POST', headers, body })
        await answer.arrayBuffer()
        return answer.status
      }
      try {
        const keys = await Promise.all([1, 2, 3].map(() => whole.key()))
        const statuses = await Promise.all(Array.from({ length: 200 }, (_, at) => ask(keys[at % keys.length]!)))
        expect(new Set(statuses)).toEqual(new Set([200, 429]))
        expect(upstream.spent.get(scope)!).toBeWithin(budget * 0.95, budget + 1e-9)
        expect(await ask(masterKey)).toBe(200)
      } finally {
        await whole.stop()
      }
    })
  })
