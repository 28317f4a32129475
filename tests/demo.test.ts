/** The demo is as full as it says, its daily sums are those of its rows, and nothing of it stays behind. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { startDemo } from '../scripts/demo/start.ts'
import { demoKeys, demoTeams, demoUsers } from '../scripts/demo/people.ts'

setDefaultTimeout(180_000)

type Json = Record<string, any>

test('a full house: people, keys, models, sums equal to rows, a budget nearly spent, logins, a call', async () => {
  const demo = await startDemo()
  try {
    const ask = async (path: string, key = demo.masterKey): Promise<Json> =>
      (await (await fetch(demo.url + path, { headers: { authorization: `Bearer ${key}` } })).json()) as Json
    expect([demoTeams.length, demoUsers.length, demoKeys.length]).toEqual([3, 14, 25])
    expect((await ask('/key/list?size=100')).total_count).toBe(25)
    expect((await ask('/user/list?page_size=100')).total).toBe(14)
    const { data: models } = await ask('/model_group/info')
    expect((models as Json[]).filter(one => !one.model_group.startsWith('local/')).length).toBe(9)

    // Row by row, against the sums that the pages show.
    let cursor = ''
    const found = { calls: 0, nanoUsd: 0n, hits: 0, cuts: 0, errors: 0, masks: 0 }
    /** Of the support team, by the beginning of the period. */
    const periods = new Map<string, bigint>()
    do {
      const page = await ask(`/spend/logs/v2?page_size=1000${cursor}`)
      for (const row of page.data as Json[]) {
        found.calls++
        found.nanoUsd += BigInt(row.cost_nano_usd ?? 0)
        const period = (row.budget_scopes as string[] | null)?.find(one => one.endsWith(' team:support'))
        if (period) periods.set(period, (periods.get(period) ?? 0n) + BigInt(row.budget_nano_usd ?? 0))
        if (row.cache_hit_kind) found.hits++
        if (row.outcome === 'upstream_cut') found.cuts++
        if (row.outcome === 'error') found.errors++
        if (row.guardrails?.includes('mask')) found.masks++
      }
      cursor = page.next_cursor ? `&cursor=${encodeURIComponent(page.next_cursor)}` : ''
    } while (cursor !== '')
    expect(found.calls).toBeGreaterThan(5000)
    for (const count of [found.hits, found.cuts, found.errors, found.masks]) expect(count).toBeGreaterThan(10)
    const day = (backMs: number) => new Date(Date.now() - backMs).toISOString().slice(0, 10)
    const sums = await ask(`/user/daily/activity?start_date=${day(70 * 86_400_000)}&end_date=${day(0)}&page_size=100`)
    const total = (name: string) => (sums.results as Json[]).reduce((sum, one) => sum + one.metrics[name], 0)
    expect(total('api_requests')).toBe(found.calls)
    expect(total('spend')).toBeCloseTo(Number(found.nanoUsd) / 1e9, 6)

    // The pages say that nothing in them is real.
    expect(await (await fetch(`${demo.url}/ui/`)).text()).toContain('<html data-demo ')

    const { data: chats } = await ask('/chat/conversations')
    expect((chats as Json[]).length).toBe(4)
    const { credentials } = await ask('/credentials')
    expect((credentials as Json[]).map(one => one.credential_name)).toEqual(['openai', 'anthropic'])

    const { team_info: team } = await ask('/team/info?team_id=support')
    const spent = Number(periods.get([...periods.keys()].toSorted().at(-1)!)) / 1e9 / team.max_budget
    expect([spent > 0.9, spent < 1]).toEqual([true, true])

    const signedIn = await fetch(`${demo.url}/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: demo.url },
      body: JSON.stringify({ username: 'milo', password: demo.password }),
    })
    expect(signedIn.status).toBe(200)
    const called = await fetch(`${demo.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${demo.keys['eval-harness']}` },
      body: JSON.stringify({ model: 'fast', messages: [{ role: 'user', content: 'Where is my order?' }] }),
    })
    expect([called.status, await called.text()]).toEqual([200, expect.stringContaining('shipped')])
  } finally {
    await demo.stop()
  }
  expect(existsSync(demo.directory)).toBe(false)
})
