/** How long a wrong password takes says nothing of who has one. */
import { expect, test } from 'bun:test'
import { startGateway } from './harness.ts'

test('a wrong password takes as long for a name that no user has', async () => {
  const gateway = await startGateway({
    config: 'model_list: []\ngeneral_settings: { trusted_proxies: [127.0.0.0/8] }\n',
  })
  try {
    await gateway.admin('/user/new', { user_id: 'ann', user_email: 'ann@example.com', auto_create_key: false })
    await gateway.admin('/sign-in/password', { user_id: 'ann', new_password: 'correct horse battery' })
    await gateway.admin('/user/new', { user_id: 'without', auto_create_key: false })
    const tookMs: Record<string, number[]> = {}
    // In turns, each from an address of its own.
    for (let at = 0; at < 35; at++) {
      const username = ['ann', 'nobody', 'ann@example.com', 'nobody@example.com', 'without'][at % 5]!
      const startedMs = performance.now()
      const answer = await fetch(`${gateway.url}/login`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-forwarded-for': `10.${at}.0.1` },
        body: JSON.stringify({ username, password: 'wrong' }),
      })
      await answer.text()
      expect([username, answer.status]).toEqual([username, 401])
      ;(tookMs[username] ??= []).push(performance.now() - startedMs)
    }
    const medians = Object.values(tookMs).map(all => all.toSorted((a, b) => a - b)[all.length >> 1]!)
    expect(Math.max(...medians) / Math.min(...medians)).toBeLessThan(1.5)
  } finally {
    await gateway.stop()
  }
}, 120_000)
