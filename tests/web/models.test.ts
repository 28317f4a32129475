/** The page of models: deployments, their prices, and a test call for those who may change them. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser } from 'playwright-core'
import type { Gateway } from '../e2e/harness.ts'
import { violations } from './axe.ts'
import { goTo, hasChromium, openSignedIn, pageMs, withPages } from './browser.ts'

setDefaultTimeout(3 * pageMs)

describe.skipIf(!hasChromium)('the page of models', () => {
  let gateway: Gateway
  let browser: Browser
  withPages({}, opened => ({ gateway, browser } = opened))

  const openModels = async (search = '', options = {}) => {
    const opened = await openSignedIn(browser, gateway, options)
    await opened.page.goto(`${gateway.url}/ui/models${search}`)
    await opened.page.getByRole('heading', { name: 'Models', level: 1 }).waitFor()
    return opened
  }

  test('typing the name of a provider offers that provider first', async () => {
    const { page, close } = await openModels()
    await page.locator('[data-primary]').click()
    await page.getByRole('dialog').getByRole('combobox', { name: 'Provider' }).fill('openai')
    const options = page.getByRole('option')
    await options.filter({ hasText: /^openai$/ }).waitFor()
    expect(await options.first().innerText()).toBe('openai')
    await page.getByRole('option', { name: 'openai', exact: true }).click()
    await close()
  })

  test('the list is searched, prices are for a million tokens, and a test call says that a deployment answers, or why not', async () => {
    const { page, close } = await openModels()
    await page.getByRole('table').getByText('embedding-model').waitFor()
    await page.getByText(/^Prices of the built-in list of .*20\d\d/).waitFor()
    await page.getByRole('searchbox', { name: 'Search models by name' }).fill('claude-m')
    await page.getByRole('table').getByText('embedding-model').waitFor({ state: 'detached' })
    const row = page.getByRole('row').nth(1)
    expect((await row.innerText()).split(/\s*\n\s*/)).toEqual(
      expect.arrayContaining(['claude-model', '$3.00', '$15.00']),
    )
    for (const [model, said] of [
      ['chat-model', 'Answers'],
      ['nobody', 'Does not answer'],
    ] as const) {
      await goTo(page, `/models?model=${model}`)
      const drawer = page.getByRole('dialog', { name: model, exact: true })
      await drawer.getByRole('button', { name: 'Test call' }).click()
      await drawer.getByText(said, { exact: true }).waitFor()
    }
    await close()
  })

  test('credentials, and addresses and test calls for other keys than those of administrators, are not shown', async () => {
    const { page, close } = await openModels('?model=chat-model', { key: await gateway.key() })
    const drawer = page.getByRole('dialog', { name: 'chat-model' })
    await drawer.getByText('custom_openai/sim-chat').waitFor()
    expect(await drawer.getByRole('button', { name: 'Test call' }).count()).toBe(0)
    expect(await drawer.innerText()).not.toContain(gateway.simulator.url)
    expect(await page.content()).not.toContain('upstream-key-canary')
    await close()
  })

  test('a deployment says where it is set; one made here gets another key, unseen, and goes when its name is typed', async () => {
    const { page, close, faults } = await openModels()
    await page
      .getByRole('row')
      .filter({ hasText: 'claude-model' })
      .getByText(/^file .*:\d+$/)
      .waitFor()
    await page.keyboard.press('c')
    const dialog = page.getByRole('dialog', { name: 'Add model' })
    const provider = dialog.getByRole('combobox', { name: 'Provider' })
    await provider.click()
    // All that the gateway supports, found by typing, with what each needs.
    const { providers } = (await (await gateway.admin('/providers')).json()) as { providers: { provider: string }[] }
    await page.getByRole('option').first().filter({ hasText: 'Own server' }).waitFor()
    expect(await page.getByRole('option').count()).toBe(providers.length)
    expect(providers.map(one => one.provider)).toEqual(expect.arrayContaining(['bedrock', 'openai', 'custom_openai']))
    await provider.fill('deepse')
    await page.getByRole('option', { name: 'deepseek' }).click()
    await dialog.getByText('that of the variable DEEPSEEK_API_KEY').waitFor()
    await dialog.getByText('Empty = https://api.deepseek.com').waitFor()
    await provider.fill('own ser')
    await page.getByRole('option', { name: /^Own server/ }).click()
    expect(await violations(page)).toEqual([])
    await dialog.getByLabel('Base URL').fill(`${gateway.simulator.url.replace(/\/$/, '')}/v1`)
    await dialog.getByLabel('API key').fill('first-secret-key')
    await dialog.getByLabel('Model', { exact: true }).fill('made-here')
    await dialog.getByRole('button', { name: 'Add model' }).click()
    await page.getByRole('link', { name: 'made-here' }).click()
    const drawer = page.getByRole('dialog', { name: 'made-here', exact: true })
    await drawer.getByRole('button', { name: 'Change key or address' }).click()
    const change = page.getByRole('dialog', { name: 'Change key or address' })
    expect(await change.getByLabel('API key').inputValue()).toBe('')
    await change.getByLabel('API key').fill('second-secret-key')
    await change.getByRole('button', { name: 'Save changes' }).click()
    await page.getByText('Deployment of made-here changed').first().waitFor()
    await drawer.getByRole('button', { name: 'Test call' }).click()
    await drawer.getByText('Answers', { exact: true }).waitFor()
    expect(await page.content()).not.toContain('secret-key')
    expect(await violations(page)).toEqual([])
    await drawer.getByRole('button', { name: 'Delete deployment' }).click()
    // The answer comes when another model is shown already.
    const held = Promise.withResolvers<void>()
    await page.route('**/model/delete', async route => {
      await held.promise
      await route.continue()
    })
    await page.getByRole('alertdialog').getByRole('textbox').fill('made-here')
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete deployment' }).click()
    // What the file sets is read-only, and says where.
    await goTo(page, '/models?model=claude-model')
    const ofFile = page.getByRole('dialog', { name: 'claude-model', exact: true })
    await ofFile.getByText(/^Set by .*:\d+: change it there/).waitFor()
    held.resolve()
    await page.getByText('Deployment of made-here deleted').first().waitFor()
    await page.getByRole('link', { name: 'made-here' }).waitFor({ state: 'detached' })
    await drawer.waitFor({ state: 'detached' })
    await ofFile.getByText(/^Set by .*:\d+: change it there/).waitFor()
    expect(new URL(page.url()).search).toBe('?model=claude-model')
    expect(await page.getByRole('button', { name: 'Delete deployment' }).count()).toBe(0)
    expect(faults).toEqual([])
    await close()
  })

  test('a deployment of the file is disabled with a reason in the list of health, and enabled where its model is shown', async () => {
    const { page, close, faults } = await openSignedIn(browser, gateway)
    await page.goto(`${gateway.url}/ui/health`)
    const row = page.getByRole('row').filter({ hasText: 'embedding-model' })
    await row.getByRole('button', { name: 'Disable' }).click()
    const dialog = page.getByRole('dialog', { name: /^Disable embedding-model/ })
    await dialog.getByLabel('Reason').fill('its bill is unpaid')
    expect(await violations(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Disable' }).click()
    await row.getByText('Disabled').waitFor()
    await row.getByText('by master, its bill is unpaid').waitFor()
    const input = { model: 'embedding-model', input: 'Hi' }
    expect((await gateway.admin('/v1/embeddings', input)).status).toBe(403)
    await goTo(page, '/model_hub?q=embedding-model')
    await page.getByText('Disabled').first().waitFor()
    await goTo(page, '/models?model=embedding-model')
    const drawer = page.getByRole('dialog', { name: 'embedding-model' })
    await drawer.getByText('its bill is unpaid').waitFor()
    expect(await violations(page)).toEqual([])
    await drawer.getByRole('button', { name: 'Enable' }).click()
    await drawer.getByText('its bill is unpaid').waitFor({ state: 'detached' })
    expect((await gateway.admin('/v1/embeddings', input)).status).toBe(200)
    expect(faults).toEqual([])
    await close()
  })

  test('the page of health shows how calls ended without asking, and asks when it is told to', async () => {
    for (const model of ['claude-model', ...Array<string>(6).fill('nobody')])
      await (
        await fetch(`${gateway.url}/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${await gateway.key()}`, 'content-type': 'application/json' },
          body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }], num_retries: 0 }),
        })
      ).text()
    const { page, close, faults } = await openSignedIn(browser, gateway)
    const asked: string[] = []
    page.on('request', request => asked.push(new URL(request.url()).pathname))
    await page.goto(`${gateway.url}/ui/health`)
    const row = page.getByRole('row').filter({ hasText: 'nobody' })
    await row.getByText(/Cooling down after failures|Many failures/).waitFor()
    await row.getByRole('img', { name: /calls in 14 days, \d+ of them failed/ }).waitFor()
    expect(asked).not.toContain('/health')
    await page
      .getByRole('row')
      .filter({ hasText: 'claude-model' })
      .getByTitle(/^p50: half of the \d+ answered/)
      .waitFor()
    expect(await violations(page)).toEqual([])
    await page.getByRole('button', { name: 'Check now' }).dblclick()
    await row.getByText('Does not answer').waitFor()
    await page.getByRole('row').filter({ hasText: 'claude-model' }).getByText('Healthy').waitFor()
    // Calls cost money: a double click makes them once.
    expect(asked.filter(path => path === '/health').length).toBe(1)
    expect(await violations(page)).toEqual([])
    const made = await gateway.admin('/user/new', { user_id: 'vera', user_role: 'proxy_admin_viewer' })
    const { key } = (await made.json()) as { key: string }
    const viewer = await openSignedIn(browser, gateway, { key })
    await viewer.page.goto(`${gateway.url}/ui/health`)
    await viewer.page.getByRole('table').waitFor()
    expect(await viewer.page.locator('[data-primary]').count()).toBe(0)
    expect(faults).toEqual([])
    await close()
    await viewer.close()
  })
})
