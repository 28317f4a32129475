/** The overview of a new installation: each step of the setup does itself, from the first model to the first call. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser } from 'playwright-core'
import type { Gateway } from '../e2e/harness.ts'
import { violations } from './axe.ts'
import { hasChromium, openSignedIn, pageMs, withPages } from './browser.ts'
import { firstCall, followSetup } from './setup-steps.ts'

setDefaultTimeout(3 * pageMs)

describe.skipIf(!hasChromium)('the overview', () => {
  let gateway: Gateway
  let browser: Browser
  withPages({ config: '{}\n' }, opened => ({ gateway, browser } = opened))

  test('a new installation is led from its first model to its first call', async () => {
    const { page, close, faults } = await openSignedIn(browser, gateway)
    await page.goto(`${gateway.url}/ui/`)
    await page.getByRole('heading', { name: 'Set up this gateway' }).waitFor()
    expect(await violations(page)).toEqual([])

    const upstream = { upstreamUrl: gateway.simulator.url, upstreamKey: 'upstream-key-of-the-setup' }
    const setup = await followSetup(page, { ...upstream, click: what => what.click() })
    expect(setup.body).toContain('"model":"sim-chat"')
    const call = await firstCall(gateway.url, setup)
    expect(call.status).toBe(200)
    await call.text()
    // The page sees the call by itself, and the setup is over.
    await page.getByRole('heading', { name: 'Set up this gateway' }).waitFor({ state: 'detached' })
    await page.getByText('sim-chat').first().waitFor()
    expect(await page.content()).not.toContain('upstream-key-of-the-setup')
    expect(faults).toEqual([])
    await close()
  })

  test('what the server refuses stands in the dialog, and what was typed stays', async () => {
    const { page, close } = await openSignedIn(browser, gateway)
    await page.route('**/overview', async route => {
      const answer = await route.fetch()
      const setup = { has_model: false, has_key: false, has_call: false }
      return route.fulfill({ json: { ...(await answer.json()), setup } })
    })
    await page.goto(`${gateway.url}/ui/`)
    await page.getByRole('button', { name: 'Add model' }).click()
    const dialog = page.getByRole('dialog', { name: 'Add model' })
    await dialog.getByRole('combobox', { name: 'Provider' }).click()
    await page.getByRole('option', { name: /^Own server/ }).click()
    await dialog.getByLabel('Base URL').fill('no address')
    await dialog.getByLabel('Model', { exact: true }).fill('kept')
    await dialog.getByRole('button', { name: 'Add model' }).click()
    await dialog.getByRole('alert').waitFor()
    expect(await dialog.getByLabel('Model', { exact: true }).inputValue()).toBe('kept')
    await close()
  })

  test('a member sees what it may call, and no setup', async () => {
    const made = await gateway.admin('/user/new', { user_id: 'ada', user_role: 'internal_user' })
    const { key } = (await made.json()) as { key: string }
    const { page, close } = await openSignedIn(browser, gateway, { key })
    await page.goto(`${gateway.url}/ui/`)
    await page.getByRole('heading', { name: 'Models you may call' }).waitFor()
    await page.getByText('local/simulated-chat').waitFor()
    expect(await page.getByRole('heading', { name: 'Set up this gateway' }).count()).toBe(0)
    await close()
  })

  test('models that come later than the overview are asked for once', async () => {
    await gateway.admin('/user/new', { user_id: 'late', user_role: 'internal_user' })
    const key = await gateway.key({ user_id: 'late' })
    const { page, close } = await openSignedIn(browser, gateway, { key })
    const isShown = page.getByText('Last calls').waitFor()
    let asked = 0
    await page.route('**/v1/model/info', async route => {
      asked++
      await isShown
      await route.continue()
    })
    await page.goto(`${gateway.url}/ui/`)
    await page.getByText('local/simulated-chat').waitFor()
    expect(asked).toBe(1)
    await close()
  })

  test('it asks three times at most, follows calls live, and shows a member nothing of others', async () => {
    const made = await gateway.admin('/user/new', { user_id: 'kim', user_role: 'internal_user', max_budget: 0.000_001 })
    const { key } = (await made.json()) as { key: string }
    const raise = { temp_budget_increase: 1, temp_budget_expiry: '2099-01-01' }
    await gateway.admin('/user/update', { user_id: 'kim', ...raise })
    await gateway.admin('/model/new', {
      model_name: 'priced',
      proxy_params: {
        model: 'openai/sim-chat',
        api_key: 'k',
        api_base: `${gateway.simulator.url.replace(/\/$/, '')}/v1`,
        input_cost_per_token: 0.001,
        output_cost_per_token: 0.001,
      },
    })
    await gateway.admin('/model/new', {
      model_name: 'broken',
      proxy_params: { model: 'openai/none', api_key: 'k', api_base: 'http://127.0.0.1:9/v1' },
    })
    const call = async (model: string, as: string) => {
      const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${as}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }], max_tokens: 5, num_retries: 0 }),
      })
      return answer.status
    }
    while ((await call('priced', key)) !== 200) await Bun.sleep(20)
    await gateway.admin('/user/update', { user_id: 'kim', temp_budget_increase: null, temp_budget_expiry: null })
    const other = await gateway.key()
    for (let at = 0; at < 5; at++) await call('broken', other)
    const overviewOf = async (as: string) =>
      (await fetch(`${gateway.url}/overview`, { headers: { authorization: `Bearer ${as}` } })).json() as Promise<{
        now: { api_requests: number; spend: number }
        last_hour: { api_requests: number; spend: number; is_whole: boolean }
        budgets: { id: string }[]
        setup: object | null
      }>
    let own = await overviewOf(key)
    while (own.budgets.length === 0) own = await overviewOf(key)
    expect(own).toMatchObject({ now: { api_requests: 1 }, budgets: [{ id: 'kim' }], setup: null })
    expect(own.last_hour).toMatchObject({ api_requests: 1, spend: own.now.spend, is_whole: true })

    const asked: string[] = []
    const { page, close, faults } = await openSignedIn(browser, gateway)
    page.on('request', request => {
      const { pathname } = new URL(request.url())
      if (!pathname.startsWith('/ui/') && !asked.includes(pathname)) asked.push(pathname)
    })
    await page.goto(`${gateway.url}/ui/`)
    const panel = (title: string) => page.locator('section').filter({ has: page.getByRole('heading', { name: title }) })
    await panel('Budgets near their limits').getByText('limit reached').waitFor()
    await panel('Unhealthy deployments')
      .getByText(/Cooling down|calls failed/)
      .waitFor()
    await page.getByRole('img', { name: /^Spend by model/ }).waitFor()
    await page.getByText('Response time, p50 / p95').waitFor()
    await page.getByText(/ in the last hour$/).waitFor()
    const calls = panel('Last calls').getByRole('listitem')
    const before = await calls.count()
    expect(before).toBeLessThanOrEqual(10)
    await call('priced', other)
    await panel('Last calls').getByRole('listitem').first().getByText('priced').waitFor()
    expect(asked.filter(path => path !== '/sign-in/session').sort()).toEqual([
      '/overview',
      '/spend/logs/v2',
      '/v1/model/info',
    ])
    expect(await violations(page)).toEqual([])
    // The picture as a table.
    await page.getByRole('button', { name: 'As a table' }).click()
    await page.getByRole('columnheader', { name: 'priced' }).waitFor()
    await close()

    const asKim = await openSignedIn(browser, gateway, { key, viewport: { width: 360, height: 740 } })
    await asKim.page.goto(`${gateway.url}/ui/`)
    await asKim.page.getByText('limit reached').waitFor()
    const figures = asKim.page.getByRole('region', { name: 'Last 30 days' })
    expect(await figures.innerText()).toMatch(/Requests\s+1\s/)
    expect(await asKim.page.getByText('Unhealthy deployments').count()).toBe(0)
    expect(await asKim.page.getByText('Response time, p50 / p95').count()).toBe(0)
    expect(await asKim.page.getByText('broken').count()).toBe(1)
    const excess = await asKim.page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
    expect(excess).toBeLessThanOrEqual(0)
    expect([...faults, ...asKim.faults]).toEqual([])
    await asKim.close()
  })
})
