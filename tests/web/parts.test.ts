/** `/ui/_parts`, which has every part: it holds what it promises to everybody, in both themes and all widths. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { rmSync } from 'node:fs'
import type { Browser } from 'playwright-core'
import { startGateway } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'
import { developmentPages, hasChromium, closePages, openBrowser, openPage, pageMs, violations } from './browser.ts'

setDefaultTimeout(2 * pageMs)

/** Their colours are those of the page: the other theme looks at one of them. */
const popups = ['Open dialog', 'Open confirmation', 'Open drawer', 'Menu']

describe.skipIf(!hasChromium)('the parts', () => {
  let folder: string
  let gateway: Gateway
  let browser: Browser
  beforeAll(async () => {
    folder = await developmentPages()
    gateway = await startGateway({ environment: { MODELGATE_WEB_DIRECTORY: folder } })
    browser = await openBrowser()
  })
  afterAll(async () => {
    await closePages(browser)
    await gateway?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  test.each(['light', 'dark'] as const)('axe finds nothing in %s, also in what floats', async colorScheme => {
    const { page, close, faults } = await openPage(browser, gateway.url, { colorScheme })
    await page.goto(`${gateway.url}/ui/_parts`)
    await page.getByRole('heading', { name: 'EmptyState, ErrorState, Skeleton' }).waitFor()
    await page.locator('.uplot').waitFor()
    await page.locator('.hljs-keyword').first().waitFor()
    expect(await violations(page)).toEqual([])
    for (const name of colorScheme === 'light' ? popups : popups.slice(0, 1)) {
      await page.getByRole('button', { name, exact: true }).click()
      await page.locator('.floating[data-open]').waitFor()
      expect([name, await violations(page, { popup: name === 'Menu' })]).toEqual([name, []])
      await page.keyboard.press('Escape')
      await page.locator('.floating[data-open]').waitFor({ state: 'detached' })
    }
    expect(faults).toEqual([])
    await close()
  })

  test('nothing is wider than a screen of 360 pixels', async () => {
    const { page, close } = await openPage(browser, gateway.url, { viewport: { width: 360, height: 740 } })
    await page.goto(`${gateway.url}/ui/_parts`)
    await page.getByRole('heading', { name: 'EmptyState, ErrorState, Skeleton' }).waitFor()
    const widths = await page.evaluate(() => {
      const main = document.querySelector('main')!
      return [document.documentElement.scrollWidth, main.scrollWidth - main.clientWidth]
    })
    expect(widths).toEqual([360, 0])
    await close()
  })

  test('the wheel over a number field leaves the number alone', async () => {
    const { page, close } = await openPage(browser, gateway.url)
    await page.goto(`${gateway.url}/ui/_parts`)
    const field = page.getByLabel('Budget', { exact: true }).first()
    await field.click()
    await page.mouse.wheel(0, 120)
    expect(await field.inputValue()).toBe('20')
    await close()
  })

  test('Escape leaves what was chosen in a list of several', async () => {
    const { page, close } = await openPage(browser, gateway.url)
    await page.goto(`${gateway.url}/ui/_parts`)
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
    await close()
  })

  test('markup in a text of a model is shown, and never used', async () => {
    const { page, close, faults } = await openPage(browser, gateway.url)
    await page.goto(`${gateway.url}/ui/_parts`)
    const text = page.locator('.markdown').first()
    await text.waitFor()
    expect(await text.innerHTML()).toContain('&lt;img src=x onerror=alert(1)&gt;')
    expect(await text.locator('img, script').count()).toBe(0)
    expect(faults).toEqual([])
    await close()
  })
})
