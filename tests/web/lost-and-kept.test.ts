/** What a person types, and where the keyboard is, is not lost; tags and the own password have their places. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import { standardConfig } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'
import { until } from '../support/until.ts'
import { violations } from './axe.ts'
import {
  closePages,
  hasChromium,
  openBrowser,
  openPage,
  openSignedIn,
  pageMs,
  signInByInvitation,
  startGatewayWithPages,
} from './browser.ts'

setDefaultTimeout(3 * pageMs)

/** What has the focus: its role or element, and its name. */
const focused = (page: Page) =>
  page.evaluate(() => {
    const one = document.activeElement!
    return `${one.getAttribute('role') ?? one.tagName.toLowerCase()} ${one.getAttribute('aria-label') ?? one.id}`.trim()
  })

describe.skipIf(!hasChromium)('nothing is lost', () => {
  let gateway: Gateway
  let browser: Browser
  beforeAll(async () => {
    gateway = await startGatewayWithPages({ config: standardConfig })
    browser = await openBrowser()
  })
  afterAll(async () => {
    await closePages(browser)
    await gateway?.stop()
  })

  test('a tag that is typed without Enter is taken; tags are made, changed and deleted on their page', async () => {
    const { page, close, faults } = await openSignedIn(browser, gateway)
    await page.goto(`${gateway.url}/ui/tags`)
    await page.getByRole('button', { name: 'Create tag' }).first().click()
    const dialog = page.getByRole('dialog', { name: 'Create tag' })
    await dialog.getByLabel('Tag', { exact: true }).fill('nightly')
    await dialog.getByRole('combobox', { name: 'Models' }).fill('chat-model')
    await dialog.getByLabel('Tag', { exact: true }).focus()
    await dialog.getByRole('button', { name: 'Remove chat-model' }).waitFor()
    await dialog.getByRole('combobox', { name: 'Models' }).fill('claude-*')
    // Without Enter, straight to the button.
    await page.locator('[role=dialog] button[type=submit]').press('Enter')
    const drawer = page.getByRole('dialog', { name: 'nightly' })
    await drawer.getByText('chat-model, claude-*').waitFor()
    expect(await violations(page)).toEqual([])
    const made = (await (await gateway.admin('/tag/info', { names: ['nightly'] })).json()) as Record<string, object>
    expect(made.nightly).toMatchObject({ models: ['chat-model', 'claude-*'] })
    await drawer.getByRole('button', { name: 'Edit' }).press('Enter')
    await drawer.getByLabel('Description').fill('at night')
    await drawer.getByRole('button', { name: 'Save' }).press('Enter')
    await drawer.getByText('at night').waitFor()
    // Neither after Edit nor after Save the keyboard begins at the top of the document.
    await until(async () => (await focused(page)) !== 'body')
    await drawer.getByRole('button', { name: 'Delete' }).press('Enter')
    await page.getByRole('alertdialog').getByRole('textbox').fill('nightly')
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).press('Enter')
    await page.getByText('No tags yet').waitFor()
    await until(async () => (await focused(page)) !== 'body')
    expect(faults).toEqual([])
    await close()
  })

  test('another page by `g` and a letter begins at its content', async () => {
    const { page, close } = await openSignedIn(browser, gateway)
    await page.goto(`${gateway.url}/ui/teams`)
    await page.getByRole('button', { name: 'Create team' }).first().focus()
    await page.keyboard.press('g')
    await page.keyboard.press('y')
    await page.getByRole('heading', { name: 'Tags', level: 1 }).waitFor()
    await until(async () => (await focused(page)) === 'main content')
    await close()
  })

  test('a person changes the own password with the present one', async () => {
    await gateway.admin('/user/new', { user_id: 'ada', user_email: 'ada@example.com', auto_create_key: false })
    const { page, context, close } = await openPage(browser, gateway.url)
    await signInByInvitation(context, gateway, 'ada')
    await page.goto(`${gateway.url}/ui/sessions`)
    const give = async (current: string, next: string, again = next) => {
      await page.getByLabel('Present password').fill(current)
      await page.getByLabel('New password', { exact: true }).fill(next)
      await page.getByLabel('New password again').fill(again)
    }
    const change = page.getByRole('button', { name: 'Change password' })
    await give('correct horse battery', 'another long password', 'another')
    await page.getByText('It is not the same as above.').waitFor()
    expect(await change.isDisabled()).toBe(true)
    await give('not the present one', 'another long password')
    await change.click()
    await page.locator('[data-invalid]').or(page.getByRole('alert')).first().waitFor()
    await give('correct horse battery', 'another long password')
    await change.click()
    await page.getByText('Password changed').waitFor()
    const signIn = (password: string) =>
      fetch(`${gateway.url}/v2/login`, {
        method: 'POST',
        headers: { origin: gateway.url, 'content-type': 'application/json' },
        body: JSON.stringify({ username: 'ada@example.com', password }),
      })
    expect((await signIn('another long password')).status).toBe(200)
    expect((await signIn('correct horse battery')).ok).toBe(false)
    await close()
  })

  test('where the system decides the colours, dots and meters are still drawn', async () => {
    await gateway.key({ key_alias: 'limited', max_budget: 1 })
    const { page, close } = await openSignedIn(browser, gateway)
    await page.emulateMedia({ forcedColors: 'active' })
    await page.goto(`${gateway.url}/ui/keys`)
    const dot = page.getByRole('row').nth(1).locator('span.rounded-full').first()
    await dot.waitFor()
    const [dotColor, ground] = await dot.evaluate(one => [
      getComputedStyle(one).backgroundColor,
      getComputedStyle(document.body).backgroundColor,
    ])
    expect(dotColor).not.toBe(ground)
    expect(await dot.evaluate(one => getComputedStyle(one).forcedColorAdjust)).toBe('none')
    await page.emulateMedia({ forcedColors: 'none' })
    await close()
  })

  test('keys are ordered by name and chosen by their state; on the smallest screen the ending of a key is whole', async () => {
    const prefix = `zz-${'x'.repeat(40)}`
    await gateway.admin('/key/generate', { key_alias: `${prefix}-b`, duration: '3d' })
    await gateway.admin('/key/generate', { key_alias: `${prefix}-a`, duration: '3d', blocked: true })
    const { page, close } = await openSignedIn(browser, gateway)
    await page.goto(`${gateway.url}/ui/keys?q=zz-&sort=key_alias.asc`)
    const names = page.getByRole('row').getByRole('link')
    await names.nth(1).waitFor()
    expect(await names.allInnerTexts()).toEqual([`${prefix}-a`, `${prefix}-b`])
    await page.getByRole('button', { name: 'Sort by Name' }).click()
    await until(async () => (await names.first().innerText()) === `${prefix}-b`)
    await page.getByRole('combobox', { name: 'Status' }).click()
    await page.getByRole('option', { name: 'ends within 14 days' }).click()
    await until(async () => (await names.count()) === 1)
    await page.setViewportSize({ width: 320, height: 640 })
    const code = page.getByRole('row').nth(1).locator('code')
    // What is drawn at its end is the key itself, and nothing above it.
    const isWhole = await code.evaluate(one => {
      const box = one.getBoundingClientRect()
      const cell = one.parentElement!.getBoundingClientRect()
      return box.right <= cell.right + 1 && one.scrollWidth <= one.clientWidth + 1
    })
    expect(isWhole).toBe(true)
    await close()
  })
})
