/** The overview of a new installation: each step of the setup does itself, from the first model to the first call. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser } from 'playwright-core'
import { startGateway } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'
import { builtPages, hasChromium, openBrowser, openSignedIn, pageMs, violations } from './browser.ts'

setDefaultTimeout(3 * pageMs)

describe.skipIf(!hasChromium)('the overview', () => {
  let gateway: Gateway
  let browser: Browser
  beforeAll(async () => {
    gateway = await startGateway({ config: '{}\n', environment: { MODELGATE_WEB_DIRECTORY: await builtPages() } })
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    await gateway?.stop()
  })

  test('a new installation is led from its first model to its first call in ten clicks', async () => {
    const { page, context, faults } = await openSignedIn(browser, gateway)
    let clicks = 0
    const press = async (name: string) => {
      clicks++
      await page.getByRole('button', { name, exact: true }).last().click()
    }
    await page.goto(`${gateway.url}/ui/`)
    await page.getByRole('heading', { name: 'Set up this gateway' }).waitFor()
    expect(await violations(page)).toEqual([])

    await press('Add model')
    const dialog = page.getByRole('dialog', { name: 'Add model' })
    clicks += 2
    await dialog.getByRole('combobox', { name: 'Provider' }).click()
    await page.getByRole('option', { name: /^Own server/ }).click()
    await dialog.getByLabel('Base URL').fill(`${gateway.simulator.url.replace(/\/$/, '')}/v1`)
    await dialog.getByLabel('API key').fill('upstream-key-of-the-setup')
    await dialog.getByLabel('Model', { exact: true }).fill('sim-chat')
    await press('Add model')
    await page.getByText('Add a model of a provider · done').waitFor()

    await press('Create key')
    await page.getByRole('dialog').getByLabel('Name').fill('first')
    await press('Create key')
    const secret = page.getByRole('dialog').locator('output')
    await secret.waitFor()
    const key = await secret.innerText()
    await press('Copy key')
    await press('I have copied it')
    await page.getByText('Create a key · done').waitFor()
    expect(clicks).toBeLessThanOrEqual(10)

    // As the page shows it, in a shell, with the key that was made.
    const shown = await page.getByRole('region', { name: 'First call: curl' }).innerText()
    expect(shown).toContain('"model":"sim-chat"')
    const call = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: /-d '(.*)'/.exec(shown)![1]!,
    })
    expect(call.status).toBe(200)
    await call.text()
    // The page sees the call by itself, and the setup is over.
    await page.getByRole('heading', { name: 'Set up this gateway' }).waitFor({ state: 'detached' })
    await page.getByText('sim-chat').waitFor()
    expect(await page.content()).not.toContain('upstream-key-of-the-setup')
    expect(faults).toEqual([])
    await context.close()
  })

  test('what the server refuses stands in the dialog, and what was typed stays', async () => {
    const { page, context } = await openSignedIn(browser, gateway)
    await page.route('**/v1/model/info', route => route.fulfill({ json: { data: [] } }))
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
    await context.close()
  })

  test('a member sees what it may call, and no setup', async () => {
    const made = await gateway.admin('/user/new', { user_id: 'ada', user_role: 'internal_user' })
    const { key } = (await made.json()) as { key: string }
    const { page, context } = await openSignedIn(browser, gateway, { key })
    await page.goto(`${gateway.url}/ui/`)
    await page.getByRole('heading', { name: 'Models you may call' }).waitFor()
    await page.getByText('local/simulated-chat').waitFor()
    expect(await page.getByRole('heading', { name: 'Set up this gateway' }).count()).toBe(0)
    await context.close()
  })
})
