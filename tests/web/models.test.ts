/** The page of models: deployments, their prices, and a test call for those who may change them. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser } from 'playwright-core'
import { startGateway } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'
import { builtPages, hasChromium, openBrowser, openSignedIn, pageMs, violations } from './browser.ts'

setDefaultTimeout(3 * pageMs)

describe.skipIf(!hasChromium)('the page of models', () => {
  let gateway: Gateway
  let browser: Browser
  beforeAll(async () => {
    gateway = await startGateway({ environment: { MODELGATE_WEB_DIRECTORY: await builtPages() } })
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    await gateway?.stop()
  })

  const openModels = async (search = '', options = {}) => {
    const opened = await openSignedIn(browser, gateway, options)
    await opened.page.goto(`${gateway.url}/ui/models${search}`)
    await opened.page.getByRole('heading', { name: 'Models', level: 1 }).waitFor()
    return opened
  }

  test('the list is searched, and prices are for a million tokens', async () => {
    const { page, context } = await openModels()
    await page.getByRole('table').getByText('embedding-model').waitFor()
    await page.getByRole('searchbox', { name: 'Search models by name' }).fill('claude-m')
    await page.getByRole('table').getByText('embedding-model').waitFor({ state: 'detached' })
    const row = page.getByRole('row').nth(1)
    expect((await row.innerText()).split(/\s*\n\s*/)).toEqual(
      expect.arrayContaining(['claude-model', '$3.00', '$15.00']),
    )
    await context.close()
  })

  test('a test call says that a deployment answers, or why not', async () => {
    const { page, context } = await openModels('?model=chat-model')
    await page.getByRole('button', { name: 'Test call' }).click()
    await page.getByText('Answers', { exact: true }).waitFor()
    await page.goto(`${gateway.url}/ui/models?model=nobody`)
    await page.getByRole('button', { name: 'Test call' }).click()
    await page.getByText('Does not answer', { exact: true }).waitFor()
    await context.close()
  })

  test('credentials, and addresses and test calls for other keys than those of administrators, are not shown', async () => {
    const { page, context } = await openModels('?model=chat-model', { key: await gateway.key() })
    const drawer = page.getByRole('dialog', { name: 'chat-model' })
    await drawer.getByText('custom_openai/sim-chat').waitFor()
    expect(await drawer.getByRole('button', { name: 'Test call' }).count()).toBe(0)
    expect(await drawer.innerText()).not.toContain(gateway.simulator.url)
    expect(await page.content()).not.toContain('upstream-key-canary')
    await context.close()
  })

  test('axe has no objection, in light and dark', async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      const { page, context, faults } = await openModels('?model=chat-model', { colorScheme })
      await page.getByRole('dialog').getByText('custom_openai/sim-chat').waitFor()
      expect(await violations(page)).toEqual([])
      expect(faults).toEqual([])
      await context.close()
    }
  })
})
