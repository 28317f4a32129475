/** The chat and the model hub: real calls of the simulator through the gateway. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser } from 'playwright-core'
import { startGateway } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'
import { builtPages, hasChromium, openBrowser, openSignedIn, pageMs, violations } from './browser.ts'

setDefaultTimeout(3 * pageMs)

describe.skipIf(!hasChromium)('the model hub and the chat', () => {
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

  test('the hub finds a model, shows its price and leads to the chat with it', async () => {
    const { page, context, faults } = await openSignedIn(browser, gateway)
    await page.goto(`${gateway.url}/ui/model_hub`)
    await page.getByRole('link', { name: 'chat-model' }).first().waitFor()
    await page.getByRole('searchbox').fill('embedding')
    await page.getByRole('link', { name: 'chat-model' }).first().waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'embedding-model' }).click()
    await page.getByRole('dialog').locator('[title$="USD / token"]').first().waitFor()
    await page.goto(`${gateway.url}/ui/model_hub_table?model=chat-model`)
    await page.getByRole('table', { name: 'Model hub' }).waitFor()
    expect(await violations(page)).toEqual([])
    await page.getByRole('link', { name: 'Try in chat' }).click()
    await page.waitForURL('**/ui/chat?model=chat-model')
    expect(faults).toEqual([])
    await context.close()
  })

  test('a question is asked by keyboard alone, answered again, and its calls are in the ledger', async () => {
    const { page, context, faults } = await openSignedIn(browser, gateway)
    await page.goto(`${gateway.url}/ui/chat?model=chat-model`)
    await page.getByLabel('Message').focus()
    await page.keyboard.type('Hello <img src=x onerror=alert(1)>')
    await page.keyboard.press('Enter')
    const again = page.getByRole('button', { name: 'Answer again' })
    await again.waitFor()
    await page.getByText(/tokens in, .* tokens out/).waitFor()
    expect((await page.getByRole('region', { name: 'chat-model' }).innerText()).length).toBeGreaterThan(0)
    // What was typed is text.
    expect(await page.locator('main img').count()).toBe(0)
    expect(await violations(page)).toEqual([])
    await again.focus()
    const second = page.waitForResponse(response => response.url().endsWith('/v1/chat/completions'))
    await page.keyboard.press('Enter')
    expect((await second).status()).toBe(200)
    await again.waitFor()
    expect(await page.getByRole('region', { name: 'You' }).count()).toBe(1)
    expect((await gateway.rows()).filter(row => row.outcome === 'success').length).toBe(2)
    expect(faults).toEqual([])
    await context.close()
  })

  test('a refusal stands where the answer would be', async () => {
    const key = await gateway.key({ rpm_limit: 0 })
    const { page, context } = await openSignedIn(browser, gateway, { key })
    await page.goto(`${gateway.url}/ui/chat?model=chat-model`)
    await page.getByLabel('Message').fill('Hello')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByRole('alert').waitFor()
    await context.close()
  })
})
