/** Sessions of browsers over HTTP: begun by a page without script or by JSON, used, listed, ended. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { Browser } from './browser.ts'
import { masterKey, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

type Json = Record<string, any>

let gateway: Gateway
beforeAll(async () => {
  gateway = await startGateway()
})
afterAll(() => gateway.stop())

const newBrowser = () => new Browser(gateway.url)

test('the operator signs in by a page without script, and uses the session', async () => {
  const browser = newBrowser()
  const page = await browser.ask('GET', '/fallback/login')
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'; style-src 'sha256-")
  expect(await page.text()).not.toContain('<script')
  const answer = await browser.fillIn({ username: 'admin', password: masterKey }, '?return_to=/ui/keys%3Fa=1')
  expect([answer.status, answer.headers.get('location')]).toEqual([303, './ui/keys?a=1'])
  const me = await browser.json('GET', '/sign-in/session')
  expect(me).toMatchObject({ status: 200, user_id: null, role: 'proxy_admin', method: 'master-key' })
  expect(me.session).toMatchObject({ current: true, client_address: '127.0.0.1' })
  expect((await browser.json('POST', '/key/generate', { key_alias: 'by-session' })).status).toBe(200)
  const audit = (await (await gateway.admin('/audit?action=created&table_name=key&page_size=1')).json()) as Json
  expect(audit.audit_logs[0]).toMatchObject({ changed_by: 'master', changed_by_api_key: `session:${me.session.id}` })
})

test('a wrong name or password is refused alike, with an audit row and without telling which', async () => {
  await gateway.admin('/user/new', { user_id: 'ann', user_email: 'ann@example.com', auto_create_key: false })
  const said = new Set<string>()
  for (const [name, password] of [
    ['ann', 'x'],
    ['ann@example.com', 'x'],
    ['not-there', 'x'],
    ['admin', 'x'],
    ['ann', masterKey],
  ]) {
    const { status, error } = await newBrowser().signIn(name, password)
    expect(status).toBe(401)
    said.add(error.message)
  }
  expect(said.size).toBe(1)
  const form = await newBrowser().fillIn({ username: '<b>ann', password: 'x' })
  expect(form.status).toBe(401)
  expect(await form.text()).toContain('role="alert"')
  const rows = ((await (await gateway.admin('/audit?action=sign-in-refused')).json()) as Json).audit_logs as Json[]
  expect(rows.filter(row => row.object_id === 'ann')).toHaveLength(3)
  expect(rows[0]).toMatchObject({ updated_values: { reason: 'wrong-password', client_address: '127.0.0.1' } })
})

test('a form that another page made is refused, and a sign-in from another origin', async () => {
  const victim = newBrowser()
  const body = new URLSearchParams({ username: 'admin', password: masterKey })
  expect((await victim.ask('POST', '/login', { body })).status).toBe(403)
  const attacker = newBrowser()
  const page = await (await attacker.ask('GET', '/fallback/login')).text()
  body.set('form_token', /name="form_token" value="([^"]+)"/.exec(page)![1]!)
  expect((await newBrowser().ask('POST', '/login', { body })).status).toBe(403)
  await victim.ask('GET', '/fallback/login')
  expect((await victim.ask('POST', '/login', { body })).status).toBe(403)
  const json = { body: { username: 'admin', password: masterKey }, headers: { origin: 'https://evil.example' } }
  expect((await victim.ask('POST', '/login', json)).status).toBe(403)
  expect([...victim.cookies.keys()]).not.toContain('modelgate_session')
})

test('after the sign-in a browser is sent to own paths alone', async () => {
  const foreign = [
    '//evil.example',
    '/\\evil.example',
    'https://evil.example',
    '/\t/evil.example',
    '\\/evil.example',
    'javascript:alert(1)',
    '/ui\\..',
    ' /ui',
    '/ui\n',
    '',
  ]
  for (const path of foreign) {
    const answer = await newBrowser().fillIn(
      { username: 'admin', password: masterKey, return_to: path },
      `?return_to=${encodeURIComponent(path)}`,
    )
    expect([path, answer.headers.get('location')]).toEqual([path, './ui/'])
  }
})

test('each sign-in begins another session and ends the one before: none can be planted', async () => {
  const browser = newBrowser()
  await browser.signIn()
  const before = browser.cookies.get('modelgate_session')!
  await browser.signIn()
  expect(browser.cookies.get('modelgate_session')).not.toBe(before)
  const planted = newBrowser()
  planted.cookies.set('modelgate_session', before)
  expect((await planted.json('GET', '/sign-in/session')).status).toBe(401)
  planted.cookies.set('modelgate_session', 'mgs_of-another-installation')
  expect((await planted.json('GET', '/sign-in/session')).status).toBe(401)
  expect((await planted.signIn()).status).toBe(200)
  expect((await planted.json('GET', '/sign-in/session')).status).toBe(200)
})

test('sessions are listed, ended one by one, and all but the present one', async () => {
  const [here, there, third] = [newBrowser(), newBrowser(), newBrowser()]
  const ids: string[] = []
  for (const one of [here, there, third]) ids.push((await one.signIn()).session_id)
  const { sessions } = await here.json('GET', '/sign-in/sessions')
  expect((sessions as Json[]).filter(one => ids.includes(one.id)).map(one => [one.id, one.current])).toEqual([
    [ids[2], false],
    [ids[1], false],
    [ids[0], true],
  ])
  expect(await here.json('DELETE', `/sign-in/sessions/${ids[1]}`)).toEqual({ status: 200, revoked: 1 })
  expect((await here.json('DELETE', `/sign-in/sessions/${ids[1]}`)).status).toBe(404)
  expect((await there.json('GET', '/sign-in/session')).status).toBe(401)
  expect((await here.json('POST', '/sign-in/sessions/revoke-all', { keep_current: true })).status).toBe(200)
  expect((await third.json('GET', '/sign-in/session')).status).toBe(401)
  expect((await here.json('GET', '/sign-in/sessions')).total).toBe(1)
  const key = await gateway.key()
  const byKey = await fetch(`${gateway.url}/sign-in/sessions`, { headers: { authorization: `Bearer ${key}` } })
  expect(byKey.status).toBe(403)
})

test('a link on another site cannot have upstreams asked with the session of its reader', async () => {
  const browser = newBrowser()
  await browser.signIn()
  const check = async (headers: Record<string, string>) =>
    (await browser.ask('GET', '/health?model=chat-model', { headers })).status
  const sent = () => gateway.simulator.truth.entries.length
  const before = sent()
  const foreign: Record<string, string>[] = [{}, { 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.example' }]
  for (const headers of foreign) expect([headers, await check(headers)]).toEqual([headers, 403])
  expect(sent()).toBe(before)
  expect(await check({ 'sec-fetch-site': 'same-origin' })).toBe(200)
  // Over plain http browsers do not name the site.
  expect(await check({ 'x-requested-with': 'modelgate' })).toBe(200)
  expect(sent()).toBe(before + 2)
})

test('signing out ends the session and removes its cookie', async () => {
  const browser = newBrowser()
  await browser.signIn()
  const before = browser.cookies.get('modelgate_session')!
  const foreign = await browser.ask('POST', '/sign-in/logout', { headers: { origin: 'https://evil.example' } })
  expect(foreign.status).toBe(403)
  expect(await browser.json('POST', '/sign-in/logout')).toEqual({ status: 200, signed_out: true })
  expect(browser.cookies.has('modelgate_session')).toBe(false)
  browser.cookies.set('modelgate_session', before)
  expect((await browser.json('GET', '/sign-in/session')).status).toBe(401)
  expect((await newBrowser().json('POST', '/sign-in/logout')).status).toBe(200)
})

test('over plain http from another machine nobody can sign in, over https the cookie is for this host alone', async () => {
  const body = { username: 'admin', password: masterKey }
  const plain = await newBrowser().ask('POST', '/login', {
    body,
    headers: { host: 'gateway.example', origin: 'http://gateway.example' },
  })
  expect(plain.status).toBe(403)
  expect(((await plain.json()) as Json).error.message).toContain('PROXY_BASE_URL')
  expect((await newBrowser().ask('GET', '/fallback/login', { headers: { host: 'gateway.example' } })).status).toBe(403)
  const secure = await newBrowser().ask('POST', '/login', {
    body,
    headers: { host: 'gateway.example', origin: 'https://gateway.example' },
  })
  expect(secure.status).toBe(200)
  const cookie = secure.headers.getSetCookie().find(one => one.includes('_session='))!
  expect(cookie).toMatch(/^__Host-modelgate_session=mgs_[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Secure$/)
})

test('the page without script leads to identity providers, too', async () => {
  const environment = {
    GENERIC_CLIENT_ID: 'x',
    GENERIC_CLIENT_SECRET: 'y',
    GENERIC_AUTHORIZATION_ENDPOINT: 'https://login.example/authorize',
    GENERIC_TOKEN_ENDPOINT: 'https://login.example/token',
    GENERIC_USERINFO_ENDPOINT: 'https://login.example/userinfo',
  }
  const other = await startGateway({ environment })
  const { providers } = (await (await fetch(`${other.url}/sign-in/methods`)).json()) as Json
  expect(providers).toHaveLength(1)
  const page = await (await fetch(`${other.url}/fallback/login?return_to=/ui/keys`)).text()
  expect(page).toContain(`<a href="../${providers[0].url}&amp;return_to=%2Fui%2Fkeys">`)
  await other.stop()
})
