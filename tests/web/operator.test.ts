/** Pages of the operator on one gateway: the configuration and the sources of its values. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser } from 'playwright-core'
import { startGateway, standardConfig } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'
import { builtPages, hasChromium, openBrowser, openSignedIn, pageMs, violations } from './browser.ts'

setDefaultTimeout(3 * pageMs)

const config = `${standardConfig}
litellm_settings:
  cache: true
  cache_params: { type: local, ttl: 1234 }
general_settings:
  alert_to_webhook_url: { budget_alerts: "https://hooks.example.com/planted-webhook" }
`

describe.skipIf(!hasChromium)('pages of the operator', () => {
  let gateway: Gateway
  let browser: Browser
  beforeAll(async () => {
    const environment = {
      MODELGATE_WEB_DIRECTORY: await builtPages(),
      SMTP_HOST: 'mail.example.com',
      SMTP_USERNAME: 'a@b.example',
      SMTP_PASSWORD: 'planted-password',
    }
    gateway = await startGateway({ config, environment })
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    await gateway?.stop()
  })

  const openAt = async (path: string, options = {}) => {
    const opened = await openSignedIn(browser, gateway, options)
    await opened.page.goto(`${gateway.url}/ui/${path}`)
    await opened.page.getByRole('heading', { level: 1 }).waitFor()
    return opened
  }

  test('a value says file and line, variable or default; what is secret is not in the page', async () => {
    const { page, context, faults } = await openAt('settings')
    const table = page.getByRole('table', { name: 'Configuration' })
    await table.waitFor()
    await page.getByRole('searchbox', { name: 'Search settings' }).fill('ttl')
    const row = table.getByRole('row').filter({ hasText: 'settings.cache_params.ttl' })
    await row
      .filter({ hasText: '1234' })
      .filter({ hasText: /config\.yaml:\d+/ })
      .waitFor()
    await row.getByRole('link').click()
    await page
      .getByRole('dialog')
      .getByText(/changed there: .*config\.yaml:\d+/)
      .waitFor()
    await page.goto(`${gateway.url}/ui/settings?group=mail`)
    await table.getByText('SMTP_PASSWORD').first().waitFor()
    await table.getByText('https://hooks.example.com/********').waitFor()
    expect(await page.content()).not.toContain('planted')
    await page.getByRole('combobox', { name: 'Which' }).click()
    await page.getByRole('option', { name: 'Only what is set' }).click()
    await table.getByText('SMTP_TLS').waitFor({ state: 'detached' })
    expect(await table.getByText('SMTP_HOST').count()).toBeGreaterThan(0)
    await page.getByText('this one alone').waitFor()
    expect(faults).toEqual([])
    await context.close()
  })

  test('theme and language are chosen where a person looks at the sessions, and in the configuration', async () => {
    const key = await gateway.key()
    const { page, context } = await openAt('sessions', { key })
    await page.getByRole('combobox', { name: 'Theme' }).click()
    await page.getByRole('option', { name: 'Dark' }).click()
    expect(await page.evaluate(() => document.documentElement.dataset.theme)).toBe('dark')
    await page.getByRole('combobox', { name: 'Language' }).click()
    await page.getByRole('option', { name: 'Deutsch' }).click()
    await page.getByRole('heading', { name: 'Darstellung' }).waitFor()
    expect(await page.evaluate(() => document.documentElement.dataset.theme)).toBe('dark')
    await context.close()
  })

  test('axe has no objection to the configuration, in light and dark', async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      const { page, context, faults } = await openAt('settings?which=set&setting=settings.cache_params.ttl', {
        colorScheme,
      })
      await page
        .getByRole('dialog')
        .getByText(/changed there/)
        .waitFor()
      expect(await violations(page)).toEqual([])
      expect(faults).toEqual([])
      await context.close()
    }
  })
})
