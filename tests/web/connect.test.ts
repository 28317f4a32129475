/**
 * Connecting programs: the texts are complete, and the test of the connection makes the call that the program would.
 */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser } from 'playwright-core'
import { clientSetups, testCall } from '../../web/lib/client-setups.ts'
import { masterKey } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'
import { violationsInBothThemes } from './axe.ts'
import { hasChromium, openPage, openSignedIn, pageMs, withPages } from './browser.ts'

setDefaultTimeout(3 * pageMs)

const values = { gateway: 'https://host.example/prefix/', key: `sk-'"$x`, model: `it's "a" model` }

test.each(clientSetups.map(one => [one.id, one] as const))('%s: address, key and model are in the text', (_, setup) => {
  const text = setup
    .steps(values)
    .map(step => step.code)
    .join('\n')
  expect(text).toContain('https://host.example/prefix')
  expect(text).not.toContain('prefix//')
  // Quoted for a shell, for a program, or as it is in a form.
  expect(text).toMatch(/sk-('\\'')?'?\\?"\$x/)
  if (setup.id !== 'open-webui') expect(text).toMatch(/it('\\'')?'?s \\?"a\\?" model/)
  for (const { title, code } of setup.steps(values))
    if (title.endsWith('.json')) expect(() => JSON.parse(code)).not.toThrow()
})

describe.skipIf(!hasChromium)('the page of connections', () => {
  let gateway: Gateway
  let browser: Browser
  withPages({}, opened => ({ gateway, browser } = opened))

  /** By a session, as the header of `openSignedIn` would stand in the place of the pasted key. */
  const openBySession = async (search: string) => {
    const opened = await openPage(browser, gateway.url)
    const data = { username: 'admin', password: masterKey }
    const answer = await opened.page.request.post(`${gateway.url}/v2/login`, { data })
    expect(answer.status()).toBe(200)
    await opened.page.goto(`${gateway.url}/ui/connect${search}`)
    await opened.page.getByRole('button', { name: 'Test', exact: true }).waitFor()
    return opened
  }

  test('each dialect that a program speaks is answered', async () => {
    const key = await gateway.key()
    for (const dialect of new Set(clientSetups.map(one => one.dialect))) {
      const { path, body } = testCall(dialect, 'chat-model')
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
      const answer = await fetch(`${gateway.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
      expect([dialect, answer.status]).toEqual([dialect, 200])
      await answer.text()
    }
  })

  test('a pasted key is in the text, in no address, and the test is a call of that key', async () => {
    const key = await gateway.key({ key_alias: 'pasted' })
    const { page, close, faults } = await openBySession('?client=claude-code&model=claude-model')
    await page.getByLabel('Key', { exact: true }).fill(key)
    await page.getByText(key).first().waitFor()
    const shown = await page.getByRole('region', { name: 'Claude Code' }).innerText()
    expect(shown).toContain(`ANTHROPIC_BASE_URL='${gateway.url}'`)
    await page.getByRole('button', { name: 'Test', exact: true }).click()
    await page.getByText('claude-model answers').waitFor()
    expect(page.url()).not.toContain(key)
    const row = (await gateway.rows()).find(one => one.model === 'claude-model')
    expect([row?.key_alias, row?.route]).toEqual(['pasted', '/v1/messages'])
    expect(faults).toEqual([])
    await close()
  })

  test('a wrong key and a model that does not answer say why, and leave the session alone', async () => {
    const { page, close } = await openBySession('?client=curl&model=chat-model')
    await page.getByLabel('Key', { exact: true }).fill('sk-wrong')
    await page.getByRole('button', { name: 'Test', exact: true }).click()
    await page.getByRole('alert').waitFor()
    expect(await page.getByText('Your session has ended').count()).toBe(0)
    await page.goto(`${gateway.url}/ui/connect?client=curl&model=nobody`)
    await page.getByRole('button', { name: 'Test', exact: true }).click()
    await page.getByRole('alert').waitFor()
    await close()
  })

  test('axe has no objection from 360 px on, in light and dark, and the page asks three times at most', async () => {
    const asked: string[] = []
    const options = { viewport: { width: 360, height: 800 } }
    const { page, close, faults } = await openSignedIn(browser, gateway, options)
    page.on('request', request => {
      const { pathname } = new URL(request.url())
      if (!pathname.startsWith('/ui/') && !pathname.startsWith('/sign-in/')) asked.push(pathname)
    })
    await page.goto(`${gateway.url}/ui/connect?client=cursor`)
    await page.getByText('has to be reachable').waitFor()
    expect(await violationsInBothThemes(page)).toEqual([])
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360)
    expect(asked).toEqual(['/model_group/info'])
    expect(faults).toEqual([])
    await close()
  })
})
