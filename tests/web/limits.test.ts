/** Meters of budgets show what was spent in the present period, not what was ever spent. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser } from 'playwright-core'
import type { Gateway } from '../e2e/harness.ts'
import { goTo, hasChromium, openSignedIn, pageMs, withPages } from './browser.ts'

setDefaultTimeout(3 * pageMs)

interface Info {
  readonly info: { token_id: string; spend: number }
  readonly budget: { spent: number; max_budget: number; budget_duration: string } | null
}

describe.skipIf(!hasChromium)('meters of budgets', () => {
  let gateway: Gateway
  let browser: Browser
  withPages({}, opened => ({ gateway, browser } = opened))

  const keyInfo = async (key: string): Promise<Info> =>
    (await (await gateway.admin(`/key/info?key=${key}`)).json()) as Info

  test('a budget that was reset is empty again, in the drawers of key, team and user', async () => {
    const budget = { max_budget: 1, budget_duration: '1s' }
    await gateway.admin('/team/new', { team_id: 'reset-team', ...budget })
    await gateway.admin('/user/new', { user_id: 'reset-user', auto_create_key: false, ...budget })
    await gateway.admin('/team/member_add', { team_id: 'reset-team', member: { user_id: 'reset-user', role: 'user' } })
    const key = await gateway.key({ user_id: 'reset-user', team_id: 'reset-team', ...budget })
    const call = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'chat-model', messages: [{ role: 'user', content: 'Hello' }] }),
    })
    await call.text()
    expect(call.status).toBe(200)
    // The call is settled, and its period is over.
    let found = await keyInfo(key)
    while (!(found.info.spend > 0 && found.budget!.spent === 0)) {
      await Bun.sleep(20)
      found = await keyInfo(key)
    }
    expect(found.budget).toMatchObject(budget)
    const { page, close, faults } = await openSignedIn(browser, gateway)
    await page.goto(`${gateway.url}/ui/sessions`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    for (const address of [`keys?key=${found.info.token_id}`, 'teams?team=reset-team', 'users?user=reset-user']) {
      await goTo(page, `/${address}`)
      const meter = page.getByRole('dialog').getByRole('meter').first()
      await meter.waitFor()
      expect([address, await meter.getAttribute('aria-valuenow')]).toEqual([address, '0'])
    }
    expect(faults).toEqual([])
    await close()
    // And above the list of the user's own keys.
    const own = await openSignedIn(browser, gateway, { key })
    await own.page.goto(`${gateway.url}/ui/keys`)
    const meter = own.page.getByRole('meter').first()
    await meter.waitFor()
    expect(await meter.getAttribute('aria-valuenow')).toBe('0')
    await own.close()
  })

  test('a budget that a named budget sets is shown', async () => {
    await gateway.admin('/budget/new', { budget_id: 'named', max_budget: 2, budget_duration: '30d' })
    const key = await gateway.key({ budget_id: 'named' })
    const none = await gateway.key()
    expect((await keyInfo(none)).budget).toBeNull()
    expect((await keyInfo(key)).budget).toMatchObject({ max_budget: 2, spent: 0, budget_duration: '30d' })
    const { token_id: id } = (await keyInfo(key)).info
    const { page, close } = await openSignedIn(browser, gateway)
    await page.goto(`${gateway.url}/ui/keys?key=${id}`)
    const meter = page.getByRole('dialog').getByRole('meter').first()
    await meter.waitFor()
    expect(await meter.getAttribute('aria-valuemax')).toBe('2')
    await close()
  })
})
