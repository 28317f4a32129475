/** The page of usage: sums of the reports, by what caused them, and the same as a table for spreadsheets. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import type { Browser } from 'playwright-core'
import { masterKey } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'
import { violationsInBothThemes } from './axe.ts'
import { hasChromium, closePages, openBrowser, openSignedIn, pageMs, startGatewayWithPages } from './browser.ts'

setDefaultTimeout(3 * pageMs)

const formula = '=1+1,"<b>'

describe.skipIf(!hasChromium)('the page of usage', () => {
  let gateway: Gateway
  let browser: Browser
  let member: string
  beforeAll(async () => {
    gateway = await startGatewayWithPages()
    const key = await gateway.key({ key_alias: formula })
    member = await gateway.key({ key_alias: 'without-calls' })
    for (const model of ['chat-model', 'chat-model', 'claude-model'])
      await (
        await fetch(`${gateway.url}/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] }),
        })
      ).text()
    // Rows and sums are stored behind the answers.
    while ((await gateway.rows()).length < 3) await Bun.sleep(20)
    browser = await openBrowser()
  })
  afterAll(async () => {
    await closePages(browser)
    await gateway?.stop()
  })

  const openUsage = async (search = '', options = {}) => {
    const opened = await openSignedIn(browser, gateway, options)
    await opened.page.goto(`${gateway.url}/ui/usage${search}`)
    await opened.page.getByRole('heading', { name: 'Usage', level: 1 }).waitFor()
    return opened
  }

  test('each model has its calls, another cause is in the address, a file for spreadsheets has its rows, and no formula', async () => {
    const { page, close } = await openUsage()
    const models = page.getByRole('table', { name: 'Usage by model' })
    await models.getByText('chat-model').waitFor()
    const row = models.getByRole('row').filter({ hasText: 'chat-model' })
    expect(await row.getByRole('cell').nth(2).or(row.getByRole('cell').nth(3)).allInnerTexts()).toContain('2')
    await page.getByRole('combobox', { name: 'By' }).click()
    await page.getByRole('option', { name: 'key' }).click()
    await page.getByRole('table', { name: 'Usage by key' }).getByText(formula).waitFor()
    expect(new URL(page.url()).searchParams.get('by')).toBe('key')
    const loaded = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download CSV' }).click()
    const text = readFileSync(await (await loaded).path(), 'utf8')
    const [head, first, ...others] = text.trimEnd().split('\r\n')
    expect(head).toStartWith('id,name,spend_usd')
    expect(first).toContain(`,"'=1+1,""<b>",`)
    expect(first).toContain(',3,0,')
    expect(others).toEqual([])
    await close()
  })

  test('a day of the chart, and a row of the table, lead to their calls in the logs', async () => {
    const { page, close, faults } = await openUsage('?days=7')
    const calls = page.getByRole('table').locator('[data-row]')
    const picture = page.locator('.u-over')
    await picture.waitFor()
    const box = (await picture.boundingBox())!
    await picture.click({ position: { x: box.width - 2, y: box.height / 2 } })
    await page.getByRole('heading', { name: 'Logs', level: 1 }).waitFor()
    await calls.nth(2).waitFor()
    const today = Date.parse(new Date().toISOString().slice(0, 10))
    expect(new URL(page.url()).searchParams.get('range')).toBe(`${today}..${today + 86_400_000}`)
    // For the keyboard the table of the chart says the same.
    await page.goBack()
    await page.getByRole('button', { name: 'As a table' }).click()
    expect(await page.locator('figure td a').last().getAttribute('href')).toContain(`range=${today}..`)
    await page.getByRole('link', { name: 'chat-model' }).click()
    await page.getByRole('heading', { name: 'Logs', level: 1 }).waitFor()
    await calls.nth(1).waitFor()
    expect(await calls.count()).toBe(2)
    expect(new URL(page.url()).searchParams.get('q')).toBe('model:chat-model')
    expect(faults).toEqual([])
    await close()
  })

  test('models have percentiles of how long they took, for those who read everything; a key sees its own calls only', async () => {
    const answer = await fetch(`${gateway.url}/model/latency?group_by=model`, {
      headers: { authorization: `Bearer ${masterKey}` },
    })
    const { groups, total, error_share } = (await answer.json()) as {
      groups: { model: string; calls: number }[]
      total: { calls: number; first_byte: { calls: number } }
      error_share: number
    }
    expect([total.calls, total.first_byte.calls, error_share]).toEqual([3, 0, 0.122])
    expect(groups.map(one => [one.model, one.calls])).toEqual([
      ['chat-model', 2],
      ['claude-model', 1],
    ])
    const { page, close } = await openUsage()
    const row = page.getByRole('table', { name: 'Usage by model' }).getByRole('row').filter({ hasText: 'chat-model' })
    await row.getByTitle(/^p50: half of the 2 answered calls/).waitFor()
    await page.getByRole('combobox', { name: 'By' }).click()
    await page.getByRole('option', { name: 'deployment' }).click()
    const deployments = page.getByRole('table', { name: 'Usage by deployment' })
    const deployment = deployments.getByRole('row').filter({ hasText: 'chat-model → ' })
    await deployment.getByTitle(/^p50: half of the 2 answered calls/).waitFor()
    await close()
    const own = await openUsage('', { key: member })
    await own.page.getByText('No calls in these days').waitFor()
    expect(await own.page.getByRole('columnheader', { name: 'p50 / p95', exact: true }).count()).toBe(0)
    await own.close()
  })

  test('axe has no objection on a small screen, in light and dark, and the page asks three times at most', async () => {
    const asked: string[] = []
    const options = { viewport: { width: 390, height: 844 } }
    const { page, close, faults } = await openSignedIn(browser, gateway, options)
    page.on('request', request => {
      const { pathname } = new URL(request.url())
      if (!pathname.startsWith('/ui/') && !pathname.startsWith('/sign-in/')) asked.push(pathname)
    })
    await page.goto(`${gateway.url}/ui/usage?by=team`)
    await page.getByText('No calls in these days').waitFor()
    expect(await violationsInBothThemes(page)).toEqual([])
    expect(faults).toEqual([])
    expect(asked.toSorted()).toEqual(['/team/daily/activity', '/user/daily/activity'])
    await close()
  })

  test('teams are summed with models, organizations for themselves, months and days of one’s own are chosen', async () => {
    const teams = ['Alpha', 'Beta', 'Gamma']
    await gateway.admin('/organization/new', { organization_id: 'org-1', organization_alias: 'Research' })
    for (const name of teams) {
      await gateway.admin('/team/new', { team_id: `id-${name}`, team_alias: name, organization_id: 'org-1' })
      const key = await gateway.key({ team_id: `id-${name}` })
      await (
        await fetch(`${gateway.url}/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          body: JSON.stringify({ model: 'claude-model', messages: [{ role: 'user', content: 'Hello' }] }),
        })
      ).text()
    }
    while ((await gateway.rows('&organization=Research')).length < 3) await Bun.sleep(20)
    const { page, close } = await openUsage('?by=team')
    const byTeam = page.getByRole('table', { name: 'Usage by team' })
    for (const name of teams) await byTeam.getByText(name).waitFor()
    expect(await page.getByText('There are too many to list').count()).toBe(0)
    await page.getByRole('combobox', { name: 'and', exact: true }).click()
    await page.getByRole('option', { name: 'and model' }).click()
    const divided = page.getByRole('table', { name: 'Usage by team and model' })
    const row = divided.getByRole('row').filter({ hasText: 'Beta' })
    await row.getByText('claude-model').waitFor()
    await divided.getByText('None of these').waitFor()
    const loaded = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download CSV' }).click()
    const text = readFileSync(await (await loaded).path(), 'utf8')
    expect(text).toStartWith('team,model,spend_usd,calls')
    expect(text).toMatch(/^Beta,claude-model,[\d.]+,1,0,/m)
    expect(await violationsInBothThemes(page)).toEqual([])
    await page.getByRole('combobox', { name: 'By' }).click()
    await page.getByRole('option', { name: 'organization' }).click()
    const month = new Date().toISOString().slice(0, 7)
    await page.goto(`${gateway.url}/ui/usage?by=organization&days=${month}`)
    await page.getByRole('table', { name: 'Usage by organization' }).getByText('Research').waitFor()
    await page.getByRole('combobox', { name: 'Time range' }).click()
    await page.getByRole('option', { name: 'from … to …' }).click()
    await page.getByLabel('First day (UTC)').fill('2026-01-05')
    await page.getByLabel('Last day (UTC)').fill('2026-01-01')
    await page.getByText('The last day is before the first one').waitFor()
    await page.getByLabel('Last day (UTC)').fill('2026-01-06')
    await page.getByRole('button', { name: 'Show these days' }).click()
    await page.getByText('No calls in these days').waitFor()
    expect(new URL(page.url()).searchParams.get('days')).toBe('2026-01-05..2026-01-06')
    await close()
  })
})
