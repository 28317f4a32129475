/** Signing in at `/ui/login`, sessions in several browsers, and a session that ends while a page is open. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import { masterKey } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'
import { violations } from './axe.ts'
import { hasChromium, openPage, pageMs, startGatewayWithPages, withPages } from './browser.ts'

setDefaultTimeout(3 * pageMs)

describe.skipIf(!hasChromium)('signing in', () => {
  let gateway: Gateway
  let browser: Browser
  withPages({}, opened => ({ gateway, browser } = opened))

  /** In the form that is on the page, or above it. */
  const giveMasterKey = async (page: Page, key = masterKey) => {
    await page.getByRole('tab', { name: 'Operator' }).click()
    await page.getByLabel('Master key').fill(key)
    await page.keyboard.press('Enter')
  }

  test('a page asks to sign in, and leads back to where one wanted to go', async () => {
    const { page, close, faults } = await openPage(browser, gateway.url)
    await page.goto(`${gateway.url}/ui/keys?key=none`)
    await page.getByRole('heading', { name: 'Sign in to Modelgate' }).waitFor()
    // This gateway sends no mail.
    expect(await page.getByRole('link', { name: 'Forgot your password?' }).count()).toBe(0)
    await giveMasterKey(page, 'sk-not-the-master-key-of-this-gateway')
    await page.locator('[data-invalid]').first().waitFor()
    await giveMasterKey(page)
    await page.getByRole('heading', { name: 'Keys', level: 1 }).waitFor()
    expect(new URL(page.url()).search).toBe('?key=none')
    // The cookie is out of reach of scripts, and nothing else is kept.
    expect(await page.evaluate(() => [document.cookie, Object.values({ ...localStorage, ...sessionStorage })])).toEqual(
      ['', expect.not.arrayContaining([expect.stringContaining('sk-')])],
    )
    expect(faults).toEqual([])
    await close()
  })

  test('where the gateway sends mail, the page leads to the one that asks for a link', async () => {
    const mailing = await startGatewayWithPages({
      environment: {
        SMTP_HOST: '127.0.0.1',
        SMTP_SENDER_EMAIL: 'gateway@example.com',
        PROXY_BASE_URL: 'http://gateway.example.com',
      },
    })
    const { page, close, faults } = await openPage(browser, mailing.url)
    await page.goto(`${mailing.url}/ui/login`)
    await page.getByRole('link', { name: 'Forgot your password?' }).waitFor()
    expect(await violations(page)).toEqual([])
    await page.getByRole('link', { name: 'Forgot your password?' }).click()
    await page.getByRole('button', { name: 'Send a link' }).waitFor()
    expect(faults).toEqual([])
    await close()
    await mailing.stop()
  })

  test('an address of another site is not led to', async () => {
    for (const from of ['//example.com/', 'https://example.com/', '/\\example.com']) {
      const { page, close, faults } = await openPage(browser, gateway.url)
      await page.goto(`${gateway.url}/ui/login?from=${encodeURIComponent(from)}`)
      await giveMasterKey(page)
      await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
      expect([from, faults]).toEqual([from, []])
      await close()
    }
  })

  test('a session that ends keeps what was typed: one signs in above the page', async () => {
    const { page, context, close } = await openPage(browser, gateway.url)
    await page.goto(`${gateway.url}/ui/login?from=/keys`)
    await giveMasterKey(page)
    await page.locator('[data-primary]').click()
    await page.getByRole('dialog').getByLabel('Name').fill('typed before')
    const name = page.locator('input[maxlength="255"]')
    await context.clearCookies()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Your session has ended' }).waitFor()
    expect(await name.inputValue()).toBe('typed before')
    const ended = page.getByRole('dialog', { name: 'Your session has ended' })
    await page.waitForFunction(() => document.activeElement?.getAttribute('name') === 'username')
    // There is nothing behind it that could be used without a session.
    expect(await ended.getByRole('button', { name: 'Close' }).count()).toBe(0)
    await giveMasterKey(page)
    await page.getByRole('heading', { name: 'Your session has ended' }).waitFor({ state: 'detached' })
    expect(await page.getByRole('alert').count()).toBe(0)
    await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
    await page.getByRole('heading', { name: 'Key typed before created' }).waitFor()
    await close()
  })

  test('signing out everywhere ends the session of another browser too', async () => {
    const [here, there] = [await openPage(browser, gateway.url), await openPage(browser, gateway.url)]
    for (const { page } of [here, there]) {
      await page.goto(`${gateway.url}/ui/login?from=/sessions`)
      await giveMasterKey(page)
      await page.getByText('This one').waitFor()
    }
    await here.page.getByRole('button', { name: 'Sign out everywhere' }).click()
    await here.page.getByRole('alertdialog').getByRole('button', { name: 'Sign out everywhere' }).click()
    await here.page.getByRole('heading', { name: /Sign in to Modelgate|Your session has ended/ }).waitFor()
    await there.page.reload()
    await there.page.getByRole('heading', { name: 'Sign in to Modelgate' }).waitFor()
    await here.close()
    await there.close()
  })

  test('signing out in the menu ends the session', async () => {
    const { page, context, close } = await openPage(browser, gateway.url)
    await page.goto(`${gateway.url}/ui/login`)
    await giveMasterKey(page)
    await page.getByRole('button', { name: /^Account/ }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in to Modelgate' }).waitFor()
    expect((await context.cookies()).filter(({ name }) => name.endsWith('modelgate_session'))).toEqual([])
    await close()
  })
})
