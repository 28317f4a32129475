/** Sums of a span by one thing, or by two together. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { until } from '../support/until.ts'
import { backends, masterKey, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

interface Summary {
  readonly results: readonly {
    readonly by: { readonly id: string; readonly name: string | null }
    readonly and: { readonly id: string; readonly name: string | null } | null
    readonly metrics: { readonly spend: number; readonly api_requests: number }
  }[]
  readonly total: { readonly spend: number; readonly api_requests: number }
  readonly others: { readonly api_requests: number } | null
  readonly is_complete: boolean
}

for (const backend of backends())
  describe(`summaries on ${backend.name}`, () => {
    let gateway: Gateway
    let key: string
    beforeAll(async () => {
      gateway = await startGateway({ backend })
      await gateway.admin('/organization/new', { organization_id: 'org-1', organization_alias: 'Research' })
      await gateway.admin('/team/new', { team_id: 'team-1', team_alias: 'Platform', organization_id: 'org-1' })
      key = await gateway.key({ team_id: 'team-1', key_alias: 'ci' })
      for (const [token, model] of [
        [key, 'chat-model'],
        [key, 'claude-model'],
        [key, 'claude-model'],
        [masterKey, 'chat-model'],
      ] as const)
        await (
          await fetch(`${gateway.url}/v1/chat/completions`, {
            method: 'POST',
            headers: { authorization: `Bearer ${token}` },
            body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hi' }], metadata: { tags: ['t'] } }),
          })
        ).text()
      await until(async () => (await gateway.rows()).length === 4)
    })
    afterAll(() => gateway?.stop())

    const asked = (query: string, token = masterKey) =>
      fetch(`${gateway.url}/spend/summary?${query}`, { headers: { authorization: `Bearer ${token}` } })
    const summary = async (query: string, token?: string) => (await (await asked(query, token)).json()) as Summary
    const lines = ({ results }: Summary) =>
      results.map(({ by, and, metrics }) => [by.name ?? by.id, and && (and.name ?? and.id), metrics.api_requests])

    test('by a team and a model: each call once, and what belongs to no team apart', async () => {
      const found = await summary('by=team&and=model')
      expect(lines(found).toSorted()).toEqual([
        ['Platform', 'chat-model', 1],
        ['Platform', 'claude-model', 2],
      ])
      expect(found).toMatchObject({ total: { api_requests: 4 }, others: { api_requests: 1 }, is_complete: true })
      expect(lines(await summary('by=organization'))).toEqual([['Research', null, 3]])
      expect(lines(await summary('by=key&and=provider'))).toContainEqual(['ci', 'anthropic', 2])
      expect(lines(await summary('by=tag&and=model'))).toContainEqual(['t', 'claude-model', 2])
      expect(lines(await summary('by=team&start_date=2020-01-01&end_date=2020-01-31'))).toEqual([])
    })

    test('a key sees its own calls alone', async () => {
      const found = await summary('by=model', key)
      expect(lines(found).toSorted()).toEqual([
        ['chat-model', null, 1],
        ['claude-model', null, 2],
      ])
      expect(found.total.api_requests).toBe(3)
    })

    test('what is not kept together is refused', async () => {
      for (const query of ['by=team&and=tag', 'by=customer&and=tag', 'by=team&and=team', 'by=colour'])
        expect([query, (await asked(query)).status]).toEqual([query, 422])
    })
  })
