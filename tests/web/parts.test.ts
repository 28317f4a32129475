/** `/ui/_parts`, which has every part: it holds what it promises to everybody, in both themes and all widths. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { rmSync } from 'node:fs'
import type { Browser, Page } from 'playwright-core'
import { startGateway } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'
import { until } from '../support/until.ts'
import { violations, violationsInBothThemes } from './axe.ts'
import { closePages, developmentPages, hasChromium, openBrowser, openPage, pageMs } from './browser.ts'

setDefaultTimeout(2 * pageMs)

describe.skipIf(!hasChromium)('the parts', () => {
  let folder: string
  let gateway: Gateway
  let browser: Browser
  // The page is large: one serves all tests, and each leaves it as it was.
  let page: Page
  let faults: string[]
  beforeAll(async () => {
    folder = await developmentPages()
    gateway = await startGateway({ environment: { MODELGATE_WEB_DIRECTORY: folder } })
    browser = await openBrowser()
    ;({ page, faults } = await openPage(browser, gateway.url))
    await page.goto(`${gateway.url}/ui/_parts`)
    await page.getByRole('heading', { name: 'EmptyState, ErrorState, Skeleton' }).waitFor()
    await page.locator('.uplot').waitFor()
    await page.locator('.hljs-keyword').first().waitFor()
  })
  afterAll(async () => {
    await closePages(browser)
    await gateway?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  test('axe finds nothing in light and dark, also in what floats', async () => {
    expect(await violationsInBothThemes(page)).toEqual([])
    // Their colours are those of the page: dark looks at one of them.
    for (const name of ['Open dialog', 'Open confirmation', 'Open drawer', 'Menu']) {
      await page.getByRole('button', { name, exact: true }).click()
      await page.locator('.floating[data-open]').waitFor()
      const look = name === 'Open dialog' ? violationsInBothThemes : violations
      // What is behind it was looked at.
      expect([name, await look(page, { popup: name === 'Menu', except: ['main'] })]).toEqual([name, []])
      await page.keyboard.press('Escape')
      await page.locator('.floating[data-open]').waitFor({ state: 'detached' })
      await page.emulateMedia({ colorScheme: 'light' })
    }
    expect(faults).toEqual([])
  })

  test('nothing is wider than a screen of 360 pixels', async () => {
    await page.setViewportSize({ width: 360, height: 740 })
    const widths = () =>
      page.evaluate(() => {
        const main = document.querySelector('main')!
        return [document.documentElement.scrollWidth, main.scrollWidth - main.clientWidth].join()
      })
    // Parts that follow the width of the window are drawn anew a moment after it changes.
    await until(async () => (await widths()) === '360,0', 'a page of 360 pixels')
    await page.setViewportSize({ width: 1280, height: 720 })
  })

  test('the wheel over a number field leaves the number alone', async () => {
    const field = page.getByLabel('Budget', { exact: true }).first()
    await field.click()
    await page.mouse.wheel(0, 120)
    expect(await field.inputValue()).toBe('20')
  })

  test('Escape leaves what was chosen in a list of several', async () => {
    const chips = page.getByRole('button', { name: /^Remove / })
    await chips.first().waitFor()
    const before = await chips.count()
    const field = page.getByRole('combobox', { name: 'Models' }).first()
    await field.click()
    await page.getByRole('listbox').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('listbox').waitFor({ state: 'detached' })
    await page.keyboard.press('Escape')
    await page.keyboard.press('Escape')
    expect(await chips.count()).toBe(before)
  })

  test('markup in a text of a model is shown, and never used', async () => {
    const text = page.locator('.markdown').first()
    await text.waitFor()
    expect(await text.innerHTML()).toContain('&lt;img src=x onerror=alert(1)&gt;')
    expect(await text.locator('img, script').count()).toBe(0)
    expect(faults).toEqual([])
  })
})
