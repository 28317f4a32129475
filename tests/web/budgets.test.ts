/** The page of budgets: what is nearest its limit, why, a raise for a while, and budgets that many share. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser } from 'playwright-core'
import type { Gateway } from '../e2e/harness.ts'
import { violations } from './axe.ts'
import { hasChromium, openSignedIn, pageMs, withPages, typeAtFocus } from './browser.ts'

setDefaultTimeout(3 * pageMs)

describe.skipIf(!hasChromium)('the page of budgets', () => {
  let gateway: Gateway
  let browser: Browser
  withPages({}, opened => ({ gateway, browser } = opened))

  const made = async (path: string, body: object) => {
    const answer = await gateway.admin(path, body)
    if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`)
  }
  const open = async (path: string, options: Parameters<typeof openSignedIn>[2] = {}) => {
    const opened = await openSignedIn(browser, gateway, options)
    await opened.page.goto(`${gateway.url}/ui/${path}`)
    await opened.page.getByRole('heading', { name: 'Budgets', level: 1 }).waitFor()
    return opened
  }

  test('without any budget it says where they are made', async () => {
    const { page, close } = await open('budgets')
    await page.getByText('No budgets yet').waitFor()
    await close()
  })

  test('what is nearest its limit stands first, in words besides colour, and is raised with a reason', async () => {
    await made('/organization/new', { organization_id: 'nord', organization_alias: 'Nord', max_budget: 50 })
    await made('/team/new', { team_id: 'far', team_alias: 'Far', max_budget: 100 })
    await made('/team/new', { team_id: 'spent', team_alias: 'Spent', max_budget: 0.000_001, organization_id: 'nord' })
    const key = await gateway.key({ team_id: 'spent' })
    // What it may cost at most fits while the budget is raised.
    const raise = { temp_budget_increase: 1, temp_budget_expiry: '2099-01-01' }
    await made('/team/update', { team_id: 'spent', ...raise })
    const call = () =>
      fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'chat-model', messages: [{ role: 'user', content: 'Hello' }] }),
      })
    expect((await call()).status).toBe(200)
    await made('/team/update', { team_id: 'spent', temp_budget_increase: null, temp_budget_expiry: null })
    while ((await call()).status !== 429) await Bun.sleep(20)
    // The list is ordered by what is stored, which comes behind what calls are decided by.
    while ((await gateway.rows('&outcome=success')).length === 0) await Bun.sleep(20)
    const { page, close, faults } = await open('budgets')
    const rows = page.getByRole('row')
    await page.getByText('limit reached').waitFor()
    expect((await rows.nth(1).innerText()).replace(/\s+/g, ' ')).toContain('Spent Team')
    await page.getByRole('combobox', { name: 'State' }).click()
    await page.getByRole('option', { name: 'Limit reached' }).click()
    await page.getByRole('link', { name: /^Far/ }).waitFor({ state: 'detached' })
    // The filter is in the address.
    expect(page.url()).toContain('share=1')
    await page.getByRole('link', { name: /^Spent/ }).click()
    const drawer = page.getByRole('dialog', { name: 'Spent', exact: true })
    const limits = drawer.getByRole('region', { name: 'What limits its calls' })
    await limits.getByText('The next call is refused by team spent: budget').waitFor()
    await limits.getByRole('listitem').filter({ hasText: 'organization Nord' }).waitFor()
    expect(await violations(page)).toEqual([])
    await drawer.getByRole('button', { name: 'Raise for a while' }).click()
    const form = drawer.getByRole('form', { name: 'Raise for a while' })
    await form.getByRole('textbox', { name: 'Raise by' }).fill('2.5')
    // Without a reason there is no raise.
    expect(await form.getByRole('button', { name: 'Raise budget' }).isDisabled()).toBe(true)
    await form.getByRole('textbox', { name: 'Reason' }).fill('Fair in Hanover')
    await form.getByRole('button', { name: 'Raise budget' }).click()
    const raised = drawer.getByRole('region', { name: 'Raised' })
    await raised.getByText('Fair in Hanover').waitFor()
    expect(await raised.innerText()).toContain('Raised by $2.50, until')
    while ((await call()).status !== 200) await Bun.sleep(20)
    const log = (await (await gateway.admin('/audit?object_id=spent&page_size=1')).json()) as {
      audit_logs: { updated_values: { budgetIncreaseReason?: string } }[]
    }
    expect(JSON.stringify(log.audit_logs[0])).toContain('Fair in Hanover')
    await limits.getByText(/The next call may cost \$2\.\d+ at most/).waitFor()
    await raised.getByRole('button', { name: 'End the raise' }).click()
    await drawer.getByRole('button', { name: 'Raise for a while' }).waitFor()
    expect(faults).toEqual([])
    await close()
  })

  test('a named budget is made, used, changed for all who use it, and deleted only when nothing does', async () => {
    const { page, close, faults } = await open('budgets?view=named', { colorScheme: 'dark' })
    await page.getByText('No named budgets yet').waitFor()
    await page.keyboard.press('c')
    await page.getByRole('dialog', { name: 'Create budget', exact: true }).waitFor()
    await typeAtFocus(page, 'free-tier')
    const dialog = page.getByRole('dialog', { name: 'Create budget', exact: true })
    await dialog.getByRole('textbox', { name: 'Budget', exact: true }).fill('4')
    await dialog.getByRole('button', { name: 'Create budget' }).click()
    const drawer = page.getByRole('dialog', { name: 'free-tier', exact: true })
    await drawer.getByText('Nothing uses it.').waitFor()
    await made('/customer/new', { user_id: 'shop-9', budget_id: 'free-tier' })
    await page.reload()
    await drawer.getByRole('region', { name: 'Used by' }).getByText('shop-9').waitFor()
    expect(await violations(page)).toEqual([])
    await drawer.getByRole('button', { name: 'Edit', exact: true }).click()
    await drawer.getByRole('textbox', { name: 'Budget', exact: true }).fill('6')
    await drawer.getByRole('button', { name: 'Save changes' }).click()
    await drawer.getByText('of $6.00').waitFor()
    const remove = async () => {
      await drawer.getByRole('button', { name: 'Delete budget' }).click()
      const confirm = page.getByRole('alertdialog')
      await confirm.getByRole('textbox').fill('free-tier')
      await confirm.getByRole('button', { name: 'Delete budget' }).click()
    }
    await remove()
    await page.getByRole('alertdialog').getByRole('alert').waitFor()
    await page.keyboard.press('Escape')
    await made('/customer/delete', { user_ids: ['shop-9'] })
    await remove()
    await page.getByText('No named budgets yet').waitFor()
    expect(faults).toEqual([])
    await close()
  })

  test('an admin who only reads is offered no change', async () => {
    const made = await gateway.admin('/user/new', { user_id: 'vera', user_role: 'proxy_admin_viewer' })
    const { key } = (await made.json()) as { key: string }
    const { page, close } = await open('budgets?of=team&id=far', { key, viewport: { width: 360, height: 740 } })
    const drawer = page.getByRole('dialog', { name: 'Far', exact: true })
    await drawer.getByRole('meter').first().waitFor()
    expect(await drawer.getByRole('button', { name: 'Raise for a while' }).count()).toBe(0)
    expect(await page.locator('[data-primary]').count()).toBe(0)
    const excess = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
    expect(excess).toBeLessThanOrEqual(0)
    await close()
  })
})
