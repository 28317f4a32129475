/** Sign-in with an identity provider: who gets in as whom, and what the provider's claims change. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { Browser, clientId, clientSecret, signInWith, startProvider } from '../support/sign-in/identity-provider.ts'
import type { TestProvider } from '../support/sign-in/identity-provider.ts'
import { backends, masterKey, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'
import { scimClient, userSchema } from './scim-client.ts'

type Json = Record<string, unknown>

let provider: TestProvider
beforeAll(async () => {
  provider = await startProvider()
})
afterAll(() => provider.stop())
beforeEach(() => {
  provider.lies = {}
})

const gateways: Gateway[] = []
afterEach(async () => {
  for (const gateway of gateways.splice(0)) await gateway.stop()
})

async function start(settings: string, environment: Record<string, string> = {}, backend = backends()[0]!) {
  const config = `model_list: []\n${settings.replaceAll('{issuer}', provider.issuer)}`
  const gateway = await startGateway({ config, environment, backend })
  gateways.push(gateway)
  return gateway
}

/** One provider; `more` = further keys of its entry. */
const oneProvider = (more = '') => `
general_settings:
  sso:
    - { name: own, issuer: "{issuer}", client_id: ${clientId}, client_secret: ${clientSecret}${more && `, ${more}`} }
`

const person = (sub: string, more: Json = {}) => ({
  sub,
  email: `${sub}@example.com`,
  email_verified: true,
  name: sub,
  ...more,
})

/** Signs a person in; the user as the API shows it to the person. */
async function signedIn(gateway: Gateway, who: Json, browser = new Browser()): Promise<Json> {
  provider.person = who
  const back = await signInWith(browser, gateway.url, provider)
  if (back.status !== 302) throw new Error(`${back.status}: ${await back.text()}`)
  return me(gateway, browser)
}

async function me(gateway: Gateway, browser: Browser): Promise<Json> {
  const answer = await browser.open(`${gateway.url}/user/info`)
  if (answer.status !== 200) throw new Error(`${answer.status}: ${await answer.text()}`)
  const { user_info: user } = (await answer.json()) as { user_info: Json }
  return user
}

/** What the page of a refused sign-in says. */
async function refusal(gateway: Gateway, who: Json, browser = new Browser()): Promise<string> {
  provider.person = who
  const back = await signInWith(browser, gateway.url, provider)
  expect([back.status, back.headers.get('content-type')]).toEqual([403, 'text/html; charset=utf-8'])
  expect(browser.cookies.has('modelgate_session')).toBe(false)
  return back.text()
}

const made = async (gateway: Gateway, path: string, body: Json): Promise<Json> => {
  const answer = await gateway.admin(path, body)
  if (answer.status !== 200) throw new Error(await answer.text())
  return (await answer.json()) as Json
}

describe.each(backends())('on $name', backend => {
  test('a person gets an account at the first sign-in, and the same one at the next', async () => {
    const gateway = await start(oneProvider(), {}, backend)
    const first = await signedIn(gateway, person('ada'))
    expect(first).toMatchObject({ user_email: 'ada@example.com', user_alias: 'ada', user_role: 'internal_user' })
    expect((await signedIn(gateway, person('ada', { email: 'ada.new@example.com' }))).user_id).toBe(first.user_id)
    expect((await signedIn(gateway, person('bob'))).user_id).not.toBe(first.user_id)
    const { audit_logs: rows } = (await (await gateway.admin('/audit?action=signed-in')).json()) as {
      audit_logs: Json[]
    }
    expect(rows).toHaveLength(3)
  })

  test('a deactivated user is refused, with a row in the audit log', async () => {
    const gateway = await start(oneProvider(), {}, backend)
    const browser = new Browser()
    const { user_id: id } = await signedIn(gateway, person('ada'), browser)
    await made(gateway, '/user/update', { user_id: id, blocked: true })
    expect((await browser.open(`${gateway.url}/user/info`)).status).toBe(401)
    expect(await refusal(gateway, person('ada'))).toContain('is deactivated')
    const log = (await (await gateway.admin('/audit?action=sign-in-refused')).json()) as { audit_logs: Json[] }
    expect(log.audit_logs).toHaveLength(1)
    expect(JSON.stringify(log.audit_logs[0])).toContain('is deactivated')
  })
})

describe('accounts', () => {
  const addUser = (gateway: Gateway, body: Json) => made(gateway, '/user/new', { auto_create_key: false, ...body })

  test('a verified address links the person to the user who was made with it', async () => {
    const gateway = await start(oneProvider())
    await addUser(gateway, { user_id: 'u-ada', user_email: 'ada@example.com' })
    expect((await signedIn(gateway, person('1', { email: 'Ada@Example.com' }))).user_id).toBe('u-ada')
    // By issuer and subject from now on: the address may change, and another person with it is another person.
    expect((await signedIn(gateway, person('1', { email: 'x@example.com' }))).user_id).toBe('u-ada')
    expect(await refusal(gateway, person('2', { email: 'x@example.com' }))).toContain('belongs to another person')
  })

  test('an unverified address links to no user, and is not kept', async () => {
    const gateway = await start(oneProvider())
    await addUser(gateway, { user_id: 'u-ada', user_email: 'ada@example.com', user_role: 'proxy_admin' })
    for (const verified of [false, undefined, 'no'])
      expect(await refusal(gateway, person('1', { email: 'ada@example.com', email_verified: verified }))).toContain(
        'does not say that',
      )
    const other = await signedIn(gateway, person('2', { email_verified: false }))
    expect(other).toMatchObject({ user_email: null, user_role: 'internal_user' })
  })

  test('trust_email takes every address of the provider for verified', async () => {
    const gateway = await start(oneProvider('trust_email: true'))
    await addUser(gateway, { user_id: 'u-ada', user_email: 'ada@example.com' })
    const who = person('1', { email: 'ada@example.com', email_verified: undefined })
    expect((await signedIn(gateway, who)).user_id).toBe('u-ada')
  })

  test('the id at the provider that an administrator gave a user links it, once', async () => {
    const gateway = await start(oneProvider())
    await addUser(gateway, { user_id: 'u-ada', sso_user_id: 'person-7' })
    expect((await signedIn(gateway, person('person-7', { email_verified: false }))).user_id).toBe('u-ada')
  })

  test('another id at the provider makes a user that of another person, and ends the sessions of the one before', async () => {
    const gateway = await start(oneProvider())
    await addUser(gateway, { user_id: 'u-ada', sso_user_id: 'before' })
    const browser = new Browser()
    expect((await signedIn(gateway, person('before'), browser)).user_id).toBe('u-ada')
    await made(gateway, '/user/update', { user_id: 'u-ada', sso_user_id: 'after', user_email: null })
    expect((await browser.open(`${gateway.url}/user/info`)).status).toBe(401)
    expect((await signedIn(gateway, person('after'))).user_id).toBe('u-ada')
    expect((await signedIn(gateway, person('before'))).user_id).not.toBe('u-ada')
  })

  test('a person whom the directory has deleted does not get the account of one who has the name since', async () => {
    const gateway = await start(oneProvider())
    const scim = await scimClient(gateway)
    const newUser = () => scim.done('POST', '/Users', { schemas: [userSchema], userName: 'ada@example.com' })
    const { id } = await newUser()
    const first = person('1', { email: 'ada@example.com' })
    expect((await signedIn(gateway, first)).user_id).toBe(id)
    await scim.ask('DELETE', `/Users/${id as string}`)
    expect(await refusal(gateway, first)).toContain('is deactivated')
    expect((await newUser()).id).toBe(id)
    const renamed = person('1', { email: 'ada.before@example.com' })
    expect(await refusal(gateway, renamed)).toContain('of this person was removed')
    expect((await signedIn(gateway, person('2', { email: 'ada@example.com' }))).user_id).toBe(id)
  })

  test('below a path prefix every address of a sign-in has it, and the cookie is for the whole host', async () => {
    const gateway = await startGateway({
      config: `model_list: []\n${oneProvider().replaceAll('{issuer}', provider.issuer)}`,
      rootPath: '/gw',
    })
    gateways.push(gateway)
    const below = `${gateway.url}/gw`
    provider.person = person('prefixed')
    const browser = new Browser()
    const away = new URL((await browser.open(`${below}/sso/key/generate`)).headers.get('location')!)
    expect(away.searchParams.get('redirect_uri')).toBe(`${below}/sso/callback`)
    const back = await browser.open(provider.answer(away.href))
    expect([back.status, back.headers.get('location')]).toEqual([302, `${below}/ui/`])
    const cookie = back.headers.getSetCookie().find(one => one.includes('_session='))!
    expect(cookie).toMatch(/^modelgate_session=mgs_[\w-]+; Path=\/; HttpOnly; SameSite=Lax$/)
    expect((await browser.open(`${below}/user/info`)).status).toBe(200)
    const changed = await browser.open(`${below}/sign-in/sessions/revoke-all`, {
      method: 'POST',
      headers: { origin: gateway.url, 'content-type': 'application/json' },
      body: '{}',
    })
    expect(changed.status).toBe(200)
    const login = { method: 'POST', headers: { 'content-type': 'application/json' } }
    const body = JSON.stringify({ username: 'admin', password: masterKey })
    const operator = await browser.open(`${below}/login`, { ...login, body })
    expect(((await operator.json()) as Json).redirect_url).toBe('/gw/ui/')
    const device = await browser.open(`${below}/oauth/device_authorization`, { method: 'POST' })
    expect(((await device.json()) as Json).verification_uri).toBe(`${below}/device`)
    await made(gateway, '/user/new', { user_id: 'invited' })
    const { url } = await made(gateway, '/sign-in/invitations', { user_id: 'invited' })
    expect(url).toStartWith(`${below}/fallback/password?token=`)
    const out = await browser.open(`${below}/sso/logout`)
    expect(new URL(out.headers.get('location')!).pathname).toBe('/gw/')
  })

  test('only verified addresses in the allowed domains get in', async () => {
    const gateway = await start(oneProvider(), { ALLOWED_EMAIL_DOMAINS: 'example.com, Example.org' })
    expect((await signedIn(gateway, person('1', { email: 'ada@example.org' }))).user_email).toBe('ada@example.org')
    for (const email of ['ada@example.net', 'ada@sub.example.com', 'ada@example.com@evil.net', 'ada@evilexample.com'])
      expect([email, await refusal(gateway, person('2', { email }))]).toEqual([email, expect.stringMatching(/domain/)])
    expect(await refusal(gateway, person('3', { email_verified: false }))).toContain('only some domains may sign in')
    expect(await refusal(gateway, person('4', { email: undefined }))).toContain('names no e-mail address')
  })

  test('create_users: false lets only those in whom a user was made for', async () => {
    const gateway = await start(oneProvider('create_users: false'))
    expect(await refusal(gateway, person('ada'))).toContain('There is no user for &#39;ada@example.com&#39;')
    await addUser(gateway, { user_id: 'u-ada', user_email: 'ada@example.com' })
    expect((await signedIn(gateway, person('ada'))).user_id).toBe('u-ada')
  })

  test('required claims are required', async () => {
    const gateway = await start(oneProvider('required_claims: { groups: [users, admins] }'))
    expect(await refusal(gateway, person('1'))).toContain('&#39;groups&#39; is missing')
    expect(await refusal(gateway, person('1', { groups: ['other'] }))).toContain('none of those that are allowed')
    expect((await signedIn(gateway, person('1', { groups: ['x', 'users'] }))).user_role).toBe('internal_user')
  })

  test('new users get the defaults of the configuration', async () => {
    const defaults = 'settings: { default_internal_user_params: { user_role: internal_user_viewer, max_budget: 3 } }\n'
    const gateway = await start(`${defaults}${oneProvider()}`)
    expect(await signedIn(gateway, person('1'))).toMatchObject({ user_role: 'internal_user_viewer', max_budget: 3 })
  })
})

describe('claims', () => {
  test('a role follows its claim at every sign-in, and is gone with it', async () => {
    const gateway = await start(
      oneProvider('role_claim: realm.roles, roles: { boss: proxy_admin, eye: proxy_admin_viewer }'),
    )
    const role = async (...roles: string[]) => (await signedIn(gateway, person('1', { realm: { roles } }))).user_role
    expect(await role('x', 'eye', 'boss')).toBe('proxy_admin')
    expect(await role('eye')).toBe('proxy_admin_viewer')
    // A name of a role is none where values are mapped.
    expect(await role('proxy_admin')).toBe('internal_user')
    expect((await signedIn(gateway, person('1'))).user_role).toBe('internal_user')
  })

  test('teams and organizations follow their claims; others than the mapped ones are left alone', async () => {
    const gateway = await start(
      oneProvider(
        'team_claim: groups, teams: { ds: blue, ops: red }, organization_claim: unit, organizations: { r: org }',
      ),
    )
    for (const id of ['blue', 'red', 'own']) await made(gateway, '/team/new', { team_id: id })
    await made(gateway, '/organization/new', { organization_id: 'org', organization_alias: 'org' })
    const { user_id: id } = await signedIn(gateway, person('1', { groups: ['ds', 'unknown'], unit: 'r' }))
    await made(gateway, '/team/member_add', { team_id: 'own', member: { user_id: id, role: 'user' } })
    const teams = async (groups: unknown) =>
      ((await signedIn(gateway, person('1', { groups }))).teams as string[]).toSorted()
    expect(await teams(['ds'])).toEqual(['blue', 'own'])
    expect(await teams(['ops', 'ds'])).toEqual(['blue', 'own', 'red'])
    expect(await teams(undefined)).toEqual(['own'])
    const organization = (await (await gateway.admin('/organization/info?organization_id=org')).json()) as Json
    expect(JSON.stringify(organization)).not.toContain(String(id))
  })

  test('groups that the provider left out for their number refuse the sign-in and change nothing', async () => {
    const gateway = await start(oneProvider('team_claim: groups'))
    await made(gateway, '/team/new', { team_id: 'blue' })
    await signedIn(gateway, person('1', { groups: ['blue'] }))
    const left = { groups: undefined, _claim_names: { groups: 'src1' } }
    expect(await refusal(gateway, person('1', left))).toContain('too many groups')
    const info = (await (await gateway.admin('/team/info?team_id=blue')).json()) as Json
    expect(JSON.stringify(info)).toContain('"role":"user"')
  })
})

describe('the names of the environment', () => {
  test('GENERIC_*: a provider of OAuth 2.0 alone, known by its userinfo endpoint', async () => {
    const environment = {
      GENERIC_CLIENT_ID: clientId,
      GENERIC_CLIENT_SECRET: clientSecret,
      GENERIC_AUTHORIZATION_ENDPOINT: `${provider.issuer}/authorize`,
      GENERIC_TOKEN_ENDPOINT: `${provider.issuer}/token`,
      GENERIC_USERINFO_ENDPOINT: `${provider.issuer}/userinfo`,
      GENERIC_USER_ID_ATTRIBUTE: 'id',
      GENERIC_USER_ROLE_ATTRIBUTE: 'role',
    }
    const gateway = await start('', environment)
    provider.lies = { answer: { iss: undefined } }
    // As GitHub has it: the id is a number.
    const who = { id: 4711, email: 'ada@example.com', name: 'Ada', role: 'proxy_admin_viewer' }
    expect(await signedIn(gateway, who)).toMatchObject({ sso_user_id: '4711', user_role: 'proxy_admin_viewer' })
    // An ID token that cannot be checked is not read.
    provider.lies = { answer: { iss: undefined }, claims: { sub: 'other', id: 1 } }
    expect(await signedIn(gateway, who)).toMatchObject({ sso_user_id: '4711' })
    provider.lies = {}
    expect(await refusal(gateway, who)).toContain('GENERIC_ISSUER')
  })

  test('without any provider the browser is sent to the other ways in', async () => {
    const gateway = await start('')
    const answer = await new Browser().open(`${gateway.url}/sso/key/generate`)
    expect([answer.status, answer.headers.get('location')]).toEqual([302, `${gateway.url}/ui/login`])
  })
})
