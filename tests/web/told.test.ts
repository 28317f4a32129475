/** The pages offer what the gateway allows, and say what it says: warnings, limits of named budgets, whose a key is. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser } from 'playwright-core'
import type { Gateway } from '../e2e/harness.ts'
import { goTo, hasChromium, openSignedIn, pageMs, typeAtFocus, withPages } from './browser.ts'

setDefaultTimeout(3 * pageMs)

describe.skipIf(!hasChromium)('what the gateway says', () => {
  let gateway: Gateway
  let browser: Browser
  withPages({}, opened => ({ gateway, browser } = opened))

  const made = async <Answer>(path: string, body: object): Promise<Answer> => {
    const answer = await gateway.admin(path, body)
    if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`)
    return (await answer.json()) as Answer
  }
  const user = async (user_id: string, user_role = 'internal_user') =>
    (await made<{ key: string }>('/user/new', { user_id, user_role })).key
  const open = async (path: string, options: Parameters<typeof openSignedIn>[2] = {}) => {
    const opened = await openSignedIn(browser, gateway, options)
    await opened.page.goto(`${gateway.url}/ui/${path}`)
    await opened.page.locator('h1').first().waitFor({ state: 'attached' })
    return opened
  }

  test('an admin of an organization edits, rotates and blocks a key of its teams; an owner edits its own key', async () => {
    const olga = await user('olga')
    const otto = await user('otto')
    await made('/organization/new', { organization_id: 'led', organization_alias: 'Led' })
    await made('/organization/member_add', { organization_id: 'led', member: { user_id: 'olga', role: 'org_admin' } })
    await made('/team/new', { team_id: 'crew', team_alias: 'Crew', organization_id: 'led' })
    const key = await made<{ token_id: string }>('/key/generate', { team_id: 'crew', key_alias: 'of-the-crew' })
    const leader = await open(`keys?key=${key.token_id}`, { key: olga })
    const drawer = leader.page.getByRole('dialog', { name: 'of-the-crew' })
    for (const name of ['Edit', 'Rotate key', 'Delete key'])
      await drawer.getByRole('button', { name, exact: true }).waitFor()
    await drawer.getByRole('button', { name: 'Block key' }).click()
    await drawer.getByText('Blocked', { exact: true }).waitFor()
    // The team itself: its limits, too, but not its state, which is for administrators.
    await goTo(leader.page, '/teams?team=crew')
    const team = leader.page.getByRole('dialog', { name: 'Crew' })
    await team.getByRole('button', { name: 'Edit', exact: true }).click()
    await team.getByRole('textbox', { name: 'Budget', exact: true }).waitFor()
    await leader.close()
    const own = await (
      await fetch(`${gateway.url}/key/generate`, {
        method: 'POST',
        headers: { authorization: `Bearer ${otto}`, 'content-type': 'application/json' },
        body: JSON.stringify({ key_alias: 'of-otto' }),
      })
    ).json()
    const { page, close } = await open(`keys?key=${(own as { token_id: string }).token_id}`, { key: otto })
    await page.getByRole('dialog').getByRole('button', { name: 'Edit', exact: true }).click()
    await page.getByRole('dialog').getByRole('textbox', { name: 'Budget', exact: true }).fill('2.50')
    await page.getByRole('dialog').getByRole('button', { name: 'Save changes' }).click()
    await page.getByRole('dialog').getByRole('meter').first().waitFor()
    await close()
  })

  test('a warning of an answer is shown, and stays', async () => {
    const { token_id: id } = await made<{ token_id: string }>('/key/generate', { key_alias: 'twin' })
    await made('/key/generate', { key_alias: 'other-twin' })
    const { page, close } = await open(`keys?key=${id}`)
    const drawer = page.getByRole('dialog', { name: 'twin', exact: true })
    await drawer.getByRole('button', { name: 'Edit', exact: true }).click()
    await drawer.getByRole('textbox', { name: 'Name' }).fill('other-twin')
    await drawer.getByRole('button', { name: 'Save changes' }).click()
    await page.getByText('another key has the alias `other-twin` too').first().waitFor()
    await close()
  })

  test('a mistyped member is no new user', async () => {
    await made('/organization/new', { organization_id: 'house', organization_alias: 'House' })
    await made('/team/new', { team_id: 'typed', team_alias: 'Typed' })
    const { page, close } = await open('teams?team=typed')
    for (const path of ['/teams?team=typed', '/organizations?organization=house']) {
      await goTo(page, path)
      for (const who of ['ada@exmaple.com', 'adda']) {
        const field = page.getByRole('dialog').getByRole('textbox', { name: 'Add' })
        await field.fill(who)
        await field.press('Enter')
        await page.getByText('Nobody whom you may add has this address or id').waitFor()
        expect(await field.inputValue()).toBe(who)
        await field.fill('')
      }
    }
    const users = await (await gateway.admin('/user/list?page_size=100')).text()
    expect(users).not.toContain('adda')
    expect(users).not.toContain('exmaple')
    await close()
  })

  test('limits of a named budget are shown as the limits that hold', async () => {
    await made('/budget/new', { budget_id: 'small', rpm_limit: 7, max_parallel_requests: 3 })
    await made('/team/new', { team_id: 'inherits', team_alias: 'Inherits', budget_id: 'small' })
    const key = await made<{ token_id: string }>('/key/generate', { key_alias: 'inherits', budget_id: 'small' })
    const { page, close } = await open('teams?team=inherits')
    await page.getByRole('dialog').getByText('7, by the budget small').waitFor()
    await goTo(page, `/keys?key=${key.token_id}`)
    await page.getByRole('dialog', { name: 'inherits' }).getByText('7, by the budget small').waitFor()
    await page.getByRole('dialog', { name: 'inherits' }).getByText('3, by the budget small').waitFor()
    await close()
  })

  test("an administrator's key is the administrator's; the operator is told that its key is nobody's", async () => {
    const root = await user('root', 'proxy_admin')
    const { page, close } = await open('keys?new=1', { key: root })
    await page.getByText('Programs use it to call models on your account').waitFor()
    await typeAtFocus(page, 'of-root')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').locator('output').waitFor()
    const list = (await (await gateway.admin('/key/list?return_full_object=true&user_id=root')).json()) as {
      keys: { key_alias: string }[]
    }
    expect(list.keys.map(one => one.key_alias)).toContain('of-root')
    await close()
    const operator = await open('keys?new=1')
    await operator.page.getByText('It belongs to no user').waitFor()
    await operator.close()
  })
})
