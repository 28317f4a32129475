/** Passwords of users: set by a link, changed by their user, and never guessed by many tries. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { SQL } from 'bun'
import { post } from '../support/sign-in/device-client.ts'
import { Browser } from './browser.ts'
import { masterKey, standardConfig, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

type Json = Record<string, any>

const password = 'correct horse battery'
let gateway: Gateway
beforeAll(async () => {
  gateway = await startGateway({
    config: `${standardConfig}\ngeneral_settings: { trusted_proxies: [127.0.0.0/8] }\n`,
  })
})
afterAll(() => gateway.stop())

const newBrowser = () => new Browser(gateway.url)
const admin = async (path: string, body?: Json): Promise<Json> => {
  const response = await gateway.admin(path, body)
  return { status: response.status, ...((await response.json()) as Json) }
}
const addUser = (id: string, fields: Json = {}) =>
  admin('/user/new', { user_id: id, auto_create_key: false, ...fields })
const invite = async (user_id: string): Promise<Json> => {
  const made = await admin('/sign-in/invitations', { user_id })
  return { ...made, token: new URL(made.url as string).searchParams.get('token')! }
}
const addUserWithPassword = async (id: string) => {
  await addUser(id)
  const { token } = await invite(id)
  expect((await newBrowser().json('POST', '/sign-in/claim', { token, password })).status).toBe(200)
}
/** From one address, as a trusted proxy tells it. */
const tryFrom = async (address: string, username: string, tried: string) => {
  const body = { username, password: tried }
  const response = await newBrowser().ask('POST', '/login', { body, headers: { 'x-forwarded-for': address } })
  await response.text()
  return response
}

test('a page of another origin cannot use a link: it would sign its reader in as another', async () => {
  await addUser('attacker')
  const { token } = await invite('attacker')
  const victim = newBrowser()
  // A form of plain text is sent by any page without being asked for.
  for (const origin of ['https://evil.example', 'null'])
    for (const [path, body] of [
      ['/sign-in/claim', { token, password }],
      ['/onboarding/claim_token', { invitation_link: token, password }],
    ] as const) {
      const answer = await victim.ask('POST', path, { body, headers: { origin, 'content-type': 'text/plain' } })
      expect([path, answer.status, [...victim.cookies.keys()]]).toEqual([path, 403, []])
    }
  expect((await victim.json('POST', '/sign-in/claim', { token, password })).status).toBe(200)
})

test('a user sets a password by a link without script, once, and signs in with it by id or address', async () => {
  await addUser('ann', { user_email: 'Ann@example.com' })
  const { url, user_id: userId, email_sent: sent, token } = await invite('ann')
  expect([new URL(url as string).pathname, userId, sent]).toEqual(['/fallback/password', 'ann', false])
  const browser = newBrowser()
  const query = `?token=${token}`
  const wrong = await browser.fillIn({ password, repeated: 'another password' }, query, '/fallback/password')
  expect([wrong.status, await wrong.text()]).toEqual([422, expect.stringContaining('The two passwords differ')])
  const short = await browser.fillIn({ password: 'short', repeated: 'short' }, query, '/fallback/password')
  expect([short.status, await short.text()]).toEqual([422, expect.stringContaining('12 to 256 characters')])
  const done = await browser.fillIn({ password, repeated: password }, query, '/fallback/password')
  expect([done.status, done.headers.get('location')]).toEqual([303, '../ui/'])
  expect(await browser.json('GET', '/sign-in/session')).toMatchObject({
    user_id: 'ann',
    role: 'internal_user',
    method: 'password',
  })
  const again = await newBrowser().json('POST', '/sign-in/claim', { token, password: 'yet another password' })
  expect(again.status).toBe(404)
  for (const name of ['ann', ' ann ', 'ann@example.com', 'ANN@example.com'])
    expect((await newBrowser().signIn(name, password)).status).toBe(200)
  expect((await newBrowser().signIn('ann', `${password}.`)).status).toBe(401)
})

test('of ten that use a link at once, one sets the password', async () => {
  await addUser('ben')
  const { token } = await invite('ben')
  const tries = Array.from({ length: 10 }, (_, at) =>
    newBrowser().json('POST', '/sign-in/claim', { token, password: `password number ${at}` }),
  )
  const statuses = (await Promise.all(tries)).map(one => one.status)
  expect(statuses.filter(one => one === 200)).toHaveLength(1)
  expect(statuses.filter(one => one === 404)).toHaveLength(9)
})

test('a link ends with another one, when it is withdrawn, and with its user', async () => {
  const claim = (token: string) => newBrowser().json('POST', '/sign-in/claim', { token, password })
  await addUser('cleo')
  const first = await invite('cleo')
  const second = await invite('cleo')
  expect((await claim(first.token)).status).toBe(404)
  const withdrawn = await fetch(`${gateway.url}/sign-in/invitations/${second.id}`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${masterKey}` },
  })
  expect(withdrawn.status).toBe(200)
  expect((await claim(second.token)).status).toBe(404)
  const third = await invite('cleo')
  await admin('/user/delete', { user_ids: ['cleo'] })
  await addUser('cleo')
  expect((await claim(third.token)).status).toBe(404)
})

test('a link ends when the user gets another address or another role, and with no other change', async () => {
  const claim = (token: string) => newBrowser().json('POST', '/sign-in/claim', { token, password })
  await addUser('mia', { user_email: 'mia@exmaple.com' })
  for (const change of [{ user_email: 'mia@example.com' }, { user_role: 'proxy_admin' }, { user_email: null }]) {
    const { token } = await invite('mia')
    await admin('/user/update', { user_id: 'mia', ...change })
    expect([change, (await claim(token)).status]).toEqual([change, 404])
  }
  const { token } = await invite('mia')
  await admin('/user/update', { user_id: 'mia', user_alias: 'Mia', max_budget: 3 })
  expect((await claim(token)).status).toBe(200)
})

test('a password that is tried first is refused, and one in two spellings of Unicode is one', async () => {
  await addUser('nils')
  const { token } = await invite('nils')
  for (const tried of ['password1234', 'Nils-password-1'])
    expect(await newBrowser().json('POST', '/sign-in/claim', { token, password: tried })).toMatchObject({
      status: 422,
      error: { message: expect.stringContaining('tried first') },
    })
  const composed = 'gr\u00fcne \u00c4pfel am Fluss'
  const decomposed = composed.normalize('NFD')
  expect((await newBrowser().json('POST', '/sign-in/claim', { token, password: decomposed })).status).toBe(200)
  for (const [at, spelling] of [composed, decomposed].entries())
    expect((await tryFrom(`10.77.0.${at}`, 'nils', spelling)).status).toBe(200)
})

test('users change their own password with the present one; other sessions end, this one goes on', async () => {
  await addUserWithPassword('dora')
  const [here, there] = [newBrowser(), newBrowser()]
  for (const one of [here, there]) await one.signIn('dora', password)
  const change = (body: Json) => here.json('POST', '/sign-in/password', body)
  const next = 'a password that is new'
  expect((await change({ new_password: next })).error.param).toBe('current_password')
  expect((await change({ current_password: 'wrong', new_password: next })).status).toBe(403)
  expect((await change({ current_password: password, new_password: 'dora' })).status).toBe(422)
  expect((await change({ user_id: 'ann', new_password: next })).status).toBe(403)
  expect((await there.json('GET', '/sign-in/session')).status).toBe(200)
  expect((await change({ current_password: password, new_password: next })).status).toBe(200)
  expect((await here.json('GET', '/sign-in/session')).status).toBe(200)
  expect((await there.json('GET', '/sign-in/session')).status).toBe(401)
  expect((await newBrowser().signIn('dora', password)).status).toBe(401)
  expect((await newBrowser().signIn('dora', next)).status).toBe(200)
  const { key } = await admin('/key/generate', { user_id: 'dora' })
  const byKey = await fetch(`${gateway.url}/sign-in/password`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ user_id: 'dora', current_password: next, new_password: password }),
  })
  expect(byKey.status).toBe(403)
})

test('a blocked user cannot sign in, and a session ends with the block', async () => {
  await addUserWithPassword('emil')
  const browser = newBrowser()
  await browser.signIn('emil', password)
  const { token } = await invite('emil')
  expect((await admin('/user/update', { user_id: 'emil', blocked: true })).status).toBe(200)
  expect((await browser.json('GET', '/sign-in/session')).status).toBe(401)
  expect((await newBrowser().signIn('emil', password)).status).toBe(401)
  expect((await newBrowser().json('POST', '/sign-in/claim', { token, password })).status).toBe(404)
  const { audit_logs: rows } = await admin('/audit?action=sign-in-refused&object_id=emil')
  expect(rows[0].updated_values.reason).toBe('blocked')
})

test('passwords are stored as argon2id alone, and links as hashes', async () => {
  await addUserWithPassword('fay')
  const { token } = await invite('fay')
  const sql = new SQL(`sqlite:${gateway.dataDirectory}/modelgate.sqlite`)
  // The gateway writes to the same file.
  await sql`pragma busy_timeout = 10000`
  const rows = (await sql`select hash from user_passwords where user_id = 'fay'`) as { hash: string }[]
  expect(rows[0]!.hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  const all = JSON.stringify([
    await sql`select * from user_passwords`,
    await sql`select * from password_links`,
    await sql`select * from sessions`,
    await sql`select * from audit_log`,
  ])
  await sql.close()
  for (const secret of [password, token]) expect(all).not.toContain(secret)
})

test('an address that fails again and again waits; the right password from elsewhere signs in all the same', async () => {
  await addUserWithPassword('gus')
  let last: Response
  let wrong = 0
  while ((last = await tryFrom('192.0.2.7', 'gus', 'wrong')).status === 401) wrong++
  expect([last.status, wrong >= 5]).toEqual([429, true])
  expect(Number(last.headers.get('retry-after'))).toBeWithin(1, 31)
  expect((await tryFrom('198.51.100.7', 'gus', password)).status).toBe(200)
  // One row for each wrong password, and one when the limit was reached.
  const { audit_logs: rows } = await admin('/audit?action=sign-in-refused&page_size=100')
  const from = (rows as Json[]).filter(row => row.updated_values.client_address === '192.0.2.7')
  const expected = ['too-many', ...Array<string>(wrong).fill('wrong-password')]
  expect(from.map(row => row.updated_values.reason).toSorted()).toEqual(expected)
})

test('3,000 wrong passwords check few of them, fill no audit log and lock no right password out', async () => {
  await addUserWithPassword('hal')
  const known = newBrowser()
  await known.ask('POST', '/login', {
    body: { username: 'hal', password },
    headers: { 'x-forwarded-for': '203.0.113.1' },
  })
  const counts = new Map<number, number>()
  const startedMs = performance.now()
  // From twenty addresses, ten at a time.
  await Promise.all(
    Array.from({ length: 10 }, async (_, lane) => {
      for (let at = 0; at < 300; at++) {
        const address = `203.0.113.${(at * 10 + lane) % 20}`
        const { status } = await tryFrom(address, 'hal', 'wrong')
        counts.set(status, (counts.get(status) ?? 0) + 1)
      }
    }),
  )
  const refused = counts.get(401) ?? 0
  // Fifty of the account, one for each address that had none before, and what comes back in a while.
  const secondsPassed = (performance.now() - startedMs) / 1000
  expect(refused).toBeWithin(50, 100 + secondsPassed)
  expect((counts.get(429) ?? 0) + refused).toBe(3000)
  const rows = (await admin('/audit?action=sign-in-refused&page_size=1')).total as number
  expect(rows).toBeLessThan(refused + 200 + 2 * secondsPassed)
  expect((await tryFrom('198.51.100.99', 'hal', password)).status).toBe(200)
  // A browser that has signed in before is not bound to what others do from its address.
  const body = { username: 'hal', password }
  const again = await known.ask('POST', '/login', { body, headers: { 'x-forwarded-for': '203.0.113.1' } })
  expect(again.status).toBe(200)
  expect((await gateway.admin('/v1/models')).status).toBe(200)
}, 120_000)

test('programs behind a trusted proxy are told apart: one that asks for many codes does not keep others from theirs', async () => {
  const codesOfMinute = 60
  const askFrom = async (address: string) => {
    const headers = { 'x-forwarded-for': address }
    const answer = await post(gateway.url, '/oauth/device_authorization', {}, headers)
    await answer.text()
    return answer.status
  }
  const flood = Array.from({ length: 3 * codesOfMinute }, () => askFrom('198.51.100.7'))
  expect(await Promise.all(flood)).toContain(429)
  expect(await askFrom('203.0.113.9')).toBe(200)
})

test('a session has no derived keys, and is told where to get one', async () => {
  await addUserWithPassword('dora')
  const browser = newBrowser()
  await browser.json('POST', '/login', { username: 'dora', password })
  const { status, error } = await browser.json('POST', '/key/derive', {})
  expect([status, error.message]).toEqual([403, expect.stringContaining('POST /key/generate')])
})
