/** Signing in at `/ui/login` through `oidc-provider`, a certified identity provider, whose pages Chromium shows. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Provider } from 'oidc-provider'
import type { Browser, Page } from 'playwright-core'
import type { Gateway } from '../e2e/harness.ts'
import { clientId, clientSecret } from '../support/sign-in/identity-provider.ts'
import { violations } from './axe.ts'
import { goTo, hasChromium, closePages, openBrowser, openPage, pageMs, startGatewayWithPages } from './browser.ts'

setDefaultTimeout(3 * pageMs)

/** The groups that the provider puts into the claim, by account. */
const groups: Readonly<Record<string, readonly string[]>> = { olga: ['gateway-admin'], milo: ['staff'] }

describe.skipIf(!hasChromium)('signing in through an identity provider', () => {
  let gateway: Gateway
  let browser: Browser
  const server = createServer()
  beforeAll(async () => {
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const config = `
general_settings:
  sso:
    - name: house
      display_name: House accounts
      issuer: ${issuer}
      client_id: ${clientId}
      client_secret: ${clientSecret}
      scope: openid email groups
      role_claim: groups
      roles: { gateway-admin: proxy_admin }
      required_claims: { groups: [gateway-admin, staff] }
`
    gateway = await startGatewayWithPages({ config })
    const provider = new Provider(issuer, {
      clients: [
        {
          client_id: clientId,
          client_secret: clientSecret,
          redirect_uris: [`${gateway.url}/sso/callback`],
          post_logout_redirect_uris: [`${gateway.url}/`],
        },
      ],
      cookies: { keys: ['a key of the provider'] },
      claims: { openid: ['sub'], email: ['email', 'email_verified'], groups: ['groups'] },
      scopes: ['openid', 'email', 'groups'],
      conformIdTokenClaims: false,
      findAccount: (_context, id) => ({
        accountId: id,
        claims: () => ({ sub: id, email: `${id}@example.com`, email_verified: true, groups: groups[id] ?? [] }),
      }),
      features: { devInteractions: { enabled: true } },
    })
    server.on('request', provider.callback())
    browser = await openBrowser()
  })
  afterAll(async () => {
    await closePages(browser)
    await gateway?.stop()
    server.close()
    server.closeAllConnections()
  })

  /** From a page of the gateway to those of the provider, and back. Requests to the provider are meant here. */
  const throughProvider = async (page: Page, account: string) => {
    await page.goto(`${gateway.url}/ui/usage?by=key`)
    await page.getByRole('link', { name: 'Sign in with House accounts' }).click()
    await page.locator('input[name=login]').fill(account)
    await page.locator('input[name=password]').fill('any')
    await page.locator('button[type=submit]').click()
    await page.getByRole('button', { name: 'Continue' }).click()
  }

  test.each([
    ['olga', 'proxy_admin', 1],
    ['milo', 'internal_user', 0],
  ] as const)(
    '%s comes back to the page that was wanted, as %s by the claim, and out again',
    async (account, role, of) => {
      const { page, context, close } = await openPage(browser, gateway.url)
      await throughProvider(page, account)
      await page.getByRole('heading', { name: 'Usage', level: 1 }).waitFor()
      expect(page.url()).toBe(`${gateway.url}/ui/usage?by=key`)
      const session = await page.evaluate(async () => (await fetch('/sign-in/session')).json())
      expect(session).toMatchObject({ role, email: `${account}@example.com`, method: 'sso' })
      const links = page.getByRole('navigation').getByRole('link', { name: 'Audit log' })
      expect(await links.count()).toBe(of)

      // In a second window of the same browser, which is out too then.
      await goTo(page, '/sessions')
      const other = await context.newPage()
      await other.goto(`${gateway.url}/ui/keys`)
      await other.getByRole('heading', { name: 'Keys', level: 1 }).waitFor()
      await page.getByRole('button', { name: 'Sign out everywhere' }).click()
      await page.getByRole('alertdialog').getByRole('button', { name: 'Sign out everywhere' }).click()
      await page.getByRole('heading', { name: /Sign in to Modelgate|Your session has ended/ }).waitFor()
      await other.reload()
      await other.getByRole('heading', { name: 'Sign in to Modelgate' }).waitFor()
      await close()
    },
  )

  test('one whom the claims do not let in reads why, and how else to sign in; so does one whose answer is forged', async () => {
    const { page, close } = await openPage(browser, gateway.url)
    await throughProvider(page, 'eve')
    await page.getByRole('heading', { name: 'You are not signed in' }).waitFor()
    expect(new URL(page.url()).pathname).toBe('/sso/callback')
    await page.getByText("The claim 'groups' is missing").waitFor()
    expect(await page.getByRole('link', { name: 'Sign in with House accounts' }).count()).toBe(1)
    expect(await violations(page)).toEqual([])
    await page.goto(`${gateway.url}/sso/callback?code=forged&state=forged`)
    await page.getByRole('heading', { name: 'You are not signed in' }).waitFor()
    await page.getByText('begin again at the sign-in page').waitFor()
    await page.getByRole('link', { name: 'Sign in without single sign-on' }).click()
    await page.waitForURL('**/fallback/login')
    await close()
  })
})
