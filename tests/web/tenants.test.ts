/** The pages of organizations, customers, teams and users: made, changed, shared, blocked, deleted in the browser. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import { masterKey } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'
import { violations } from './axe.ts'
import { goTo, hasChromium, openSignedIn, pageMs, withPages, typeAtFocus } from './browser.ts'

setDefaultTimeout(3 * pageMs)

describe.skipIf(!hasChromium)('the pages of those who call', () => {
  let gateway: Gateway
  let browser: Browser
  withPages({}, opened => ({ gateway, browser } = opened))

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
    const { page, close, faults } = await open('organizations')
    await page.getByText('No organizations yet').waitFor()
    await page.keyboard.press('c')
    await page.getByRole('dialog').waitFor()
    await typeAtFocus(page, 'Nordwind')
    await number(page, 'Budget').fill('250')
    await page.getByRole('combobox', { name: 'Budget period' }).click()
    await page.getByRole('option', { name: 'Each month' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Create organization' }).click()
    // What was made is open, and in the list.
    await page.waitForURL(/\?organization=/)
    const drawer = page.getByRole('dialog', { name: 'Nordwind', exact: true })
    await drawer.getByText('Each month').waitFor()
    expect(await drawer.getByRole('meter').getAttribute('aria-valuemax')).toBe('250')
    await page.locator('[role=table]').getByText('$250.00').waitFor()
    await user('olaf')
    await drawer.getByRole('textbox', { name: 'Add a member' }).fill('olaf')
    await drawer.getByRole('button', { name: 'Add', exact: true }).click()
    const role = drawer.getByRole('combobox', { name: 'Role of olaf' })
    await role.click()
    await page.getByRole('option', { name: 'Admin', exact: true }).click()
    const id = new URL(page.url()).searchParams.get('organization')!
    const info = () =>
      asked<{ members: { user_id: string; user_role: string }[] }>(`/organization/info?organization_id=${id}`)
    while ((await info()).members[0]?.user_role !== 'org_admin') await Bun.sleep(20)
    await typeToDelete(page, 'Delete organization', 'Nordwind')
    await page.getByText('Organization Nordwind deleted').first().waitFor()
    await page.getByText('No organizations yet').waitFor()
    expect(faults).toEqual([])
    await close()
  })

  test('a change that another made meanwhile is not overwritten, and what was typed stays', async () => {
    await asked('/organization/new', { organization_id: 'shared', organization_alias: 'Shared', rpm_limit: 5 })
    const { page, close } = await open('organizations?organization=shared')
    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    const form = page.getByRole('form', { name: 'Edit' })
    await number(page, 'Requests per minute').fill('60')
    await page.keyboard.press('Tab')
    // The wheel scrolls the page and leaves the number alone.
    await number(page, 'Requests per minute').hover()
    await number(page, 'Requests per minute').focus()
    await page.mouse.wheel(0, 200)
    const changes = form.getByRole('region', { name: 'What changes' })
    expect((await changes.innerText()).replace(/\s+/g, ' ')).toContain('Requests per minute: 5 → 60')
    await asked('/organization/update', { organization_id: 'shared', max_budget: 7 }, 'PATCH')
    await form.getByRole('button', { name: 'Save changes' }).click()
    await form.getByText('This conflicts with what is stored').waitFor()
    const stored = () => asked<{ rpm_limit: number; max_budget: number }>('/organization/info?organization_id=shared')
    expect(await stored()).toMatchObject({ rpm_limit: 5, max_budget: 7 })
    await form.getByRole('button', { name: 'Load what is stored' }).click()
    await page.waitForFunction(() => document.querySelector('form')?.textContent?.includes('conflicts') === false)
    expect(await number(page, 'Budget').inputValue()).toBe('7')
    expect(await number(page, 'Requests per minute').inputValue()).toBe('60')
    // Leaving asks first, and staying keeps what was typed.
    await page.keyboard.press('Escape')
    const leaving = page.getByRole('alertdialog', { name: 'What you typed is not saved' })
    await leaving.getByRole('button', { name: 'Cancel' }).click()
    await leaving.waitFor({ state: 'detached' })
    expect(await number(page, 'Requests per minute').inputValue()).toBe('60')
    await form.getByRole('button', { name: 'Save changes' }).click()
    await page.getByText('Organization changed').first().waitFor()
    expect(await stored()).toMatchObject({ rpm_limit: 60, max_budget: 7 })
    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    await number(page, 'Requests per minute').fill('61')
    await page.getByRole('link', { name: 'Customers', exact: true }).click()
    await leaving.getByRole('button', { name: 'Discard' }).click()
    await page.getByRole('heading', { name: 'Customers', level: 1 }).waitFor()
    expect(await stored()).toMatchObject({ rpm_limit: 60 })
    await close()
  })

  test('an admin of an organization changes its name and members, and is offered no more than that', async () => {
    const key = await user('olga')
    await asked('/organization/new', { organization_id: 'led', organization_alias: 'Led', max_budget: 5 })
    await asked('/organization/new', { organization_id: 'foreign', organization_alias: 'Foreign' })
    await asked('/organization/member_add', {
      organization_id: 'led',
      member: { user_id: 'olga', role: 'org_admin' },
    })
    const { page, close } = await open('organizations', { key })
    await page.getByRole('link', { name: 'Led', exact: true }).click()
    expect(await page.getByText('Foreign').count()).toBe(0)
    expect(await page.locator('[data-primary]').count()).toBe(0)
    const drawer = page.getByRole('dialog', { name: 'Led', exact: true })
    await drawer.getByRole('button', { name: 'Edit', exact: true }).click()
    expect(await number(page, 'Budget').count()).toBe(0)
    expect(await drawer.getByRole('button', { name: 'Delete organization' }).count()).toBe(0)
    await number(page, 'Name').fill('Led by Olga')
    await drawer.getByRole('button', { name: 'Save changes' }).click()
    await page.getByRole('dialog', { name: 'Led by Olga', exact: true }).waitFor()
    // By hand it is refused, too.
    const status = await page.evaluate(async () => {
      const body = JSON.stringify({ organization_id: 'led', max_budget: 1000 })
      const headers = { 'content-type': 'application/json' }
      return (await fetch('/organization/update', { method: 'PATCH', headers, body })).status
    })
    expect(status).toBe(403)
    await close()
  })

  test('a member sees the organization without what it spends', async () => {
    const key = await user('mila')
    await asked('/user/update', { user_id: 'mila', user_alias: 'Mila Moss', user_email: 'mila@example.com' })
    await asked('/organization/new', { organization_id: 'seen', organization_alias: 'Seen', max_budget: 5 })
    await asked('/organization/member_add', { organization_id: 'seen', member: { user_id: 'mila' } })
    const { page, close } = await open('organizations?organization=seen', { key })
    const drawer = page.getByRole('dialog', { name: 'Seen', exact: true })
    await drawer.getByRole('listitem').filter({ hasText: 'Mila Moss' }).waitFor()
    // Addresses are for those who administer it.
    expect(await drawer.getByText('mila@example.com').count()).toBe(0)
    expect([
      await drawer.getByRole('meter').count(),
      await drawer.getByRole('button', { name: 'Edit' }).count(),
    ]).toEqual([0, 0])
    const info = await page.evaluate(async () => (await fetch('/organization/info?organization_id=seen')).json())
    expect(info.budget).toBeNull()
    await close()
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
    const { page, close, faults } = await open('customers', { colorScheme: 'dark' })
    await page.getByText('No customers yet').waitFor()
    await page.keyboard.press('c')
    await page.getByRole('dialog').waitFor()
    await typeAtFocus(page, 'shop-1')
    await number(page, 'Budget').fill('3')
    await page.getByRole('dialog').getByRole('button', { name: 'Create customer' }).click()
    const drawer = page.getByRole('dialog', { name: 'shop-1', exact: true })
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
    await page.getByRole('dialog', { name: 'Create customer', exact: true }).waitFor()
    await typeAtFocus(page, 'shop-2')
    await page.keyboard.press('Enter')
    await page
      .getByRole('dialog', { name: 'Create customer', exact: true })
      .getByText(/shop-2.* exists already/)
      .waitFor()
    // What was typed is not thrown away by a key that was pressed too often.
    await page.keyboard.press('Escape')
    const dialog = page.getByRole('dialog', { name: 'Create customer', exact: true })
    await dialog.getByRole('button', { name: 'Keep editing' }).click()
    expect(await dialog.getByLabel('Customer id').inputValue()).toBe('shop-2')
    await page.keyboard.press('Escape')
    await dialog.getByRole('button', { name: 'Discard' }).click()
    await dialog.waitFor({ state: 'detached' })
    // Found by a part of the name, and by its id.
    for (const [text, count] of [
      ['nobody', 0],
      ['second', 1],
      ['nobody', 0],
      ['shop-2', 1],
    ] as const) {
      await goTo(page, `/customers?q=${text}`)
      await page.getByText(count === 0 ? 'Nothing matches' : 'Second shop').waitFor()
    }
    expect(faults).toEqual([])
    await close()
  })

  test('an admin of a team gives rights and a share to its members, and changes nothing else', async () => {
    const key = await user('tara')
    await user('ned')
    await asked('/user/update', { user_id: 'ned', user_alias: 'Ned Nash', user_email: 'ned@example.com' })
    await asked('/team/new', { team_id: 'crew', team_alias: 'Crew', max_budget: 5, admins: ['tara'] })
    await asked('/team/member_add', { team_id: 'crew', member: { user_id: 'ned' } })
    const { page, close, faults } = await open('teams?team=crew', { key })
    const drawer = page.getByRole('dialog', { name: 'Crew', exact: true })
    const rights = drawer.getByRole('region', { name: 'What members may do' })
    await rights.getByRole('switch', { name: 'Create keys in the team' }).click()
    const team = async () =>
      (
        await asked<{ team_info: { team_member_permissions: string[]; team_member_budget: number; models: string[] } }>(
          '/team/info?team_id=crew',
        )
      ).team_info
    while (!(await team()).team_member_permissions.includes('/key/generate')) await Bun.sleep(20)
    await rights.getByRole('button', { name: 'Edit the share of members' }).click()
    await rights.getByRole('textbox', { name: 'Budget of each member' }).fill('2')
    await rights.getByRole('button', { name: 'Save changes' }).click()
    await rights.getByText('$2.00').waitFor()
    expect(await team()).toMatchObject({ team_member_budget: 2 })
    await drawer.getByRole('button', { name: 'Edit', exact: true }).click()
    expect(await number(page, 'Budget').count()).toBe(0)
    await drawer.getByRole('button', { name: 'Cancel' }).click()
    expect(await drawer.getByRole('button', { name: 'Block team' }).count()).toBe(0)
    expect(await page.locator('[data-primary]').count()).toBe(0)
    // Removing takes the member's keys along: the name is typed.
    await drawer.getByRole('listitem').filter({ hasText: 'Ned Nash' }).getByText('ned@example.com').waitFor()
    await drawer.getByRole('button', { name: 'Remove ned@example.com' }).click()
    const confirm = page.getByRole('alertdialog')
    await confirm.getByRole('textbox').fill('ned@example.com')
    await confirm.getByRole('button', { name: 'Remove member' }).click()
    await drawer.getByRole('combobox', { name: 'Role of ned@example.com' }).waitFor({ state: 'detached' })
    const status = await page.evaluate(async () => {
      const body = JSON.stringify({ team_id: 'crew', max_budget: 1000 })
      return (await fetch('/team/update', { method: 'POST', headers: { 'content-type': 'application/json' }, body }))
        .status
    })
    expect(status).toBe(403)
    expect(faults).toEqual([])
    await close()
  })

  test('an administrator gives a team models and a budget, its limits are explained, and one is made in an organization', async () => {
    await asked('/team/new', { team_id: 'fleet', team_alias: 'Fleet' })
    await asked('/organization/new', { organization_id: 'id-of-harbour', organization_alias: 'Harbour' })
    const { page, close } = await open('teams?team=fleet')
    const drawer = page.getByRole('dialog', { name: 'Fleet', exact: true })
    await drawer.getByText('Nothing limits its calls.').waitFor()
    await drawer.getByRole('button', { name: 'Edit', exact: true }).click()
    await drawer.getByRole('combobox', { name: 'Models' }).fill('chat-m')
    await page.getByRole('option', { name: 'chat-model' }).click()
    await number(page, 'Budget').fill('12')
    await drawer.getByRole('button', { name: 'Save changes' }).click()
    await drawer.getByText('The next call may cost $12.00 at most.').waitFor()
    expect((await asked<{ team_info: object }>('/team/info?team_id=fleet')).team_info).toMatchObject({
      models: ['chat-model'],
      max_budget: 12,
    })
    await page.keyboard.press('Escape')
    await drawer.waitFor({ state: 'detached' })
    await page.locator('[data-primary]').click()
    const dialog = page.getByRole('dialog', { name: 'Create team', exact: true })
    await dialog.getByLabel('Name', { exact: true }).fill('Cranes')
    // It is chosen by its name.
    await dialog.getByRole('combobox', { name: 'Organization' }).fill('harb')
    await page.getByRole('option', { name: 'Harbour' }).click()
    await dialog.getByRole('button', { name: 'Create team' }).click()
    await page.waitForURL(/\?team=/)
    const id = new URL(page.url()).searchParams.get('team')!
    const made = await asked<{ team_info: { organization_id: string } }>(`/team/info?team_id=${id}`)
    expect(made.team_info.organization_id).toBe('id-of-harbour')
    await close()
  })

  test('a user is invited by a link, gets a role, is blocked and let in again; another is found by a part of the name', async () => {
    await asked('/user/new', { user_id: 'mf', user_alias: 'Milo Ferrari', user_email: 'one@example.com' })
    const { page, close, faults } = await open('users', { colorScheme: 'dark' })
    await page.locator('[role=table]').waitFor()
    await page.keyboard.press('c')
    await page.getByRole('dialog', { name: 'Create user', exact: true }).waitFor()
    await typeAtFocus(page, 'ivy@example.com')
    await page.keyboard.press('Enter')
    const drawer = page.getByRole('dialog', { name: 'ivy@example.com', exact: true })
    await drawer.getByRole('button', { name: 'Invite' }).click()
    const invitation = page.getByRole('dialog', { name: 'Invitation for ivy@example.com', exact: true })
    const link = await invitation.locator('output').innerText()
    expect(link).toContain('/fallback/password?token=')
    expect(await violations(page)).toEqual([])
    await page.keyboard.press('Escape')
    // The link is good for what it says.
    expect(await (await fetch(link)).text()).toContain('password')
    await drawer.getByRole('combobox', { name: 'Role' }).click()
    await page.getByRole('option', { name: 'Member, read only' }).click()
    const id = new URL(page.url()).searchParams.get('user')!
    const info = async () =>
      (await asked<{ user_info: { user_role: string; blocked: boolean } }>(`/user/info?user_id=${id}`)).user_info
    while ((await info()).user_role !== 'internal_user_viewer') await Bun.sleep(20)
    await drawer.getByRole('button', { name: 'Block user' }).click()
    await drawer.getByRole('button', { name: 'Unblock user' }).waitFor()
    expect((await info()).blocked).toBe(true)
    // Who is blocked is not invited.
    expect(await drawer.getByRole('button', { name: 'Invite' }).isDisabled()).toBe(true)
    await drawer.getByRole('button', { name: 'Unblock user' }).click()
    await drawer.getByRole('button', { name: 'Block user' }).waitFor()
    await typeToDelete(page, 'Delete user', 'ivy@example.com')
    await page.getByText('User ivy@example.com deleted').first().waitFor()
    await drawer.waitFor({ state: 'detached' })
    await goTo(page, '/users?q=FERR')
    await page.waitForFunction(() => document.querySelectorAll('[role=row]').length === 2)
    await page.getByRole('link', { name: 'Milo Ferrari' }).waitFor()
    // What was refused and cancelled is not there again.
    await page.locator('[data-primary]').click()
    const dialog = page.getByRole('dialog', { name: 'Create user', exact: true })
    await dialog.getByRole('textbox').first().fill('no address')
    await page.keyboard.press('Enter')
    await dialog.locator('[data-invalid]').first().waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.locator('[data-primary]').click()
    expect(await dialog.getByRole('textbox').first().inputValue()).toBe('')
    expect(await dialog.locator('[data-invalid]').count()).toBe(0)
    expect(faults).toEqual([])
    await close()
  })

  test('the audit log shows a change field by field, filtered by action and object', async () => {
    await asked('/team/new', { team_id: 'audited', team_alias: 'Audited', max_budget: 3 })
    await asked('/team/update', { team_id: 'audited', max_budget: 4, team_alias: '<b>Bold</b>' })
    const { page, close, faults } = await open('audit?object=audited&action=updated')
    const rows = page.getByRole('row')
    await rows.nth(1).waitFor()
    expect(await rows.count()).toBe(2)
    await rows.nth(1).getByRole('link').click()
    const drawer = page.getByRole('dialog', { name: 'team updated', exact: true })
    const changed = drawer.getByRole('row')
    await changed.nth(1).waitFor()
    const texts = (await changed.allInnerTexts()).map(text => text.split(/\s*\t\s*/))
    expect(texts).toEqual(
      expect.arrayContaining([
        ['alias', 'Audited', '<b>Bold</b>'],
        ['max budget', '$3.00', '$4.00'],
      ]),
    )
    await goTo(page, '/audit?object=nothing')
    await page.getByText('Nothing matches').waitFor()
    expect(faults).toEqual([])
    await close()
  })

  test('the palette finds teams, models and calls, opens what makes a thing, and offers only what one may', async () => {
    await asked('/team/new', { team_id: 'found', team_alias: 'Found by name' })
    const { page, close } = await open('keys')
    const palette = async (text: string) => {
      await page.keyboard.press('Control+k')
      await page.getByRole('combobox', { name: 'Search and commands' }).fill(text)
    }
    await palette('found by')
    await page.getByRole('option', { name: 'Teams: Found by name' }).click()
    await page.getByRole('dialog', { name: 'Found by name', exact: true }).waitFor()
    await palette('claude-mo')
    await page.getByRole('option', { name: 'Models: claude-model' }).click()
    await page.getByRole('dialog', { name: 'claude-model', exact: true }).waitFor()
    await palette('01a2142f-0000-7000-8000-000000000000')
    await page.getByRole('option', { name: /^Call: 01a2142f/ }).click()
    await page.waitForURL(/\/logs\?call=01a2142f/)
    await palette('create customer')
    await page.getByRole('option', { name: 'Create customer' }).click()
    await page.getByRole('dialog', { name: 'Create customer', exact: true }).waitFor()
    expect(page.url()).toContain('/customers?new=1')
    await page.keyboard.press('Escape')
    // What is open has its own keys, until it is gone.
    await page.getByRole('dialog', { name: 'Create customer', exact: true }).waitFor({ state: 'detached' })
    // The keyboard map, and where it leads.
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keyboard', exact: true }).getByText('Go to Budgets').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog', { name: 'Keyboard', exact: true }).waitFor({ state: 'detached' })
    await page.keyboard.press('g')
    await page.keyboard.press('d')
    await page.getByRole('heading', { name: 'Budgets', level: 1 }).waitFor()
    await close()
    const viewer = await open('keys', { key: await user('zoe', 'internal_user_viewer') })
    await viewer.page.keyboard.press('Control+k')
    await viewer.page.getByRole('option', { name: 'Keys', exact: true }).waitFor()
    expect(await viewer.page.getByRole('option', { name: /^Create/ }).count()).toBe(0)
    expect(await viewer.page.getByRole('option', { name: 'Budgets' }).count()).toBe(0)
    await viewer.close()
  })
})
