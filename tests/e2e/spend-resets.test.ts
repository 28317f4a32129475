/** What operators do to keys that run: another text with a time of grace, and what was spent set anew. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { inputPrice, outputPrice, startBillingUpstream } from '../support/upstreams/billing-upstream.ts'
import { backends, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'
import { until } from '../support/until.ts'

type Json = Record<string, unknown>
const budget = 0.01

for (const backend of backends())
  describe(`on ${backend.name}`, () => {
    const upstream = startBillingUpstream()
    const priced = `input_cost_per_token: ${inputPrice}, output_cost_per_token: ${outputPrice}`
    let gateway: Gateway
    beforeAll(async () => {
      const model = `{ model: custom_openai/m, api_base: "${upstream.url}", api_key: none, ${priced} }`
      const config = `model_list: [{ model_name: fast, proxy_params: ${model} }]\nrouter_settings: { num_retries: 0 }\n`
      gateway = await startGateway({ backend, config })
    })
    afterAll(async () => {
      await gateway.stop()
      await upstream.stop()
    })

    const ask = async (path: string, body?: object, key?: string) => {
      const answer = key
        ? await fetch(`${gateway.url}${path}`, {
            method: 'POST',
            headers: { authorization: `Bearer ${key}` },
            body: JSON.stringify(body),
          })
        : await gateway.admin(path, body)
      return { status: answer.status, body: (await answer.json()) as Json }
    }
    const made = async (path: string, body: object): Promise<Json> => {
      const answer = await ask(path, body)
      expect([path, answer.status, answer.body]).toEqual([path, 200, answer.body])
      return answer.body
    }
    const call = async (key: unknown, scope = 'any') => {
      const messages = [{ role: 'user', content: scope }]
      return (await ask('/v1/chat/completions', { model: 'fast', max_tokens: 16, messages }, String(key))).status
    }
    const spendAll = async (key: unknown, scope: string) => {
      const statuses = await Promise.all(Array.from({ length: 200 }, () => call(key, scope)))
      expect(new Set(statuses)).toEqual(new Set([200, 429]))
    }
    const spent = (scope: string) => upstream.spent.get(scope) ?? 0

    test('with a period of grace both texts of a key work, and what was derived from it', async () => {
      const before = await made('/key/generate', {})
      const derived = await ask('/key/derive', {}, before.key as string)
      const after = await made('/key/regenerate', { key: before.key, grace_period: '1h' })
      expect(after.token_id).toBe(before.token_id)
      expect([await call(before.key), await call(derived.body.key), await call(after.key)]).toEqual([200, 200, 200])
    })

    test('the text before ends with the period of grace, and what was derived from it', async () => {
      const before = await made('/key/generate', {})
      const derived = await ask('/key/derive', {}, before.key as string)
      const after = await made('/key/regenerate', { key: before.key, grace_period: '1s' })
      for (const key of [before.key, derived.body.key])
        await until(async () => (await call(key)) === 401, 'it has ended')
      expect(await call(after.key)).toBe(200)
    })

    test('what ends the key ends the text before as well, and so does the next text without grace', async () => {
      const first = await made('/key/generate', {})
      const second = await made('/key/regenerate', { key: first.key, grace_period: '30d' })
      await made('/key/block', { key: second.key as string })
      expect([await call(first.key), await call(second.key)]).toEqual([401, 401])
      await made('/key/unblock', { key: second.key as string })
      expect([await call(first.key), await call(second.key)]).toEqual([200, 200])
      const third = await made('/key/regenerate', { key: second.key, grace_period: '' })
      expect([await call(first.key), await call(second.key), await call(third.key)]).toEqual([401, 401, 200])
      const wrong = await ask('/key/regenerate', { key: third.key, grace_period: 'soon' })
      expect([wrong.status, JSON.stringify(wrong.body)]).toEqual([422, expect.stringContaining('grace_period')])
    })

    test('the text before counts in the same limits', async () => {
      const before = await made('/key/generate', { rpm_limit: 3 })
      const after = await made('/key/regenerate', { key: before.key, grace_period: '1h' })
      const statuses = []
      for (const key of [before, after, before, after, before]) statuses.push(await call(key.key))
      expect(statuses).toEqual([200, 200, 200, 429, 429])
    })

    test('a spent budget of a key has room again after a reset, as much as was asked for', async () => {
      const scope = crypto.randomUUID()
      const { key, token_id: id } = await made('/key/generate', { max_budget: budget, budget_duration: '30d' })
      await spendAll(key, scope)
      const first = spent(scope)
      const reset = await made(`/key/${String(id)}/reset_spend`, { reset_to: 0.005 })
      expect(reset).toMatchObject({ spend: 0.005, max_budget: budget })
      expect(Number(reset.previous_spend)).toBeCloseTo(first, 9)
      await spendAll(key, scope)
      expect(spent(scope) - first).toBeWithin(0.005 * 0.95, 0.005 + 1e-9)
      const shown = async () => {
        const { info } = (await ask(`/key/info?key=${String(id)}`)).body
        return Number((info as Json).spend)
      }
      const since = 0.005 + spent(scope) - first
      await until(async () => Math.abs((await shown()) - since) < 1e-9, 'the key shows what it spent since')
      const { audit_logs: log } = (await ask(`/audit?object_id=${String(id)}&action=spend-reset`)).body
      expect(log).toHaveLength(1)
    })

    test('a team likewise, by administrators alone; more than was spent is refused', async () => {
      const team = crypto.randomUUID()
      await made('/team/new', { team_id: team, max_budget: budget })
      const key = await gateway.key({ team_id: team })
      await spendAll(key, team)
      const first = spent(team)
      const beyond = await ask(`/team/${team}/reset_spend`, { reset_to: 5 })
      expect([beyond.status, JSON.stringify(beyond.body)]).toEqual([400, expect.stringContaining('reset_to')])
      expect(await call(key, team)).toBe(429)
      const { key: head } = await made('/user/new', { user_id: `head-${team}` })
      await made('/team/member_add', { team_id: team, member: { role: 'admin', user_id: `head-${team}` } })
      expect((await ask(`/team/${team}/reset_spend`, { reset_to: 0 }, String(head))).status).toBe(403)
      expect(await call(key, team)).toBe(429)
      await made(`/team/${team}/reset_spend`, { reset_to: 0 })
      await spendAll(key, team)
      expect(spent(team) - first).toBeWithin(budget * 0.95, budget + 1e-9)
    })

    test('users do not reset what keys have spent that were made for them; admins of the team do', async () => {
      const team = crypto.randomUUID()
      await made('/team/new', { team_id: team })
      const { key: user } = await made('/user/new', { user_id: `user-${team}` })
      const own = await made('/key/generate', { user_id: `user-${team}`, max_budget: 1 })
      const path = (id: unknown) => `/key/${String(id)}/reset_spend`
      expect((await ask(path(own.token_id), { reset_to: 0 }, String(user))).status).toBe(403)
      const other = await made('/key/generate', { max_budget: 1 })
      expect((await ask(path(other.token_id), { reset_to: 0 }, String(user))).status).toBe(404)
      await made('/team/member_add', { team_id: team, member: { role: 'admin', user_id: `user-${team}` } })
      const ofTeam = await made('/key/generate', { team_id: team, max_budget: 1 })
      expect((await ask(path(ofTeam.token_id), { reset_to: 0 }, String(user))).status).toBe(200)
      expect((await ask(path(ofTeam.token_id), { reset_to: null }, String(user))).status).toBe(422)
    })
  })
