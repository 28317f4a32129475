/** Pages of the operator on one gateway: the configuration with its sources, guardrails, the cache of answers. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser } from 'playwright-core'
import { masterKey, standardConfig } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'
import { violations } from './axe.ts'
import { goTo, hasChromium, closePages, openBrowser, openSignedIn, pageMs, startGatewayWithPages } from './browser.ts'

setDefaultTimeout(3 * pageMs)

const config = `${standardConfig}
litellm_settings:
  cache: true
  cache_params: { type: local, ttl: 1234 }
credential_list:
  - { credential_name: of-file, credential_values: { api_key: planted-key-of-file } }
guardrails:
  - guardrail_name: pii
    litellm_params: { guardrail: personal_data, mode: [pre_call, post_call], default_on: true, pii_entities_config: { EMAIL_ADDRESS: MASK } }
general_settings:
  alert_to_webhook_url: { budget_alerts: "https://hooks.example.com/planted-webhook" }
`

describe.skipIf(!hasChromium)('pages of the operator', () => {
  let gateway: Gateway
  let browser: Browser
  beforeAll(async () => {
    const environment = {
      SMTP_HOST: 'mail.example.com',
      SMTP_USERNAME: 'a@b.example',
      SMTP_PASSWORD: 'planted-password',
    }
    gateway = await startGatewayWithPages({ config, environment })
    browser = await openBrowser()
  })
  afterAll(async () => {
    await closePages(browser)
    await gateway?.stop()
  })

  const openAt = async (path: string, options = {}) => {
    const opened = await openSignedIn(browser, gateway, options)
    await opened.page.goto(`${gateway.url}/ui/${path}`)
    await opened.page.getByRole('heading', { level: 1 }).waitFor()
    return opened
  }

  test('a value says file and line, variable or default; what is secret is not in the page', async () => {
    const { page, close, faults } = await openAt('settings')
    const table = page.getByRole('table', { name: 'Configuration' })
    await table.waitFor()
    const first = await table.getByRole('row').nth(1).getByRole('link').innerText()
    await page.getByRole('searchbox', { name: 'Search settings' }).fill('ttl')
    // A press on a row that is drawn anew meanwhile would be lost.
    await table.getByRole('link', { name: first, exact: true }).waitFor({ state: 'detached' })
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
    await goTo(page, '/settings?group=mail')
    await table.getByText('SMTP_PASSWORD').first().waitFor()
    await table.getByText('https://hooks.example.com/********').waitFor()
    expect(await page.content()).not.toContain('planted')
    await page.getByRole('combobox', { name: 'Show' }).click()
    await page.getByRole('option', { name: 'Only what is set' }).click()
    await table.getByText('SMTP_TLS').waitFor({ state: 'detached' })
    expect(await table.getByText('SMTP_HOST').count()).toBeGreaterThan(0)
    await page.getByText('only this one').waitFor()
    expect(faults).toEqual([])
    await close()
  })

  test('theme and language are chosen where a person looks at the sessions, and in the configuration', async () => {
    const key = await gateway.key()
    const { page, close } = await openAt('sessions', { key })
    await page.getByRole('combobox', { name: 'Theme' }).click()
    await page.getByRole('option', { name: 'Dark' }).click()
    expect(await page.evaluate(() => document.documentElement.dataset.theme)).toBe('dark')
    await page.getByRole('combobox', { name: 'Language' }).click()
    await page.getByRole('option', { name: 'Deutsch' }).click()
    await page.getByRole('heading', { name: 'Darstellung' }).waitFor()
    expect(await page.evaluate(() => document.documentElement.dataset.theme)).toBe('dark')
    await close()
  })

  test('what the gateway refuses is said in German at the field where the pages are German', async () => {
    await gateway.admin('/customer/new', { user_id: 'vergeben' })
    const { page, close, faults } = await openSignedIn(browser, gateway, { locale: 'de-DE' })
    await page.goto(`${gateway.url}/ui/customers`)
    await page.getByRole('button', { name: 'Kunden anlegen' }).click()
    const dialog = page.getByRole('dialog', { name: 'Kunden anlegen' })
    await dialog.getByLabel('Kunden-Id').fill('vergeben')
    await dialog.getByRole('button', { name: 'Kunden anlegen' }).click()
    await dialog.getByText(/^Das passt nicht zu dem, was gespeichert ist: .*vergeben/).waitFor()
    expect(await dialog.getByLabel('Kunden-Id').getAttribute('aria-invalid')).toBe('true')
    expect(faults).toEqual([])
    await close()
  })

  const ask = async (content: string) => {
    const body = { model: 'chat-model', messages: [{ role: 'user', content }] }
    const answer = await gateway.admin('/v1/chat/completions', body)
    expect([answer.status, await answer.text()]).toEqual([200, expect.any(String)])
    return answer.headers
  }

  test('the test bench marks what a guardrail finds, in questions and answers, and hits lead to their calls', async () => {
    await ask('Write to ada@example.com')
    const { page, close, faults } = await openAt('guardrails')
    const bench = page.getByRole('region', { name: 'Verdict' })
    await page.getByRole('textbox', { name: 'Text' }).fill('Mail ada@example.com or bob@example.com today')
    await page.getByRole('button', { name: 'Check' }).click()
    await bench.getByText('Masked').waitFor()
    expect(await bench.locator('mark').allInnerTexts()).toEqual(['ada@example.com', 'bob@example.com'])
    await bench.getByText('Mail [EMAIL_ADDRESS_1] or [EMAIL_ADDRESS_2] today').waitFor()
    await page.getByRole('combobox', { name: 'Checked as' }).click()
    await page.getByRole('option', { name: 'an answer' }).click()
    const judged = page.waitForRequest(request => request.url().endsWith('/guardrails/apply'))
    await page.getByRole('button', { name: 'Check' }).click()
    expect((await judged).postDataJSON()).toMatchObject({ input_type: 'response' })
    const hits = page.getByRole('table', { name: 'Recent hits' })
    await hits.getByText('pii:mask(EMAIL_ADDRESS=1)').first().waitFor()
    await hits.getByRole('link').first().click()
    await page.waitForURL(/\/ui\/logs\?.*call=/)
    expect(faults).toEqual([])
    await close()
  })

  test('a guardrail is made, changed and deleted; one of the file is read-only', async () => {
    const { page, close } = await openAt('guardrails')
    const create = page.getByRole('button', { name: 'Create guardrail' })
    await create.click()
    const dialog = page.getByRole('dialog', { name: 'Create guardrail' })
    await dialog.getByLabel('Name').fill('pii')
    await dialog.getByRole('button', { name: 'Create guardrail' }).click()
    await dialog.getByText(/stands in the configuration file/).waitFor()
    await dialog.getByLabel('Name').fill('tickets')
    await dialog.getByRole('combobox', { name: 'Kind' }).click()
    await page.getByRole('option', { name: 'regex' }).click()
    await dialog.getByRole('button', { name: 'Create guardrail' }).click()
    await page.getByRole('link', { name: 'tickets' }).click()
    await page.getByRole('button', { name: 'Change' }).click()
    await page.getByRole('switch', { name: 'Every call' }).click()
    await page.getByRole('dialog', { name: 'Change' }).getByRole('button', { name: 'Change' }).click()
    await page.getByRole('row').filter({ hasText: 'tickets' }).getByText('Every call').waitFor()
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByLabel('Type tickets to confirm').fill('tickets')
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('link', { name: 'tickets' }).waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'pii', exact: true }).click()
    await page.getByText('Defined in the configuration file').waitFor()
    expect(await page.getByRole('button', { name: 'Delete' }).count()).toBe(0)
    await close()
  })

  test('an address of what is gone says so, and leads back to the list', async () => {
    const { page, close, faults } = await openAt('guardrails')
    for (const [path, field] of [
      ['guardrails', 'guardrail'],
      ['providers', 'credential'],
      ['providers', 'provider'],
    ] as const) {
      await goTo(page, `/${path}?${field}=gone`)
      const drawer = page.getByRole('dialog', { name: 'gone' })
      await drawer.getByText('This does not exist').waitFor()
      expect([field, await violations(page)]).toEqual([field, []])
      await drawer.getByRole('button', { name: 'Back to the list' }).click()
      await drawer.waitFor({ state: 'detached' })
      expect(new URL(page.url()).search).toBe('')
    }
    expect(faults).toEqual([])
    await close()
  })

  test('a key that another rotated meanwhile is refused once, and what was typed stays', async () => {
    await gateway.admin('/credentials', { credential_name: 'of-two', credential_values: { api_key: 'sk-before' } })
    const { page, close } = await openAt('providers?credential=of-two')
    await page.getByRole('button', { name: 'New key' }).click()
    const dialog = page.getByRole('dialog', { name: 'New key' })
    await dialog.getByLabel('API key').fill('sk-typed')
    const values = { credential_values: { api_key: 'sk-of-another' } }
    const changed = await fetch(`${gateway.url}/credentials/of-two`, {
      method: 'PATCH',
      headers: { authorization: `Bearer ${masterKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(values),
    })
    expect(changed.status).toBe(200)
    const read = page.waitForResponse(one => one.url().endsWith('/credentials') && one.request().method() === 'GET')
    await dialog.getByRole('button', { name: 'New key' }).click()
    await dialog.getByText('This conflicts with what is stored').waitFor()
    await (await read).finished()
    expect(await dialog.getByLabel('API key').inputValue()).toBe('sk-typed')
    await dialog.getByRole('button', { name: 'New key' }).click()
    await dialog.waitFor({ state: 'detached' })
    // Why it was refused once is not said again.
    const proxy_params = { model: 'openai/gpt-4.1', litellm_credential_name: 'of-two' }
    await gateway.admin('/model/new', { model_name: 'its-user', proxy_params })
    const remove = page.getByRole('button', { name: 'Delete' })
    await remove.click()
    const confirm = page.getByRole('alertdialog')
    await confirm.getByRole('textbox').fill('of-two')
    await confirm.getByRole('button', { name: 'Delete' }).click()
    await confirm.getByText(/use this credential/).waitFor()
    expect(await confirm.getByRole('textbox').inputValue()).toBe('of-two')
    await confirm.getByRole('button', { name: 'Cancel' }).click()
    await confirm.waitFor({ state: 'detached' })
    await remove.click()
    await confirm.waitFor()
    expect(await confirm.getByRole('alert').count()).toBe(0)
    await close()
  })

  test('the page of the API has the theme that was chosen on the others', async () => {
    const { page, close, faults } = await openAt('settings')
    const background = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor)
    // The theme is there before Swagger UI, which takes a minute of a processor.
    for (const script of ['swagger-ui-bundle', 'start'])
      await page.route(`**/docs/${script}.js`, route => route.abort())
    await page.goto(`${gateway.url}/docs`)
    const light = await background()
    await page.emulateMedia({ colorScheme: 'dark' })
    await page.locator('html.dark-mode').waitFor()
    expect(await background()).not.toBe(light)
    await page.evaluate(() => localStorage.setItem('modelgate.theme', 'light'))
    await page.reload()
    expect(await background()).toBe(light)
    expect(faults).toEqual([])
    await close()
  })

  test('a guardrail says which keys, teams and models have it, and leads to them', async () => {
    await (await gateway.admin('/team/new', { team_id: 'guarded', team_alias: 'Guarded', guardrails: ['pii'] })).text()
    await gateway.key({ key_alias: 'guarded-key', guardrails: ['pii'] })
    await gateway.key({ key_alias: 'free-key' })
    const { page, close, faults } = await openAt('guardrails?guardrail=pii')
    const users = page.getByRole('region', { name: 'Used by' })
    await users.getByText('Every call').waitFor()
    await users.getByRole('link', { name: 'Guarded', exact: true }).waitFor()
    expect(await users.getByText('free-key').count()).toBe(0)
    await users.getByRole('link', { name: 'guarded-key' }).click()
    await page.waitForURL(/\/ui\/keys\?key=/)
    expect(faults).toEqual([])
    await close()
  })

  test('the cache tells what it found and saved, and forgets single answers or all of them', async () => {
    const question = 'Which answer is kept?'
    await ask(question)
    const key = (await ask(question)).get('x-proxy-cache-key')!
    const { page, close, faults } = await openAt('caching')
    const hits = page.getByRole('table', { name: 'Recent hits' })
    await hits.getByText('exact').first().waitFor()
    await page.getByText('memory of this process', { exact: true }).waitFor()
    await page.getByRole('img', { name: 'Hits and misses by day' }).waitFor()
    await page.getByRole('img', { name: 'Saved by day' }).waitFor()
    await page.getByText('Hits (exact)').waitFor()
    await page.getByRole('button', { name: 'Show settings of the semantic cache' }).click()
    await page.getByText('similarity_threshold').waitFor()
    await page.getByRole('textbox', { name: 'Keys' }).fill(key)
    await page.getByRole('button', { name: 'Forget single answers' }).click()
    await page.getByText('Answers forgotten').first().waitFor()
    expect((await ask(question)).get('x-proxy-cache-hit')).not.toBe('true')
    await page.getByRole('button', { name: 'Forget all answers' }).click()
    await page.getByLabel('Type flush to confirm').fill('flush')
    await page.getByRole('alertdialog').getByRole('button', { name: 'Forget all answers' }).click()
    await page.getByText('All answers are forgotten').first().waitFor()
    const state = await gateway.admin('/cache/ping')
    expect(await state.json()).toMatchObject({ answers: 0, hits: { exact: 1 } })
    expect(faults).toEqual([])
    await close()
  })

  test('a viewer sees guardrails and cache, and no button that changes them', async () => {
    const made = await gateway.admin('/user/new', { user_id: 'viewer', user_role: 'proxy_admin_viewer' })
    const { key } = (await made.json()) as { key: string }
    const { page, close } = await openAt('guardrails', { key })
    await page.getByRole('link', { name: 'pii', exact: true }).waitFor()
    expect(await page.getByRole('button', { name: 'Create guardrail' }).count()).toBe(0)
    await goTo(page, '/caching')
    await page.getByText('memory of this process', { exact: true }).waitFor()
    expect(await page.getByRole('button', { name: /Forget/ }).count()).toBe(0)
    await close()
  })

  test('a credential is made, gets a new key and is deleted; its secret is never in the page', async () => {
    const { page, close, faults } = await openAt('providers')
    const table = page.getByRole('table', { name: 'Credentials' })
    await table.getByRole('link', { name: 'of-file' }).waitFor()
    await page.getByRole('button', { name: 'Create credential' }).click()
    const dialog = page.getByRole('dialog', { name: 'Create credential' })
    await dialog.getByLabel('Name').fill('of-file')
    await dialog.getByLabel('API key').fill('planted-first-key')
    await dialog.getByRole('button', { name: 'Create credential' }).click()
    await dialog.getByText(/stands in .*config\.yaml:\d+/).waitFor()
    await dialog.getByLabel('Name').fill('shared')
    await dialog.getByRole('button', { name: 'Create credential' }).click()
    await table.getByRole('link', { name: 'shared' }).click()
    await page.getByRole('button', { name: 'New key' }).click()
    await page.getByRole('dialog', { name: 'New key' }).getByLabel('API key').fill('planted-second-key')
    await page.getByRole('dialog', { name: 'New key' }).getByRole('button', { name: 'New key' }).click()
    await page.getByText('shared has a new key').first().waitFor()
    expect(await page.content()).not.toContain('planted')
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByLabel('Type shared to confirm').fill('shared')
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click()
    await table.getByRole('link', { name: 'shared' }).waitFor({ state: 'detached' })
    await table.getByRole('link', { name: 'of-file' }).click()
    await page.getByText(/Defined in .*config\.yaml:\d+: change it there/).waitFor()
    expect(await page.getByRole('button', { name: 'New key' }).count()).toBe(0)
    expect(faults).toEqual([])
    await close()
  })

  test('a provider shows the limits that its answers told and its last error, explained, and calls it once', async () => {
    const headers = { 'content-type': 'application/json', 'x-ratelimit-limit-requests': '500' }
    const reported = { ...headers, 'x-ratelimit-remaining-requests': '12', 'x-ratelimit-reset-requests': '6m0s' }
    const error = { message: 'Incorrect API key provided', code: 'invalid_api_key' }
    const refusal = { status: 401, headers: reported, body: JSON.stringify({ error }) }
    gateway.simulator.script({ model: 'sim-embedding' }, { raw: refusal })
    await (await gateway.admin('/v1/embeddings', { model: 'embedding-model', input: 'Hi' })).text()
    const { page, close, faults } = await openAt('providers')
    const table = page.getByRole('table', { name: 'Providers in use' })
    const row = table.getByRole('row').filter({ hasText: 'custom_openai' })
    await row.getByText('Requests: 12 of 500 left').waitFor()
    await row.getByText(/Cooling down|Recent errors/).waitFor()
    for (const width of [1440, 390]) {
      await page.setViewportSize({ width, height: 900 })
      const cut = await page.evaluate(
        () =>
          [...document.querySelectorAll('[role=table] [role=row], main')].filter(
            one => one.scrollWidth > one.clientWidth,
          ).length,
      )
      expect([width, cut]).toEqual([width, 0])
      expect(await violations(page)).toEqual([])
    }
    await row.getByRole('link').click()
    const section = page
      .getByRole('dialog', { name: 'custom_openai' })
      .getByRole('region', { name: /^embedding-model/ })
    await section.getByText('12 of 500 left').waitFor()
    await section.getByText('The provider refuses the key.').first().waitFor()
    await section.getByRole('button', { name: 'Test call' }).click()
    await section.getByText('Does not answer', { exact: true }).waitFor()
    expect(await section.getByText(/^The provider refuses the key/).count()).toBe(2)
    expect(await violations(page)).toEqual([])
    gateway.simulator.reset()
    await page.keyboard.press('Escape')
    expect(faults).toEqual([])
    await close()
  })
})
