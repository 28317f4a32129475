/** Calls are found by what people know: names of keys, teams, persons and organizations, tags, statuses, words. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { until } from '../support/until.ts'
import { backends, masterKey, standardConfig, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

interface Found {
  readonly data: readonly Record<string, unknown>[]
  readonly total?: number
  readonly not_found?: readonly string[]
}

for (const backend of backends())
  describe(`filters of the ledger, on ${backend.name}`, () => {
    let gateway: Gateway
    let key: string
    let member: string
    let ids: { ok: string; embedding: string; failed: string; refused: string; other: string }
    beforeAll(async () => {
      gateway = await startGateway({ backend, config: standardConfig })
      await gateway.admin('/organization/new', { organization_id: 'org-1', organization_alias: 'Research' })
      await gateway.admin('/team/new', { team_id: 'team-1', team_alias: 'Platform', organization_id: 'org-1' })
      await gateway.admin('/team/new', { team_id: 'team-2', team_alias: 'Sales' })
      await gateway.admin('/user/new', { user_id: 'user-1', user_email: 'ada@example.com', auto_create_key: false })
      const made = async (body: object) => {
        const answer = await gateway.admin('/key/generate', body)
        return ((await answer.json()) as { key: string }).key
      }
      key = await made({ key_alias: 'ci-review', team_id: 'team-1', user_id: 'user-1' })
      member = await made({ key_alias: 'sales-bot', team_id: 'team-2' })
      ids = {
        ok: await call(key, 'chat-model', { metadata: { tags: ['nightly', 'a "b"'] } }),
        embedding: await call(key, 'embedding-model', {}, '/v1/embeddings'),
        failed: await call(key, 'nobody'),
        refused: await call(key, 'chat-model', { temperature: 'hot' }),
        other: await call(member, 'claude-model'),
      }
      await until(async () => (await find('')).total === 5)
    })
    afterAll(() => gateway?.stop())

    async function call(key: string, model: string, fields: object = {}, path = '/v1/chat/completions') {
      const asked = path.endsWith('embeddings') ? { input: 'Hi' } : { messages: [{ role: 'user', content: 'Hi' }] }
      const answer = await fetch(`${gateway.url}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}` },
        body: JSON.stringify({ model, ...asked, ...fields }),
      })
      await answer.text()
      return answer.headers.get('x-proxy-call-id')!
    }

    async function find(query: string, token = masterKey): Promise<Found> {
      const answer = await fetch(`${gateway.url}/spend/logs/v2?${query}`, {
        headers: { authorization: `Bearer ${token}` },
      })
      expect(answer.status).toBe(200)
      return (await answer.json()) as Found
    }

    /** The list, its count, and the bars: they find the same. */
    async function expectFound(query: string, names: readonly (keyof typeof ids)[]) {
      const { data } = await find(query)
      expect([query, data.map(row => row.request_id).toSorted()]).toEqual([
        query,
        names.map(name => ids[name]).toSorted(),
      ])
      const bars = (await (await gateway.admin(`/spend/logs/histogram?${query}`)).json()) as { calls: number }
      expect([query, bars.calls]).toEqual([query, names.length])
    }

    test('by name, in the list and in the bars', async () => {
      const mine = ['ok', 'embedding', 'failed', 'refused'] as const
      for (const query of ['api_key=ci-review', 'key_alias=ci-review', 'team=Platform', 'team=platform', 'team=team-1'])
        await expectFound(query, mine)
      for (const query of ['user=ada@example.com', 'user=user-1', 'organization=Research', 'organization=org-1'])
        await expectFound(query, mine)
      await expectFound('team=Platform&api_key=sales-bot', [])
      await expectFound('api_key=sales-bot&model=claude*', ['other'])
    })

    test('by pattern, status, provider, tag, kind and words of an error', async () => {
      await expectFound('model=*-MODEL', ['ok', 'embedding', 'refused', 'other'])
      await expectFound('model=claude*', ['other'])
      await expectFound('model=claude_*', [])
      await expectFound('http_status=503', ['failed'])
      await expectFound('http_status=4xx', ['refused'])
      await expectFound('http_status=2xx', ['ok', 'embedding', 'other'])
      await expectFound('status_filter=failure', ['failed', 'refused'])
      await expectFound('status_filter=failure&team=Platform&outcome=error', ['failed', 'refused'])
      await expectFound('provider=anthropic', ['other'])
      await expectFound('tag=nightly', ['ok'])
      await expectFound(`tag=${encodeURIComponent('a "b"')}`, ['ok'])
      await expectFound('tag=night', [])
      await expectFound('error_kind=upstream-unreachable', ['failed'])
      await expectFound('error_message=TEMPERATURE', ['refused'])
    })

    test('a name of nothing is said to administrators, and to nobody else', async () => {
      const unknown = 'team=Platfrom&api_key=none&user=nobody@example.com&organization=x'
      const found = await find(unknown)
      expect(found).toMatchObject({ data: [], not_found: ['api_key', 'user', 'team', 'organization'] })
      expect((await find('team=Platform')).not_found).toBeUndefined()
      expect(await find('team=Platfrom', key)).not.toHaveProperty('not_found')
      // Another team is as if it were not there.
      expect((await find('team=Sales', key)).data).toEqual([])
      expect((await find('team=Platform', key)).data).toHaveLength(4)
    })

    test('rows say what their owners are called', async () => {
      const { data } = await find(`request_id=${ids.ok}`)
      expect(data[0]).toMatchObject({
        team_alias: 'Platform',
        user_email: 'ada@example.com',
        organization_alias: 'Research',
        metadata: { user_api_key_team_alias: 'Platform', user_api_key_user_email: 'ada@example.com' },
      })
      expect((await find(`request_id=${ids.other}`)).data[0]).toMatchObject({ team_alias: 'Sales', user_email: null })
    })

    test('a key that asks for another one by its name is refused, as by its id; what contradicts itself is 422', async () => {
      const status = async (query: string, token: string) =>
        (await fetch(`${gateway.url}/spend/logs/v2?${query}`, { headers: { authorization: `Bearer ${token}` } })).status
      expect(await status('api_key=ci-review', member)).toBe(403)
      expect(await status('api_key=sales-bot', member)).toBe(200)
      expect(await status('status_filter=success&outcome=error', masterKey)).toBe(422)
      expect(await status('http_status=9', masterKey)).toBe(422)
    })
  })
