/** The page of calls finds them by what people know, and says what it did not find. */
import { afterAll, beforeAll, describe, setDefaultTimeout, expect, test } from 'bun:test'
import type { Browser } from 'playwright-core'
import { standardConfig } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'
import { until } from '../support/until.ts'
import { closePages, goTo, hasChromium, openBrowser, openSignedIn, pageMs, startGatewayWithPages } from './browser.ts'

setDefaultTimeout(3 * pageMs)

describe.skipIf(!hasChromium)('filters of the page of calls', () => {
  let gateway: Gateway
  let browser: Browser
  beforeAll(async () => {
    gateway = await startGatewayWithPages({ config: standardConfig })
    const key = await gateway.key({ key_alias: 'other' })
    for (const model of ['chat-model', 'nobody', 'chat-model']) await call(key, model)
    browser = await openBrowser()
  })
  afterAll(async () => {
    await closePages(browser)
    await gateway?.stop()
  })

  const call = async (key: string, model: string, fields: object = {}) => {
    const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }], ...fields }),
    })
    await answer.text()
    return answer.headers.get('x-proxy-call-id')!
  }

  const openLogs = async (search = '') => {
    const opened = await openSignedIn(browser, gateway, {})
    await opened.page.goto(`${gateway.url}/ui/logs${search}`)
    await opened.page.getByRole('heading', { name: 'Logs', level: 1 }).waitFor()
    return opened
  }

  test('calls are found by names of keys and teams, patterns and statuses, which are offered; a name of nothing is said', async () => {
    await gateway.admin('/team/new', { team_id: 'id-of-platform', team_alias: 'Platform crew' })
    const made = await gateway.admin('/key/generate', { key_alias: 'ci-review', team_id: 'id-of-platform' })
    const { key } = (await made.json()) as { key: string }
    const id = await call(key, 'claude-model', { metadata: { tags: ['nightly'] } })
    await until(async () => (await gateway.rows(`&request_id=${id}`)).length === 1)
    const { page, close } = await openLogs()
    const bar = page.getByRole('combobox', { name: 'Filter calls' })
    await page.getByText('Calls: 4').waitFor()
    await bar.fill('team:plat')
    await page.getByRole('option', { name: 'team:"Platform crew"' }).click()
    await page.getByText('Calls: 1').waitFor()
    await page.getByRole('row').nth(1).getByRole('link').click()
    await page.getByRole('dialog').getByText('Platform crew').waitFor()
    await page.keyboard.press('Escape')
    const counted: readonly (readonly [string, number])[] = [
      ['key:ci-review', 1],
      ['model:CHAT*', 2],
      ['status:5xx', 1],
      ['status:error error:upstream-unreachable', 1],
      ['status:ok provider:anthropic tag:nightly', 1],
    ]
    for (const [filter, count] of counted) {
      await goTo(page, `/logs?q=${encodeURIComponent(filter)}`)
      await page.getByText(`Calls: ${count}`, { exact: true }).waitFor()
    }
    await goTo(page, '/logs?q=team:Platfrom')
    await page.getByText('Nothing is called so: team:Platfrom').waitFor()
    await goTo(page, '/logs?q=model:nothing*')
    await page.getByText('No call matches model:nothing*').waitFor()
    await gateway.admin('/key/delete', { keys: [key] })
    await close()
  })

  test('what was refused has no cost, which is no missing price', async () => {
    const key = await gateway.key({})
    const id = await call(key, 'chat-model', { temperature: 'hot' })
    await until(async () => (await gateway.rows(`&request_id=${id}`)).length === 1)
    const { page, close } = await openLogs(`?call=${id}`)
    const drawer = page.getByRole('dialog', { name: 'chat-model' })
    await drawer.getByRole('region', { name: 'Why it failed' }).getByText('temperature').first().waitFor()
    await drawer.getByTitle('It was not sent to an upstream and costs nothing.').first().waitFor()
    expect(await drawer.getByText('no price').count()).toBe(0)
    await close()
  })
})
