/** The page of keys: made by keyboard alone, shown once, rotated, deleted; for its owner and not for others. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import type { Gateway } from '../e2e/harness.ts'
import { violations } from './axe.ts'
import { goTo, hasChromium, openSignedIn, pageMs, typeAtFocus, withPages } from './browser.ts'
import { until } from '../support/until.ts'

setDefaultTimeout(3 * pageMs)

/** As lists show a key: its beginning and end. */
const shortened = (key: string): string => `${key.slice(0, 3)}...${key.slice(-4)}`

/** What the page keeps beside what it shows: storage, and every answer in the caches of its queries. */
const keptBy = (page: Page): Promise<string> =>
  page.evaluate(() => {
    interface Cache {
      getAll(): { state: unknown }[]
    }
    interface Fiber {
      readonly memoizedProps?: { readonly client?: Record<'getQueryCache' | 'getMutationCache', () => Cache> }
      readonly child: Fiber | null
    }
    const root = document.querySelector('#root')!
    const container = Object.keys(root).find(name => name.startsWith('__reactContainer'))!
    let fiber: Fiber | null = (root as unknown as Record<string, Fiber>)[container]!
    while (fiber && !fiber.memoizedProps?.client) fiber = fiber.child
    const client = fiber!.memoizedProps!.client!
    const states = [client.getQueryCache(), client.getMutationCache()].map(one =>
      one.getAll().map(({ state }) => state),
    )
    if (states[0]!.length === 0) throw new Error('the cache was not found')
    return JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href, states])
  })

describe.skipIf(!hasChromium)('the page of keys', () => {
  let gateway: Gateway
  let browser: Browser
  withPages({}, opened => ({ gateway, browser } = opened))

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
    await typeAtFocus(page, name)
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
    // Never again: only its beginning and end, not even in what the page keeps.
    await page.locator('[role=table]').getByText(shortened(key)).waitFor()
    expect(await page.content()).not.toContain(key)
    expect(await keptBy(page)).not.toContain(key)
    await page.reload()
    await page.getByRole('link', { name: 'by-keyboard' }).waitFor()
    expect(await page.content()).not.toContain(key)
    expect(faults).toEqual([])
    await close()
  })

  test('a double click makes one key, in the team chosen by its name; closing before it was copied asks first', async () => {
    await gateway.admin('/team/new', { team_id: 'id-of-blue', team_alias: 'Blue team' })
    const { page, close } = await openKeys()
    const sent: unknown[] = []
    page.on('request', one => one.url().endsWith('/key/generate') && sent.push(one.postDataJSON().team_id))
    await page.locator('[data-primary]').click()
    const dialog = page.getByRole('dialog', { name: 'Create key' })
    await dialog.getByLabel('Name').fill('of-blue')
    await dialog.getByRole('combobox', { name: 'Team' }).fill('blue')
    await page.getByRole('option', { name: 'Blue team' }).click()
    await dialog.getByRole('button', { name: 'Create key' }).dblclick()
    await page.getByRole('heading', { name: 'Key of-blue created' }).waitFor()
    expect(sent).toEqual(['id-of-blue'])
    await page.keyboard.press('Escape')
    await page.getByText('You have not copied the key').waitFor()
    await page.getByRole('button', { name: 'Close without copying' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(sent).toEqual(['id-of-blue'])
    await close()
  })

  test('keys are found by a part of their name and by their team; a link to the page shows all again', async () => {
    await gateway.admin('/team/new', { team_id: 'id-of-green', team_alias: 'Green team' })
    await gateway.admin('/user/new', { user_id: 'id-of-mia', user_alias: 'Mia Sol', auto_create_key: false })
    await gateway.key({ key_alias: 'Nightly build', team_id: 'id-of-green', user_id: 'id-of-mia' })
    const ending = (await gateway.key({ key_alias: 'nightly report' })).slice(-4)
    const { page, close } = await openKeys()
    const rows = page.getByRole('table', { name: 'Keys' }).getByRole('row')
    await page.getByRole('searchbox', { name: 'Search keys by name, ending or team' }).fill(' NIGHTLY ')
    await page.waitForURL('**/ui/keys?q=NIGHTLY')
    await page.waitForFunction(() => document.querySelectorAll('[role=row]').length === 3)
    await page.getByText('Keys: 2', { exact: true }).waitFor()
    await page.getByRole('searchbox').fill('green te')
    await page.getByText('Keys: 1', { exact: true }).waitFor()
    await page.getByRole('searchbox').fill(ending)
    await page.waitForFunction(() => document.querySelectorAll('[role=row]').length === 2)
    await rows.filter({ hasText: 'nightly report' }).waitFor()
    await page.getByRole('searchbox').fill('NIGHTLY')
    await page.waitForFunction(() => document.querySelectorAll('[role=row]').length === 3)
    await page.getByRole('combobox', { name: 'Team' }).click()
    await page.getByRole('option', { name: 'Green team' }).click()
    await page.waitForFunction(() => document.querySelectorAll('[role=row]').length === 2)
    expect(await rows.last().innerText()).toMatch(/Nightly build[\s\S]*Green team[\s\S]*Mia Sol/)
    expect(new URL(page.url()).search).toBe('?q=NIGHTLY&team=id-of-green')
    await page.getByRole('navigation').getByRole('link', { name: 'Keys', exact: true }).click()
    await rows.filter({ hasText: 'nightly report' }).waitFor()
    expect(await page.getByRole('searchbox').inputValue()).toBe('')
    await page.waitForFunction(() => location.search === '')
    await close()
  })

  test('while the gateway is away, the page stays and says so; what was asked for comes when it is back', async () => {
    const { page, close } = await openKeys()
    await page.locator('[data-primary]').waitFor()
    const isAway = (url: URL) => url.pathname.startsWith('/ui/assets/') || url.pathname === '/health/liveliness'
    await page.route(isAway, route => route.abort())
    const refused = page.waitForEvent('requestfailed', one => one.url().includes('/health/liveliness'))
    await page.locator('[data-primary]').click()
    await refused
    await page.getByRole('heading', { name: 'Keys', level: 1 }).waitFor()
    await page.unroute(isAway)
    await page.getByRole('dialog', { name: 'Create key' }).getByLabel('Name').waitFor()
    await page.getByText('The gateway does not answer').first().waitFor({ state: 'attached' })
    await page.keyboard.press('Escape')
    await page.route(isAway, route => route.abort())
    await page.getByRole('navigation').getByRole('link', { name: 'Usage', exact: true }).click()
    await page.locator('main').getByText('This page opens by itself').waitFor()
    await page.unroute(isAway)
    await page.getByRole('heading', { name: 'Usage', level: 1 }).waitFor()
    await close()
  })

  test('rotating gives another text; the one before stays valid as long as was chosen', async () => {
    const graces = [
      ['Not at all', 401, undefined],
      ['24 hours', 200, '24h'],
      ['7 days', 200, '7d'],
    ] as const
    const keys = new Map<string, string>()
    for (const [grace] of graces) keys.set(grace, await gateway.key({ key_alias: `rotated ${grace}` }))
    const { page, close } = await openKeys()
    for (const [grace, status, period] of graces) {
      const name = `rotated ${grace}`
      const before = keys.get(grace)!
      await goTo(page, '/keys')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      await page.getByRole('link', { name, exact: true }).click()
      await page.getByRole('button', { name: 'Rotate key' }).click()
      const dialog = page.getByRole('dialog', { name: `Rotate key ${name}` })
      await dialog.getByRole('combobox').click()
      await page.getByRole('option', { name: grace }).click()
      const sent = page.waitForRequest(`${gateway.url}/key/regenerate`)
      await dialog.getByRole('button', { name: 'Rotate key' }).click()
      expect([grace, (await sent).postDataJSON().grace_period]).toEqual([grace, period])
      const shown = page.getByRole('dialog', { name: `New text for key ${name}` })
      const after = await shown.locator('output').innerText()
      expect(after).not.toBe(before)
      expect([grace, await callWith(before), await callWith(after)]).toEqual([grace, status, 200])
      await page.keyboard.press('Escape')
      await shown.getByRole('button', { name: 'Close without copying' }).click()
      await page.getByText(shortened(after)).first().waitFor()
      expect(await page.content()).not.toContain(after)
      expect(await keptBy(page)).not.toContain(after)
    }
    await close()
  })

  test('a member limits a key where it makes it, and a wrong limit is named at its field', async () => {
    const made = await gateway.admin('/user/new', { user_id: 'lim', user_role: 'internal_user' })
    const { key } = (await made.json()) as { key: string }
    const { page, close, faults } = await openKeys({ key, viewport: { width: 390, height: 844 } })
    await page.locator('[data-primary]').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('textbox', { name: 'Name' }).fill('limited')
    await dialog.getByText('Limits', { exact: true }).click()
    await dialog.getByRole('textbox', { name: 'Budget', exact: true }).fill('2.5')
    await dialog.getByRole('combobox', { name: 'Budget period' }).click()
    await page.getByRole('option', { name: 'Each month' }).click()
    await dialog.getByRole('textbox', { name: 'Requests per minute' }).fill('1')
    await dialog.getByRole('textbox', { name: 'Tokens per minute' }).fill('99999999999999999999')
    await dialog.getByRole('textbox', { name: 'Parallel calls' }).fill('3')
    // Owners and named budgets are the administrators': none is offered.
    expect(await dialog.getByLabel(/Owner|Named budget|Organization/).count()).toBe(0)
    expect(await violations(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Create key' }).click()
    const tokens = dialog.getByRole('textbox', { name: 'Tokens per minute' })
    await page.waitForFunction(() => document.querySelector('[aria-invalid=true]') !== null)
    expect(await tokens.getAttribute('aria-invalid')).toBe('true')
    await tokens.fill('1000')
    await dialog.getByRole('button', { name: 'Create key' }).click()
    const secret = await dialog.locator('output').innerText()
    const info = (await (await gateway.admin(`/key/info?key=${secret}`)).json()) as { info: object }
    expect(info.info).toMatchObject({
      user_id: 'lim',
      max_budget: 2.5,
      budget_duration: '1mo',
      rpm_limit: 1,
      tpm_limit: 1000,
      max_parallel_requests: 3,
    })
    expect([await callWith(secret), await callWith(secret)]).toEqual([200, 429])
    expect(faults).toEqual([])
    await close()
  })

  test('a key is made with owner, end and tags, and gets a named budget and limits of single models', async () => {
    await gateway.admin('/user/new', { user_id: 'id-of-noor', user_alias: 'Noor', auto_create_key: false })
    await gateway.admin('/budget/new', { budget_id: 'small', max_budget: 5, budget_duration: '1mo' })
    const { page, close, faults } = await openKeys()
    await page.locator('[data-primary]').click()
    const dialog = page.getByRole('dialog', { name: 'Create key' })
    await dialog.getByRole('textbox', { name: 'Name' }).fill('whole')
    await dialog.getByRole('combobox', { name: 'Owner' }).fill('noo')
    await page.getByRole('option', { name: 'Noor' }).click()
    await dialog.getByRole('combobox', { name: 'Expires' }).click()
    await page.getByRole('option', { name: 'In 30 days' }).click()
    await dialog.getByText('Rules', { exact: true }).click()
    await dialog.getByRole('combobox', { name: 'Tags' }).fill('nightly')
    await page.keyboard.press('Enter')
    await dialog.getByRole('combobox', { name: 'Tags' }).fill('ci')
    await page.keyboard.press('Enter')
    await page.keyboard.press('Tab')
    await dialog.getByRole('textbox', { name: 'Metadata' }).fill('{"cost_center":')
    await dialog.getByRole('button', { name: 'Create key' }).click()
    await dialog.getByText('This is not a JSON object.').waitFor()
    await dialog.getByRole('textbox', { name: 'Metadata' }).fill('{"cost_center": 7}')
    await dialog.getByRole('button', { name: 'Create key' }).click()
    const secret = await page.getByRole('dialog').locator('output').innerText()
    const infoOf = async () => (await (await gateway.admin(`/key/info?key=${secret}`)).json()).info
    const made = await infoOf()
    expect(made).toMatchObject({ user_id: 'id-of-noor', tags: ['nightly', 'ci'], metadata: { cost_center: 7 } })
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Close without copying' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(Math.round((Date.parse(made.expires) - Date.now()) / 86_400_000)).toBe(30)
    await goTo(page, `/keys?key=${made.token_id}`)
    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    await page.getByRole('combobox', { name: 'Named budget' }).fill('sma')
    await page.getByRole('option', { name: 'small' }).click()
    await page.getByText('Single models', { exact: true }).click()
    await page.getByRole('button', { name: 'Add: Requests per minute of single models' }).click()
    await page.getByRole('combobox', { name: 'Model', exact: true }).fill('chat')
    await page.getByRole('option', { name: 'chat-model' }).click()
    await page.getByRole('textbox', { name: 'Limits' }).fill('1')
    await page.getByRole('button', { name: 'Save changes' }).click()
    await page.getByText('Key whole changed').waitFor()
    const changed = await infoOf()
    expect(changed).toMatchObject({ budget_id: 'small', model_rpm_limit: { 'chat-model': 1 }, expires: made.expires })
    expect([await callWith(secret), await callWith(secret)]).toEqual([200, 429])
    expect(faults).toEqual([])
    await close()
  })

  test('a name that is refused is said at its field, and what was typed stays; mended, it is saved with a budget and limits', async () => {
    const key = await gateway.key({ key_alias: 'edited' })
    const { page, close } = await openKeys()
    await page.getByRole('link', { name: 'edited' }).click()
    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    const name = page.getByRole('textbox', { name: 'Name' })
    // The field holds no more than the gateway takes: another client's limit would not.
    await name.evaluate(field => field.removeAttribute('maxlength'))
    await name.fill('x'.repeat(300))
    await page.getByRole('button', { name: 'Save changes' }).click()
    await page.waitForFunction(() => document.querySelector('[aria-invalid=true]') !== null)
    expect(await name.getAttribute('aria-invalid')).toBe('true')
    expect(await name.inputValue()).toBe('x'.repeat(300))
    expect(await page.getByRole('alert').count()).toBe(0)
    await name.fill('renamed')
    await page.getByRole('textbox', { name: 'Budget', exact: true }).fill('3')
    await page.getByRole('textbox', { name: 'Requests per minute' }).fill('0')
    await page.getByRole('button', { name: 'Save changes' }).click()
    await page.getByText('The next call is refused by').waitFor()
    while ((await callWith(key)) !== 429) await Bun.sleep(20)
    await page.getByRole('dialog', { name: 'renamed' }).waitFor()
    await close()
  })

  test('a block is shown when the gateway has made it, and not before; a key is deleted only when its name is typed', async () => {
    const key = await gateway.key({ key_alias: 'to-be-deleted' })
    const { page, close } = await openKeys()
    const refuse = Promise.withResolvers<void>()
    await page.route('**/key/block', async route => {
      await refuse.promise
      await route.fulfill({ status: 500, json: { error: { message: 'no store', type: 'server_error' } } })
    })
    await page.getByRole('link', { name: 'to-be-deleted' }).click()
    // What is open has an address.
    await page.waitForURL(/\?key=/)
    const drawer = page.getByRole('dialog')
    await page.getByRole('button', { name: 'Block key' }).click()
    await drawer.locator('[aria-busy=true]', { hasText: 'Block key' }).waitFor()
    expect(await drawer.getByText('Active', { exact: true }).count()).toBe(1)
    refuse.resolve()
    await page.getByText('no store').first().waitFor()
    expect(await drawer.getByText('Active', { exact: true }).count()).toBe(1)
    expect(await callWith(key)).toBe(200)
    await page.unroute('**/key/block')
    await page.getByRole('button', { name: 'Block key' }).click()
    await drawer.getByText('Blocked', { exact: true }).waitFor()
    expect(await callWith(key)).toBe(401)
    await page.getByRole('button', { name: 'Unblock key' }).click()
    await drawer.getByText('Active', { exact: true }).waitFor()
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

  test('what is done offline fails at once, is not shown as done, and is not done later', async () => {
    const key = await gateway.key({ key_alias: 'served-all-along' })
    const { page, context, close } = await openKeys()
    const sent: string[] = []
    page.on('request', request => request.method() === 'POST' && sent.push(new URL(request.url()).pathname))
    // Its part of the page is loaded while there is a network.
    const form = page.getByRole('dialog', { name: 'Create key' })
    await page.locator('[data-primary]').click()
    await form.getByRole('button', { name: 'Cancel' }).click()
    await form.waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'served-all-along' }).click()
    const drawer = page.getByRole('dialog', { name: 'served-all-along', exact: true })
    await drawer.getByRole('button', { name: 'Block key' }).waitFor()
    await page.locator('[aria-label=Notifications]').waitFor({ state: 'attached' })
    await context.setOffline(true)
    await drawer.getByRole('button', { name: 'Block key' }).click()
    await page.getByText('This device is offline: nothing was sent').first().waitFor()
    // In the list behind it, too.
    expect(await page.getByText('Blocked', { exact: true }).count()).toBe(0)
    await drawer.getByRole('button', { name: 'Delete key' }).click()
    const confirm = page.getByRole('alertdialog')
    await confirm.getByRole('textbox').fill('served-all-along')
    await confirm.getByRole('button', { name: 'Delete key' }).click()
    await confirm.getByText('This device is offline: nothing was sent').waitFor()
    await page.keyboard.press('Escape')
    await confirm.waitFor({ state: 'detached' })
    await drawer.getByRole('button', { name: 'Close' }).first().click()
    await drawer.waitFor({ state: 'detached' })
    await page.locator('[data-primary]').click()
    await form.waitFor()
    await typeAtFocus(page, 'never-made')
    await page.keyboard.press('Enter')
    await form.getByText('This device is offline: nothing was sent').waitFor()
    await form.getByRole('button', { name: 'Cancel' }).click()
    const before = sent.length
    await context.setOffline(false)
    // What is read again when the network is back is on its way after what would be sent again.
    await page.waitForResponse(response => response.url().includes('/key/list'))
    expect(sent.length).toBe(before)
    expect(await callWith(key)).toBe(200)
    const list = await (await gateway.admin('/key/list?return_full_object=true&size=100')).text()
    expect(list).toContain('served-all-along')
    expect(list).not.toContain('never-made')
    // A connection that ends on the way is another thing: the change may have been made.
    await page.route('**/key/block', route => route.abort())
    await page.getByRole('link', { name: 'served-all-along' }).click()
    await drawer.getByRole('button', { name: 'Block key' }).click()
    await page.getByText('look whether the change was made').first().waitFor()
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
    expect(await row.innerText()).toContain('Tightest')
    expect(await row.innerText()).toContain('0 / 30')
    expect(await limits.getByRole('listitem').filter({ hasText: 'key explained' }).innerText()).not.toContain(
      'Tightest',
    )
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
    await choose('As set elsewhere', 'Stored')
    const info = async (path: string) => (await gateway.admin(path)).json()
    await until(
      async () => JSON.stringify(await info(`/key/info?key=${key}`)).includes('"store_prompts_in_spend_logs":true'),
      'the key has it',
    )
    await goTo(page, '/teams?team=quiet')
    await choose('As set elsewhere', 'Not stored')
    await until(
      async () =>
        JSON.stringify(await info('/team/info?team_id=quiet')).includes('"store_prompts_in_spend_logs":false'),
      'the team has it',
    )
    await close()
  })
})
