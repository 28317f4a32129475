/** The page of keys: made by keyboard alone, shown once, rotated, deleted; for its owner and not for others. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import { startGateway } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'
import { until } from '../redis-replicas.ts'
import { builtPages, hasChromium, openBrowser, openSignedIn, pageMs, violations } from './browser.ts'

setDefaultTimeout(3 * pageMs)

describe.skipIf(!hasChromium)('the page of keys', () => {
  let gateway: Gateway
  let browser: Browser
  beforeAll(async () => {
    gateway = await startGateway({ environment: { MODELGATE_WEB_DIRECTORY: await builtPages() } })
    await gateway.key({ key_alias: 'looked-at' })
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    await gateway?.stop()
  })

  /** The status of a call with this key. */
  const callWith = async (key: string): Promise<number> =>
    (
      await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'chat-model', messages: [{ role: 'user', content: 'Hello' }] }),
      })
    ).status

  const openKeys = async (options = {}) => {
    const opened = await openSignedIn(browser, gateway, options)
    await opened.page.goto(`${gateway.url}/ui/keys`)
    await opened.page.getByRole('heading', { name: 'Keys', level: 1 }).waitFor()
    return opened
  }

  /** Makes one, and returns its text. */
  const create = async (page: Page, name: string): Promise<string> => {
    await page.locator('[data-primary]').waitFor()
    await page.keyboard.press('c')
    await page.getByRole('dialog').waitFor()
    // The focus is in the first field.
    await page.keyboard.type(name)
    await page.keyboard.press('Enter')
    const secret = page.getByRole('dialog').locator('output')
    await secret.waitFor()
    return await secret.innerText()
  }

  test('a key is made, copied and used by keyboard alone', async () => {
    const { page, close, faults } = await openKeys({ permissions: ['clipboard-read', 'clipboard-write'] })
    const key = await create(page, 'by-keyboard')
    expect(await callWith(key)).toBe(200)
    // The list behind shows it already.
    await page.locator('[role=table]').getByText('by-keyboard').waitFor({ state: 'attached' })
    expect(await page.getByRole('region', { name: 'First call: curl' }).innerText()).toContain(`Bearer ${key}`)
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'I have copied it' }).waitFor()
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(key)
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    // Never again.
    expect(await page.content()).not.toContain(key)
    await page.reload()
    await page.getByRole('link', { name: 'by-keyboard' }).waitFor()
    expect(await page.content()).not.toContain(key)
    expect(faults).toEqual([])
    await close()
  })

  test('closing before the key was copied asks first', async () => {
    const { page, close } = await openKeys()
    await create(page, 'not-copied')
    await page.keyboard.press('Escape')
    await page.getByText('You have not copied the key').waitFor()
    await page.getByRole('button', { name: 'Close without copying' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await close()
  })

  test('rotating gives another text, and the one before stays valid as long as was chosen', async () => {
    const before = await gateway.key({ key_alias: 'rotated' })
    const { page, close } = await openKeys()
    await page.getByRole('link', { name: 'rotated' }).click()
    await page.getByRole('button', { name: 'Rotate key' }).click()
    await page.getByRole('dialog', { name: 'Rotate key rotated' }).getByRole('button', { name: 'Rotate key' }).click()
    const secret = page.getByRole('dialog', { name: 'New text for key rotated' }).locator('output')
    await secret.waitFor()
    const after = await secret.innerText()
    expect(after).not.toBe(before)
    expect([await callWith(before), await callWith(after)]).toEqual([200, 200])
    await close()
  })

  test('a key is deleted only when its name is typed, and refused from then on', async () => {
    const key = await gateway.key({ key_alias: 'to-be-deleted' })
    const { page, close } = await openKeys()
    await page.getByRole('link', { name: 'to-be-deleted' }).click()
    // What is open has an address.
    await page.waitForURL(/\?key=/)
    await page.getByRole('button', { name: 'Delete key' }).click()
    const confirm = page.getByRole('alertdialog')
    expect(await confirm.getByRole('button', { name: 'Delete key' }).isDisabled()).toBe(true)
    await confirm.getByRole('textbox').fill('to-be-deleted')
    await confirm.getByRole('button', { name: 'Delete key' }).click()
    await page.getByText('Key to-be-deleted deleted').first().waitFor()
    await page.getByRole('link', { name: 'to-be-deleted' }).waitFor({ state: 'detached' })
    expect(await callWith(key)).toBe(401)
    await close()
  })

  test('a member makes a key of its own, sees its limits, and nothing of others', async () => {
    await gateway.key({ key_alias: 'of-another' })
    const made = await gateway.admin('/user/new', { user_id: 'eve', user_role: 'internal_user', rpm_limit: 10 })
    const { key } = (await made.json()) as { key: string }
    const { page, close } = await openKeys({ key })
    await page.getByText('Your limits, for all of your keys together').waitFor()
    await page.getByText('10', { exact: true }).waitFor()
    await create(page, 'of-eve')
    await page.locator('[role=table]').getByText('of-eve').waitFor({ state: 'attached' })
    expect(await page.getByText('of-another').count()).toBe(0)
    await close()
  })

  test('a key says scope by scope what limits it, which leaves least, and what refuses the next call', async () => {
    await gateway.admin('/team/new', { team_id: 'red', team_alias: 'Red', max_budget: 0, rpm_limit: 30 })
    await gateway.key({ key_alias: 'explained', team_id: 'red', max_budget: 9, budget_duration: '30d' })
    const { page, close, faults } = await openKeys({ viewport: { width: 390, height: 844 } })
    await page.getByRole('link', { name: 'explained' }).click()
    const limits = page.getByRole('region', { name: 'What limits its calls' })
    await limits.getByText('The next call is refused by team red: budget').waitFor()
    const row = limits.getByRole('listitem').filter({ hasText: 'team Red' })
    expect(await row.innerText()).toContain('Least left')
    expect(await row.innerText()).toContain('0 / 30')
    expect(await limits.getByRole('listitem').filter({ hasText: 'key explained' }).innerText()).not.toContain('Least')
    expect(await violations(page)).toEqual([])
    expect(faults).toEqual([])
    await close()
  })

  test('a viewer is offered nothing to make', async () => {
    const made = await gateway.admin('/user/new', { user_id: 'vic', user_role: 'internal_user_viewer' })
    const { key } = (await made.json()) as { key: string }
    const { page, close } = await openKeys({ key })
    await page.locator('[role=table]').waitFor()
    expect(await page.locator('[data-primary]').count()).toBe(0)
    // Nor to change, not even with the own key.
    await page.locator('[role=table]').getByRole('link').first().click()
    await page.getByRole('dialog').getByRole('meter').or(page.getByText('Requests per minute')).first().waitFor()
    expect(await page.getByRole('button', { name: /^(Edit|Rotate|Block|Delete)/ }).count()).toBe(0)
    await close()
  })

  test('an administrator gives a key a budget and limits where it is edited', async () => {
    const key = await gateway.key({ key_alias: 'edited' })
    const { page, close } = await openKeys()
    await page.getByRole('link', { name: 'edited' }).click()
    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    await page.getByRole('textbox', { name: 'Budget', exact: true }).fill('3')
    await page.getByRole('textbox', { name: 'Requests a minute' }).fill('0')
    await page.getByRole('button', { name: 'Save changes' }).click()
    await page.getByText('The next call is refused by').waitFor()
    while ((await callWith(key)) !== 429) await Bun.sleep(20)
    await close()
  })

  test('an administrator has requests and answers of a key, or of a team, stored, and is told for how long', async () => {
    const key = await gateway.key({ key_alias: 'recorded' })
    await gateway.admin('/team/new', { team_id: 'quiet', team_alias: 'Quiet' })
    const { page, close } = await openKeys()
    const choose = async (from: string, to: string) => {
      const bodies = page.getByRole('region', { name: 'Requests and answers' })
      await bodies.getByText('They are deleted after 30d').waitFor()
      await bodies.getByRole('combobox').filter({ hasText: from }).click()
      await page.getByRole('option', { name: to, exact: true }).click()
      await bodies.getByRole('combobox').filter({ hasText: to }).waitFor()
    }
    await page.getByRole('link', { name: 'recorded' }).click()
    await choose('As others say', 'Stored')
    const info = async (path: string) => (await gateway.admin(path)).json()
    await until('the key has it', async () =>
      JSON.stringify(await info(`/key/info?key=${key}`)).includes('"store_prompts_in_spend_logs":true'),
    )
    await page.goto(`${gateway.url}/ui/teams?team=quiet`)
    await choose('As others say', 'Not stored')
    await until('the team has it', async () =>
      JSON.stringify(await info('/team/info?team_id=quiet')).includes('"store_prompts_in_spend_logs":false'),
    )
    await close()
  })

  test.each(['light', 'dark'] as const)('axe finds nothing on it in %s', async colorScheme => {
    const { page, close } = await openKeys({ colorScheme })
    await page.locator('[role=table]').waitFor()
    expect(await violations(page)).toEqual([])
    await page.getByRole('link', { name: 'looked-at' }).click()
    await page.getByText('Requests per minute').waitFor()
    expect(await violations(page)).toEqual([])
    await close()
  })
})
