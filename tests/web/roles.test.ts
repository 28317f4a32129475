/** Roles x pages: what is shown, and what the gateway refuses when the request behind a hidden page is made by hand. */
import { beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser } from 'playwright-core'
import { allEndpoints } from '../../src/endpoints/index.ts'
import type { Gateway } from '../e2e/harness.ts'
import { rolePasses } from '../e2e/role-passes.ts'
import { goTo, hasChromium, openPage, openSignedIn, pageMs, signInByInvitation, withPages } from './browser.ts'

const endpoints = await allEndpoints()

setDefaultTimeout(3 * pageMs)

const roles = ['admin', 'viewer', 'orgAdmin', 'teamAdmin', 'member', 'memberViewer'] as const
type Role = (typeof roles)[number]
/** What they are in the whole gateway; the rest are memberships. */
const userRoles: Readonly<Record<Role, string>> = {
  admin: 'proxy_admin',
  viewer: 'proxy_admin_viewer',
  orgAdmin: 'internal_user',
  teamAdmin: 'internal_user',
  member: 'internal_user',
  memberViewer: 'internal_user_viewer',
}

/** A page that not every person gets to see, and the request behind it. */
interface PageOfRoles {
  readonly title: string
  readonly path: string
  readonly ask?: string
  readonly for: readonly Role[]
  /** The gateway answers everybody, with what is theirs: others would see an empty page. */
  readonly isAnswered?: boolean
}
const pages: readonly PageOfRoles[] = [
  { title: 'Health', path: 'health', ask: '/health/deployments', for: ['admin', 'viewer'] },
  { title: 'Audit log', path: 'audit', ask: '/audit', for: ['admin', 'viewer'] },
  // Admins of teams may ask for the users of one team, which is on the page of teams.
  { title: 'Users', path: 'users', ask: '/user/list', for: ['admin', 'viewer'] },
  {
    title: 'Organizations',
    path: 'organizations',
    ask: '/v2/organization/list',
    for: ['admin', 'viewer', 'orgAdmin'],
    isAnswered: true,
  },
  { title: 'Budgets', path: 'budgets', ask: '/budget/usage', for: ['admin', 'viewer'] },
  { title: 'Customers', path: 'customers', ask: '/v2/customer/list', for: ['admin', 'viewer'] },
  { title: 'Providers', path: 'providers', ask: '/credentials', for: ['admin', 'viewer'] },
  { title: 'Guardrails', path: 'guardrails', ask: '/v2/guardrails/list', for: ['admin', 'viewer'] },
  // No cache is configured here: its routes would answer 503 to those who may ask.
  { title: 'Caching', path: 'caching', for: ['admin', 'viewer'] },
  { title: 'Configuration', path: 'settings', ask: '/config/effective', for: ['admin', 'viewer'] },
  { title: 'Keys', path: 'keys', ask: '/key/list', for: roles },
  { title: 'Logs', path: 'logs', ask: '/spend/logs/v2', for: roles },
]

describe.skipIf(!hasChromium)('roles and pages', () => {
  let gateway: Gateway
  let browser: Browser
  const keys = new Map<Role, string>()
  withPages({}, opened => ({ gateway, browser } = opened))
  beforeAll(async () => {
    for (const [name, user_role] of Object.entries(userRoles)) {
      const made = await gateway.admin('/user/new', { user_id: name, user_role })
      keys.set(name as Role, ((await made.json()) as { key: string }).key)
    }
    const organization_id = 'org'
    const steps: [path: string, body: object][] = [
      ['/organization/new', { organization_id, organization_alias: 'Org' }],
      ['/organization/member_add', { organization_id, member: { user_id: 'orgAdmin', role: 'org_admin' } }],
      ['/team/new', { team_id: 'team', members_with_roles: [{ user_id: 'teamAdmin', role: 'admin' }] }],
    ]
    for (const [path, body] of steps) {
      const answer = await gateway.admin(path, body)
      if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`)
    }
  })
  test.each(roles)('%s sees the pages of the list, and reaches no other by its address or by hand', async role => {
    const { page, close } = await openSignedIn(browser, gateway, { key: keys.get(role)! })
    await page.goto(`${gateway.url}/ui/`)
    const navigation = page.getByRole('navigation')
    await navigation.getByRole('link', { name: 'Overview', exact: true }).waitFor()
    for (const { title, path, ask, for: allowed, isAnswered } of pages) {
      const may = allowed.includes(role)
      await goTo(page, `/${path}`)
      const heading = page.getByRole('heading', { name: title, level: 1, exact: true })
      const refusal = page.getByText('Your role does not allow this')
      await heading.or(refusal).first().waitFor()
      expect([path, await heading.count(), await refusal.count()]).toEqual([path, may ? 1 : 0, may ? 0 : 1])
      if (!may) {
        const main = page.getByRole('main')
        await main.getByRole('link', { name: 'Overview' }).waitFor()
        expect(await main.innerText()).toMatch(
          new RegExp(`${title} is for other roles.\\s+Your role is (Member|Admin)`),
        )
      }
      const links = navigation.getByRole('link', { name: title, exact: true })
      expect([path, await links.count()]).toEqual([path, may ? 1 : 0])
      if (ask === undefined) continue
      const status = await page.evaluate(async url => (await fetch(url)).status, ask)
      expect([ask, status]).toEqual([ask, may || isAnswered ? 200 : 403])
    }
    await close()
  })

  // The same operations and classes as in tests/e2e/role-matrix.test.ts, with the session of the person and as by the
  // page.
  test.each(roles)(
    '%s who writes requests by hand is refused every operation that the role does not pass',
    async role => {
      const { context, close } = await openPage(browser, gateway.url)
      await signInByInvitation(context, gateway, role)
      const cookie = (await context.cookies()).map(one => `${one.name}=${one.value}`).join('; ')
      await close()
      const asPage = {
        cookie,
        origin: gateway.url,
        'sec-fetch-site': 'same-origin',
        'content-type': 'application/json',
      }
      const wrong: string[] = []
      for (const { method, paths, auth, doc } of endpoints) {
        if (auth === 'none' || auth === 'key') continue
        const path = paths[0]!.replaceAll(/\{\w+\+?\}/g, 'none')
        // No JSON, so that nothing is changed where it is let through.
        const body = method === 'GET' ? undefined : '{'
        const answer = await fetch(`${gateway.url}${path}`, { method, headers: asPage, body })
        const isRefused = answer.status === 403 && (await answer.text()).includes('this operation needs')
        if (isRefused === rolePasses[userRoles[role]]!.includes(auth))
          wrong.push(`${doc.operationId}: ${answer.status}`)
      }
      expect(wrong).toEqual([])
    },
  )

  test('a member who puts the ids of others into requests gets and changes nothing', async () => {
    const { page, context, close } = await openPage(browser, gateway.url)
    await signInByInvitation(context, gateway, 'member')
    await page.goto(`${gateway.url}/ui/sessions`)
    const made = await gateway.admin('/key/generate', { user_id: 'admin', key_alias: 'private' })
    const { token: hash } = (await made.json()) as { token: string }
    const requests: [path: string, body?: object][] = [
      [`/key/info?key=${hash}`],
      [`/key/limits?key=${hash}`],
      ['/user/info?user_id=admin'],
      ['/team/info?team_id=team'],
      ['/organization/info?organization_id=org'],
      ['/key/list?user_id=admin'],
      ['/spend/logs/v2?user_id=admin'],
      ['/key/update', { key: hash, max_budget: 1000 }],
      ['/key/delete', { keys: [hash] }],
      [`/key/${hash}/regenerate`, {}],
      ['/key/generate', { user_id: 'admin' }],
      ['/key/generate', { team_id: 'team' }],
      ['/user/update', { user_id: 'member', user_role: 'proxy_admin' }],
      ['/user/update', { user_id: 'admin', user_alias: 'taken over' }],
      ['/team/update', { team_id: 'team', max_budget: 1000 }],
      ['/team/member_add', { team_id: 'team', member: { user_id: 'member', role: 'admin' } }],
      ['/organization/member_add', { organization_id: 'org', member: { user_id: 'member', role: 'org_admin' } }],
    ]
    const answers = await page.evaluate(async all => {
      const seen: [path: string, status: number, text: string][] = []
      for (const [path, body] of all) {
        const json = body && {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        }
        const answer = await fetch(path, json)
        seen.push([path, answer.status, await answer.text()])
      }
      return seen
    }, requests)
    const leaked = answers.filter(
      ([, status, text]) => ![403, 404].includes(status) && !(status === 200 && !/admin|private|"team"/.test(text)),
    )
    expect(leaked).toEqual([])
    const { info } = (await (await gateway.admin(`/key/info?key=${hash}`)).json()) as { info: Record<string, unknown> }
    expect([info.key_alias, info.max_budget]).toEqual(['private', null])
    await close()
  })

  // That each page leads a stranger to the login is shown in every-page.test.ts.
  test('a stranger is refused every request behind a page', async () => {
    const asked = pages.flatMap(({ ask }) => ask ?? [])
    const refused = await Promise.all(asked.map(async path => [path, (await fetch(gateway.url + path)).status]))
    expect(refused).toEqual(asked.map(path => [path, 401]))
  })
})
