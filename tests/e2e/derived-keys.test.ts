/** Keys that are derived for one run: narrower, with an amount of their own, ended with the key they come from. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { inputPrice, outputPrice, startBillingUpstream } from '../support/upstreams/billing-upstream.ts'
import { backends, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

const priced = `input_cost_per_token: ${inputPrice}, output_cost_per_token: ${outputPrice}`

for (const backend of backends())
  describe(`on ${backend.name}`, () => {
    const upstream = startBillingUpstream()
    const entry = (name: string) =>
      `{ model_name: ${name}, proxy_params: { model: custom_openai/m, api_base: "${upstream.url}", api_key: none, ${priced} } }`
    let gateway: Gateway
    let parent: string
    beforeAll(async () => {
      const config = `model_list: [${entry('small')}, ${entry('large')}]\nrouter_settings: { num_retries: 0 }\n`
      gateway = await startGateway({ backend, config })
      parent = await gateway.key({ models: ['small', 'large'] })
    })
    afterAll(async () => {
      await gateway.stop()
      await upstream.stop()
    })
    const post = (path: string, key: string, body: object) =>
      fetch(`${gateway.url}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}` },
        body: JSON.stringify(body),
      })
    const call = (key: string, text: string, model = 'small') =>
      post('/v1/chat/completions', key, { model, max_tokens: 16, messages: [{ role: 'user', content: text }] })
    const derive = async (key: string, body: object) => {
      const answer = await post('/key/derive', key, body)
      if (answer.status !== 200) throw new Error(await answer.text())
      return (await answer.json()) as { key: string; token_id: string; expires: string; parent_token_id: string }
    }

    test('many calls at once spend at least 95 % of its amount and nothing beyond it', async () => {
      const { key } = await derive(parent, { max_budget: 0.01 })
      expect(key).toStartWith('mgd_')
      const statuses = await Promise.all(Array.from({ length: 200 }, async () => (await call(key, 'run')).status))
      expect(new Set(statuses)).toEqual(new Set([200, 429]))
      expect(upstream.spent.get('run')!).toBeWithin(0.0095, 0.01 + 1e-9)
      expect((await call(parent, 'other')).status).toBe(200)
    })

    test('it may do less than its key and no more, and says so when it is made', async () => {
      const { key } = await derive(parent, { models: ['small'] })
      expect([(await call(key, 'a')).status, (await call(key, 'a', 'large')).status]).toEqual([200, 403])
      for (const [body, field] of [
        [{ models: ['large'] }, 'models'],
        [{ duration: '30d' }, 'duration'],
        [{ max_budget: -1 }, 'max_budget'],
        [{ rpm: 1 }, 'rpm'],
      ] as const) {
        const ended = await derive(key, { duration: '1h' })
        const refused = await post('/key/derive', ended.key, body)
        expect([refused.status, await refused.text()]).toEqual([422, expect.stringContaining(field)])
      }
    })

    test('the amounts of all keys that it comes from hold: it spends theirs', async () => {
      const outer = await derive(parent, { max_budget: 0.002 })
      const inner = await derive(outer.key, { max_budget: 0.001 })
      expect(inner.parent_token_id).toBe(outer.token_id)
      while ((await call(inner.key, 'inner')).status === 200);
      expect(upstream.spent.get('inner')!).toBeLessThanOrEqual(0.001)
      const second = await derive(outer.key, { max_budget: 0.002 })
      while ((await call(second.key, 'second')).status === 200);
      expect(upstream.spent.get('inner')! + upstream.spent.get('second')!).toBeWithin(0.0017, 0.002 + 1e-9)
      expect((await post('/key/derive', outer.key, { max_budget: 0.003 })).status).toBe(422)
    })

    test('requests and calls at the same time are limited as it says', async () => {
      const { key } = await derive(parent, { rpm_limit: 3 })
      const statuses = await Promise.all(Array.from({ length: 10 }, async () => (await call(key, 'rate')).status))
      expect(statuses.filter(status => status === 200)).toHaveLength(3)
    })

    test('a text that was changed, or signed elsewhere, is no key', async () => {
      const { key } = await derive(parent, { models: ['small'] })
      const [payload = '', signature = ''] = key.slice('mgd_'.length).split('.')
      const claims = Buffer.from(payload, 'base64url').toString()
      const wider = Buffer.from(claims.replace('small', 'large')).toString('base64url')
      for (const forged of [`mgd_${wider}.${signature}`, `mgd_${payload}.`, `mgd_${payload}`, 'mgd_.', `${key}A`])
        expect((await call(forged, 'forged')).status).toBe(401)
    })

    test('blocked or deleted, the key takes those that were derived from it along', async () => {
      const own = await gateway.key()
      const { key } = await derive(own, {})
      const { key: ended } = await derive(own, { duration: '1s' })
      expect((await call(key, 'z')).status).toBe(200)
      expect((await gateway.admin('/key/block', { key: own })).status).toBe(200)
      expect((await call(key, 'z')).status).toBe(401)
      await gateway.admin('/key/unblock', { key: own })
      expect((await call(key, 'z')).status).toBe(200)
      await gateway.admin('/key/delete', { keys: [own] })
      expect([(await call(key, 'z')).status, (await call(ended, 'z')).status]).toEqual([401, 401])
    })
  })
