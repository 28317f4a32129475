/** Several identity providers, of which one is hostile: what it says of persons reaches nobody of another, or of here. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import {
  Browser,
  clientId,
  clientSecret,
  returnedTo,
  signInWith,
  startProvider,
} from '../support/sign-in/identity-provider.ts'
import type { TestProvider } from '../support/sign-in/identity-provider.ts'
import { standardConfig, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'
import { scimClient } from './scim-client.ts'

type Json = Record<string, unknown>

let honest: TestProvider
let hostile: TestProvider
const gateways: Gateway[] = []
beforeEach(async () => {
  honest = await startProvider()
  hostile = await startProvider()
})
afterEach(async () => {
  for (const gateway of gateways.splice(0)) await gateway.stop()
  honest.stop()
  hostile.stop()
})

/** `more` = further keys of an entry; `general` = further lines of `general_settings`. */
async function start({ more = '', hostileMore = '', general = '' } = {}): Promise<Gateway> {
  const entry = (name: string, { issuer }: TestProvider, keys: string) =>
    `    - { name: ${name}, issuer: "${issuer}", client_id: ${clientId}, client_secret: ${clientSecret}${keys && `, ${keys}`} }\n`
  const providers = entry('honest', honest, more) + entry('hostile', hostile, hostileMore)
  const config = `${standardConfig}\ngeneral_settings:\n${general}  sso:\n${providers}`
  const gateway = await startGateway({ config })
  gateways.push(gateway)
  return gateway
}

const inPage = { headers: { accept: 'text/html' } }
const sentence = (page: string) => (/<p role="alert">([^<]*)<\/p>/.exec(page)?.[1] ?? page).replaceAll('&#39;', "'")

async function signIn(
  gateway: Gateway,
  provider: TestProvider,
  person: Json,
  browser = new Browser(),
): Promise<Response> {
  provider.person = person
  return signInWith(browser, gateway.url, provider, {
    query: `?provider=${provider === honest ? 'honest' : 'hostile'}`,
  })
}

/** The id of the user that a person gets. */
async function userOf(
  gateway: Gateway,
  provider: TestProvider,
  person: Json,
  browser = new Browser(),
): Promise<unknown> {
  const back = await signIn(gateway, provider, person, browser)
  if (back.status !== 302) throw new Error(`${back.status}: ${sentence(await back.text())}`)
  const { user_info: user } = (await (await browser.open(`${gateway.url}/user/info`)).json()) as { user_info: Json }
  return user.user_id
}

/** The sentence of the page that refuses the person. */
async function refusal(gateway: Gateway, provider: TestProvider, person: Json, browser = new Browser()) {
  const back = await signIn(gateway, provider, person, browser)
  expect([back.status, browser.cookies.has('modelgate_session')]).toEqual([403, false])
  return sentence(await back.text())
}

const made = async (gateway: Gateway, path: string, body: Json): Promise<Json> => {
  const answer = await gateway.admin(path, body)
  if (answer.status !== 200) throw new Error(await answer.text())
  return (await answer.json()) as Json
}
const newUser = (gateway: Gateway, id: string, more: Json = {}) =>
  made(gateway, '/user/new', { user_id: id, auto_create_key: false, ...more })
const teamsOf = async (gateway: Gateway, id: unknown) =>
  ((await (await gateway.admin(`/user/info?user_id=${String(id)}`)).json()) as { user_info: { teams: string[] } })
    .user_info.teams

test('each of several providers has an address of its own to come back to', async () => {
  const gateway = await start()
  for (const [name, provider] of [
    ['honest', honest],
    ['hostile', hostile],
  ] as const) {
    const away = await new Browser().open(`${gateway.url}/sso/key/generate?provider=${name}`)
    const { origin, searchParams } = new URL(away.headers.get('location')!)
    expect([origin, searchParams.get('redirect_uri')]).toEqual([provider.issuer, `${gateway.url}/sso/callback/${name}`])
  }
})

test('a code of a provider that does not name itself never goes to the one that sent the browser there', async () => {
  // Neither names itself on the way back (RFC 9207), as most do not.
  const silent = { authorization_response_iss_parameter_supported: undefined }
  for (const provider of [honest, hostile]) provider.lies = { discovery: silent, answer: { iss: undefined } }
  const gateway = await start()
  const browser = new Browser()
  const away = await browser.open(`${gateway.url}/sso/key/generate?provider=hostile`)
  const location = new URL(away.headers.get('location')!)
  const [own, other] = ['hostile', 'honest'].map(name => `${gateway.url}/sso/callback/${name}`) as [string, string]
  expect(location.searchParams.get('redirect_uri')).toBe(own)
  // The hostile one sends the browser on, to the address that is registered at the honest one.
  location.searchParams.set('redirect_uri', other)
  const back = honest.answer(location.href)
  expect(back).toStartWith(other)
  for (const path of [back, back.replace('/honest?', '?')]) {
    const answer = await browser.open(path, inPage)
    expect([answer.status, sentence(await answer.text())]).toEqual([403, expect.stringContaining("provider 'hostile'")])
  }
  expect([honest.tokensAsked(), hostile.tokensAsked()]).toEqual([0, 0])
})

test('a hostile provider that gives its person the id of another one reaches no user of the other provider', async () => {
  const general = '  sso_user_ids_of: honest\n'
  const gateway = await start({ general })
  await newUser(gateway, 'boss', { user_role: 'proxy_admin', sso_user_id: 'person-of-honest' })
  const scim = await scimClient(gateway)
  const sent = await scim.done('POST', '/Users', { userName: 'ada', externalId: 'ada-of-honest' })
  for (const sub of ['person-of-honest', 'ada-of-honest'])
    expect(['boss', sent.id]).not.toContain(await userOf(gateway, hostile, { sub }))
  expect(await userOf(gateway, honest, { sub: 'person-of-honest' })).toBe('boss')
  expect(await userOf(gateway, honest, { sub: 'ada-of-honest' })).toBe(sent.id)
  // Both have signed in, under one id at two providers.
  expect(await userOf(gateway, hostile, { sub: 'person-of-honest' })).not.toBe('boss')
})

test('the id of a person of no provider in particular links nobody', async () => {
  const gateway = await start()
  await newUser(gateway, 'boss', { user_role: 'proxy_admin', sso_user_id: 'person-1' })
  for (const provider of [honest, hostile])
    expect(await userOf(gateway, provider, { sub: 'person-1' })).not.toBe('boss')
})

test('a user who was removed at one provider is none of the persons who have the id at the other', async () => {
  const gateway = await start({ general: '  sso_user_ids_of: honest\n' })
  await newUser(gateway, 'ada', { sso_user_id: 'person-1' })
  await made(gateway, '/user/delete', { user_ids: ['ada'] })
  expect(await refusal(gateway, honest, { sub: 'person-1' })).toContain('was removed')
  expect(await userOf(gateway, hostile, { sub: 'person-1' })).toBeString()
  expect(await refusal(gateway, honest, { sub: 'person-1' })).toContain('was removed')
})

test('a claim that a person chooses is not the claim that names persons, though one issuer signs both', async () => {
  const gateway = await startGateway({
    config: `${standardConfig}
general_settings:
  enable_jwt_auth: true
  jwt_auth: { issuer: "${honest.issuer}", audience: gateway, user_id_jwt_field: preferred_username, user_id_upsert: true }
  sso:
    - { name: honest, issuer: "${honest.issuer}", client_id: ${clientId}, client_secret: ${clientSecret} }
`,
  })
  gateways.push(gateway)
  const victim = await userOf(gateway, honest, { sub: 'the-subject' })
  const nowS = Math.floor(Date.now() / 1000)
  const claims = { iss: honest.issuer, aud: 'gateway', iat: nowS, exp: nowS + 300, sub: 'thief' }
  const token = await honest.sign({ ...claims, preferred_username: 'the-subject' })
  const answer = await fetch(`${gateway.url}/user/info`, { headers: { authorization: `Bearer ${token}` } })
  const { user_info: user } = (await answer.json()) as { user_info: Json }
  expect([answer.status, user.user_id === victim]).toEqual([200, false])
})

test('a verified address proves nothing about another claim', async () => {
  const gateway = await start({ more: 'email_claim: preferred_username' })
  await newUser(gateway, 'boss', { user_role: 'proxy_admin', user_email: 'boss@example.com' })
  const person = { sub: 'p', preferred_username: 'boss@example.com', email: 'mine@example.com', email_verified: true }
  expect(await refusal(gateway, honest, person)).toContain("does not say that 'boss@example.com' is verified")
})

test('an address of the ID token is not verified by what userinfo says of another one', async () => {
  const gateway = await start({ more: 'team_claim: groups' })
  await newUser(gateway, 'boss', { user_role: 'proxy_admin', user_email: 'boss@example.com' })
  // The userinfo endpoint is asked because the ID token lacks the groups.
  honest.lies = { userinfo: { email: 'mine@example.com', email_verified: true, groups: [] } }
  const person = { sub: 'p', email: 'boss@example.com' }
  expect(await refusal(gateway, honest, person)).toContain("does not say that 'boss@example.com' is verified")
  honest.lies = { userinfo: { email: 'boss@example.com', email_verified: true, groups: [] } }
  expect(await userOf(gateway, honest, person)).toBe('boss')
})

test('groups that are cut or cannot be read end no membership and delete no key', async () => {
  const gateway = await start({ more: 'team_claim: groups' })
  await made(gateway, '/team/new', { team_id: 'blue' })
  const person = { sub: 'p', email: 'p@example.com' }
  const id = await userOf(gateway, honest, { ...person, groups: ['blue'] })
  const { key } = await made(gateway, '/key/generate', { user_id: id, team_id: 'blue' })
  const list = (length: number) => Array.from({ length }, (_, at) => `group-${at}`)
  for (const [groups, told] of [
    [[...list(10_000), 'blue'], '10001 values'],
    [[{ id: 'blue' }], 'an object'],
    [{ blue: {} }, 'an object'],
    [['blue', null], 'no text'],
    [[['blue']], 'an object'],
  ] as const)
    expect(await refusal(gateway, honest, { ...person, groups })).toContain(told)
  honest.lies = { claims: { _claim_names: { groups: 'src1' } } }
  expect(await refusal(gateway, honest, { ...person, groups: undefined })).toContain('too many groups')
  honest.lies = {}
  expect(await teamsOf(gateway, id)).toEqual(['blue'])
  // The last of very many is there, as a number is.
  await made(gateway, '/team/new', { team_id: '4711' })
  expect(await userOf(gateway, honest, { ...person, groups: [...list(1500), 'blue', 4711] })).toBe(id)
  expect((await teamsOf(gateway, id)).toSorted()).toEqual(['4711', 'blue'])
  const own = await fetch(`${gateway.url}/key/info`, { headers: { authorization: `Bearer ${key as string}` } })
  expect(own.status).toBe(200)
})

test('a provider that hangs keeps nobody from signing in with another one', async () => {
  const gateway = await start()
  hostile.lies = { slow: { path: '/token', ms: Infinity } }
  const waiting = Array.from({ length: 40 }, () => signIn(gateway, hostile, { sub: 'p' }))
  while (hostile.tokensAsked() + (await pendingOf(waiting)) < 33) await Bun.sleep(20)
  expect((await signIn(gateway, honest, { sub: 'q' })).status).toBe(302)
  hostile.stop()
  const statuses = (await Promise.all(waiting)).map(one => one.status)
  expect(new Set(statuses)).toEqual(new Set([403, 503]))
})

/** How many have not been answered. */
async function pendingOf(all: readonly Promise<unknown>[]): Promise<number> {
  const states = await Promise.all(all.map(one => Promise.race([one.then(() => 0), Bun.sleep(0).then(() => 1)])))
  return states.reduce((sum, one) => sum + one, 0)
}

test('a provider that fails uses up the attempts of nobody who signs in with another one', async () => {
  const gateway = await start()
  for (let at = 0; at < 70; at++)
    await (await fetch(`${gateway.url}/sso/callback/hostile?code=x&state=y`, { redirect: 'manual' })).arrayBuffer()
  const full = await fetch(`${gateway.url}/sso/callback/hostile?code=x&state=y`, { redirect: 'manual' })
  expect(full.status).toBe(429)
  expect((await signIn(gateway, honest, { sub: 'q' })).status).toBe(302)
})

for (const keepsId of [false, true])
  test(`twelve persons who sign in while a new key is fetched all get in${keepsId ? ', also under its old id' : ''}`, async () => {
    const gateway = await start()
    expect((await signIn(gateway, honest, { sub: 'first' })).status).toBe(302)
    await honest.rotate({ keepsId })
    const before = honest.keysAsked()
    honest.lies = { slow: { path: '/jwks', ms: 300 } }
    honest.person = { sub: 'p' }
    const statuses = await Promise.all(
      Array.from({ length: 12 }, async (_, at) => {
        await Bun.sleep(at * 20)
        return (await signInWith(new Browser(), gateway.url, honest, { query: '?provider=honest' })).status
      }),
    )
    expect(statuses).toEqual(statuses.map(() => 302))
    expect(honest.keysAsked()).toBe(before + 1)
  })

test('an answer at the address of one provider alone does not count where there are several', async () => {
  const gateway = await start()
  const browser = new Browser()
  const away = await browser.open(`${gateway.url}/sso/key/generate?provider=honest`)
  const back = returnedTo(gateway.url, honest.answer(away.headers.get('location')!)).replace('/honest?', '?')
  const answer = await browser.open(back, inPage)
  expect([answer.status, sentence(await answer.text())]).toEqual([403, expect.stringContaining('/sso/callback/honest')])
})
