/** The pages of organizations, customers, teams and users: made, changed, shared, blocked, deleted in the browser. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import { masterKey, startGateway } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'
import { builtPages, hasChromium, openBrowser, openSignedIn, pageMs, violations } from './browser.ts'

setDefaultTimeout(3 * pageMs)

describe.skipIf(!hasChromium)('the pages of those who call', () => {
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

  const asked = async <Answer>(path: string, body?: object, method = body ? 'POST' : 'GET'): Promise<Answer> => {
    const headers = { authorization: `Bearer ${masterKey}`, 'content-type': 'application/json' }
    const answer = await fetch(gateway.url + path, { method, headers, body: body && JSON.stringify(body) })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`)
    return JSON.parse(text) as Answer
  }
  /** A user, and a key that acts as it. */
  const user = async (user_id: string, user_role = 'internal_user'): Promise<string> =>
    (await asked<{ key: string }>('/user/new', { user_id, user_role })).key
  const open = async (path: string, options: Parameters<typeof openSignedIn>[2] = {}) => {
    const opened = await openSignedIn(browser, gateway, options)
    await opened.page.goto(`${gateway.url}/ui/${path}`)
    await opened.page.getByRole('heading', { level: 1 }).waitFor()
    return opened
  }
  const number = (page: Page, label: string) => page.getByRole('textbox', { name: label, exact: true })
  const typeToDelete = async (page: Page, action: string, name: string) => {
    await page.getByRole('button', { name: action, exact: true }).click()
    const confirm = page.getByRole('alertdialog')
    expect(await confirm.getByRole('button', { name: action, exact: true }).isDisabled()).toBe(true)
    await confirm.getByRole('textbox').fill(name)
    await confirm.getByRole('button', { name: action, exact: true }).click()
  }

  test('an organization is made with a budget, gets a member with a role, and goes when its name is typed', async () => {
    const { page, context, faults } = await open('organizations')
    await page.getByText('No organizations yet').waitFor()
    await page.keyboard.press('c')
    await page.getByRole('dialog').waitFor()
    await page.keyboard.type('Nordwind')
    await number(page, 'Budget').fill('250')
    await page.getByRole('combobox', { name: 'Budget period' }).click()
    await page.getByRole('option', { name: 'Each month' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Create organization' }).click()
    // What was made is open, and in the list.
    await page.waitForURL(/\?organization=/)
    const drawer = page.getByRole('dialog', { name: 'Nordwind' })
    await drawer.getByText('Each month').waitFor()
    expect(await drawer.getByRole('meter').getAttribute('aria-valuemax')).toBe('250')
    await page.locator('[role=table]').getByText('$250.00').waitFor()
    await drawer.getByRole('textbox', { name: 'Add a member' }).fill('olaf')
    await drawer.getByRole('button', { name: 'Add', exact: true }).click()
    const role = drawer.getByRole('combobox', { name: 'Role of olaf' })
    await role.click()
    await page.getByRole('option', { name: 'Admin', exact: true }).click()
    const id = new URL(page.url()).searchParams.get('organization')!
    const info = () =>
      asked<{ members: { user_id: string; user_role: string }[] }>(`/organization/info?organization_id=${id}`)
    while ((await info()).members[0]?.user_role !== 'org_admin') await Bun.sleep(20)
    expect(await violations(page)).toEqual([])
    await typeToDelete(page, 'Delete organization', 'Nordwind')
    await page.getByText('Organization Nordwind deleted').first().waitFor()
    await page.getByText('No organizations yet').waitFor()
    expect(faults).toEqual([])
    await context.close()
  })

  test('a change that another made meanwhile is not overwritten, and what was typed stays', async () => {
    await asked('/organization/new', { organization_id: 'shared', organization_alias: 'Shared', rpm_limit: 5 })
    const { page, context } = await open('organizations?organization=shared')
    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    const form = page.getByRole('form', { name: 'Edit' })
    await number(page, 'Requests a minute').fill('60')
    await page.keyboard.press('Tab')
    // The wheel scrolls the page and leaves the number alone.
    await number(page, 'Requests a minute').hover()
    await number(page, 'Requests a minute').focus()
    await page.mouse.wheel(0, 200)
    const changes = form.getByRole('region', { name: 'What changes' })
    expect((await changes.innerText()).replace(/\s+/g, ' ')).toContain('Requests a minute: 5 → 60')
    await asked('/organization/update', { organization_id: 'shared', max_budget: 7 }, 'PATCH')
    await form.getByRole('button', { name: 'Save changes' }).click()
    await form.getByText('This conflicts with what is stored').waitFor()
    const stored = () => asked<{ rpm_limit: number; max_budget: number }>('/organization/info?organization_id=shared')
    expect(await stored()).toMatchObject({ rpm_limit: 5, max_budget: 7 })
    await form.getByRole('button', { name: 'Load what is stored' }).click()
    await page.waitForFunction(() => document.querySelector('form')?.textContent?.includes('conflicts') === false)
    expect(await number(page, 'Budget').inputValue()).toBe('7')
    expect(await number(page, 'Requests a minute').inputValue()).toBe('60')
    await form.getByRole('button', { name: 'Save changes' }).click()
    await page.getByText('Organization changed').first().waitFor()
    expect(await stored()).toMatchObject({ rpm_limit: 60, max_budget: 7 })
    await context.close()
  })

  test('an admin of an organization changes its name and members, and is offered no more than that', async () => {
    const key = await user('olga')
    await asked('/organization/new', { organization_id: 'led', organization_alias: 'Led', max_budget: 5 })
    await asked('/organization/new', { organization_id: 'foreign', organization_alias: 'Foreign' })
    await asked('/organization/member_add', {
      organization_id: 'led',
      member: { user_id: 'olga', role: 'org_admin' },
    })
    const { page, context } = await open('organizations', { key })
    await page.getByRole('link', { name: 'Led', exact: true }).click()
    expect(await page.getByText('Foreign').count()).toBe(0)
    expect(await page.locator('[data-primary]').count()).toBe(0)
    const drawer = page.getByRole('dialog', { name: 'Led' })
    await drawer.getByRole('button', { name: 'Edit', exact: true }).click()
    expect(await number(page, 'Budget').count()).toBe(0)
    expect(await drawer.getByRole('button', { name: 'Delete organization' }).count()).toBe(0)
    await number(page, 'Name').fill('Led by Olga')
    await drawer.getByRole('button', { name: 'Save changes' }).click()
    await page.getByRole('dialog', { name: 'Led by Olga' }).waitFor()
    // By hand it is refused, too.
    const status = await page.evaluate(async () => {
      const body = JSON.stringify({ organization_id: 'led', max_budget: 1000 })
      const headers = { 'content-type': 'application/json' }
      return (await fetch('/organization/update', { method: 'PATCH', headers, body })).status
    })
    expect(status).toBe(403)
    await context.close()
  })

  test('a member sees the organization without what it spends', async () => {
    const key = await user('mila')
    await asked('/organization/new', { organization_id: 'seen', organization_alias: 'Seen', max_budget: 5 })
    await asked('/organization/member_add', { organization_id: 'seen', member: { user_id: 'mila' } })
    const { page, context } = await open('organizations?organization=seen', { key })
    const drawer = page.getByRole('dialog', { name: 'Seen' })
    await drawer.getByRole('listitem').filter({ hasText: 'mila' }).waitFor()
    expect([
      await drawer.getByRole('meter').count(),
      await drawer.getByRole('button', { name: 'Edit' }).count(),
    ]).toEqual([0, 0])
    const info = await page.evaluate(async () => (await fetch('/organization/info?organization_id=seen')).json())
    expect(info.budget).toBeNull()
    await context.close()
  })

  test('a customer is made, spends, is blocked for its calls, and deleted', async () => {
    const key = await gateway.key()
    const call = async () =>
      (
        await fetch(`${gateway.url}/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          body: JSON.stringify({
            model: 'chat-model',
            user: 'shop-1',
            messages: [{ role: 'user', content: 'Hello' }],
          }),
        })
      ).status
    const { page, context, faults } = await open('customers', { colorScheme: 'dark' })
    await page.getByText('No customers yet').waitFor()
    await page.keyboard.press('c')
    await page.getByRole('dialog').waitFor()
    await page.keyboard.type('shop-1')
    await number(page, 'Budget').fill('3')
    await page.getByRole('dialog').getByRole('button', { name: 'Create customer' }).click()
    const drawer = page.getByRole('dialog', { name: 'shop-1' })
    await drawer.getByRole('meter').waitFor()
    expect(await call()).toBe(200)
    const info = () =>
      asked<{ spend: number; budget: { spent: number; max_budget: number } }>('/customer/info?end_user_id=shop-1')
    let found = await info()
    while (!(found.spend > 0 && found.budget.spent > 0)) {
      await Bun.sleep(20)
      found = await info()
    }
    expect(found.budget.max_budget).toBe(3)
    await drawer.getByRole('button', { name: 'Block', exact: true }).click()
    await drawer.getByText('Blocked').waitFor()
    while ((await call()) === 200) await Bun.sleep(20)
    expect(await call()).toBe(403)
    expect(await violations(page)).toEqual([])
    await typeToDelete(page, 'Delete customer', 'shop-1')
    await page.getByText('No customers yet').waitFor()
    // A name that is taken is said at its field.
    await asked('/customer/new', { user_id: 'shop-2', alias: 'Second shop' })
    await page.keyboard.press('c')
    await page.getByRole('dialog', { name: 'Create customer' }).waitFor()
    await page.keyboard.type('shop-2')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'Create customer' }).getByRole('alert').waitFor()
    await page.keyboard.press('Escape')
    // Found by a part of the name, and by its id.
    for (const [text, count] of [
      ['nobody', 0],
      ['second', 1],
      ['shop-2', 1],
    ] as const) {
      await page.goto(`${gateway.url}/ui/customers?q=${text}`)
      await page.getByText(count === 0 ? 'Nothing matches' : 'Second shop').waitFor()
    }
    expect(faults).toEqual([])
    await context.close()
  })
})
