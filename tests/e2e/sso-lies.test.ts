/** Sign-in with an identity provider that lies, and with ways back that were tampered with: each is refused. */
import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { createHmac } from 'node:crypto'
import { SignJWT } from 'jose'
import {
  Browser,
  clientId,
  clientSecret,
  returnedTo,
  signInWith,
  startProvider,
  tokenOf,
  unpublishedKey,
} from '../support/sign-in/identity-provider.ts'
import type { Lies, TestProvider } from '../support/sign-in/identity-provider.ts'
import { startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

type Json = Record<string, unknown>

let provider: TestProvider
let other: TestProvider
let gateway: Gateway
beforeAll(async () => {
  provider = await startProvider()
  other = await startProvider()
  const entry = (name: string, issuer: string) =>
    `{ name: ${name}, issuer: "${issuer}", client_id: ${clientId}, client_secret: ${clientSecret} }`
  const list = [entry('own', provider.issuer), entry('other', other.issuer)].map(one => `    - ${one}\n`).join('')
  gateway = await startGateway({ config: `model_list: []\ngeneral_settings:\n  sso:\n${list}` })
})
afterAll(async () => {
  await gateway.stop()
  provider.stop()
  other.stop()
})
afterEach(() => {
  provider.lies = {}
  provider.person = { sub: 'person-1', email: 'ada@example.com', email_verified: true, name: 'Ada' }
})

const inPage = { headers: { accept: 'text/html' } }
const nowSeconds = () => Math.floor(Date.now() / 1000)

/** The sentence on the page; no session was begun, and the audit log tells of it where the browser had begun. */
async function refused(answer: Response, browser: Browser): Promise<string> {
  const text = await answer.text()
  expect([answer.status, answer.headers.get('content-type')]).toEqual([403, 'text/html; charset=utf-8'])
  expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'")
  expect(browser.cookies.has('modelgate_session')).toBe(false)
  return /<p role="alert">([^<]*)<\/p>/.exec(text)![1]!.replaceAll('&#39;', "'")
}

/** The last refusal of the audit log has this sentence. */
async function expectAudited(sentence: string): Promise<void> {
  const log = (await (await gateway.admin('/audit?action=sign-in-refused&page_size=1')).json()) as {
    audit_logs: Json[]
  }
  const [row] = log.audit_logs
  expect(JSON.stringify(row)).toContain(sentence.slice(1, 30))
}

async function refusalOf(lies: Lies): Promise<string> {
  provider.lies = lies
  const browser = new Browser()
  const sentence = await refused(await signInWith(browser, gateway.url, provider), browser)
  await expectAudited(sentence)
  return sentence
}

/** The cookie of the only sign-in that a browser has under way. */
function pendingOf({ cookies }: Browser): [name: string, value: string] {
  const found = [...cookies].filter(([name]) => name.startsWith('modelgate_sign_in_'))
  expect(found).toHaveLength(1)
  return found[0]!
}

/** A token of the right claims, signed with a key that is not published. */
async function signedByAnother(claims: Json): Promise<string> {
  const { privateKey } = await unpublishedKey()
  return new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'unknown' }).sign(privateKey)
}

const cases: Readonly<Record<string, () => Lies | Promise<Lies>>> = {
  'a nonce of another sign-in': () => ({ claims: { nonce: 'another' } }),
  'no nonce': () => ({ claims: { nonce: undefined } }),
  'another audience': () => ({ claims: { aud: 'another-application' } }),
  'several audiences, issued to another party': () => ({ claims: { aud: [clientId, 'x'], azp: 'x' } }),
  'another issuer in the token': () => ({ claims: { iss: other.issuer } }),
  'another issuer on the way back': () => ({ answer: { iss: other.issuer } }),
  'no issuer on the way back, though it is announced': () => ({ answer: { iss: undefined } }),
  'one audience, issued to another party': () => ({ claims: { azp: 'another-application' } }),
  'an expired token': () => ({ claims: { exp: nowSeconds() - 3600, iat: nowSeconds() - 7200 } }),
  'a token that is not valid yet': () => ({ claims: { nbf: nowSeconds() + 3600 } }),
  "a provider's clock that is an hour ahead": () => ({
    claims: { iat: nowSeconds() + 3600, exp: nowSeconds() + 7200 },
  }),
  'a token without an end': () => ({ claims: { exp: undefined } }),
  'no subject': () => ({ claims: { sub: undefined } }),
  'no signature (alg none)': () => ({ idToken: claims => tokenOf({ alg: 'none', typ: 'JWT' }, claims) }),
  'HS256 with the public key as the secret': async () => {
    const pem = await provider.publicPem()
    const sign = (signed: string) => createHmac('sha256', pem).update(signed).digest('base64url')
    return { idToken: claims => tokenOf({ alg: 'HS256', typ: 'JWT' }, claims, sign) }
  },
  'HS256 with the secret of the client': () => {
    const sign = (signed: string) => createHmac('sha256', clientSecret).update(signed).digest('base64url')
    return { idToken: claims => tokenOf({ alg: 'HS256', typ: 'JWT' }, claims, sign) }
  },
  'a wrong signature': () => ({
    idToken: async claims => {
      const [header, , signature] = (await provider.sign(claims)).split('.')
      const forged = Buffer.from(JSON.stringify({ ...claims, sub: 'person-2' })).toString('base64url')
      return [header, forged, signature].join('.')
    },
  }),
  'a key that is not published': () => ({ idToken: signedByAnother }),
  'no JWT at all': () => ({ idToken: () => 'not-a-token' }),
  'a userinfo of another person': () => ({ claims: { email: undefined }, userinfo: { sub: 'person-2' } }),
  'the person said no': () => ({ answer: { code: undefined, error: 'access_denied', error_description: 'no' } }),
}

const sentences: Readonly<Record<string, RegExp>> = {
  'a nonce of another sign-in': /another sign-in \(`nonce`\)/,
  'no nonce': /nonce.*missing/,
  'another audience': /another application \(`aud`\)/,
  'one audience, issued to another party': /another application \(`azp`\)/,
  'another issuer in the token': /another issuer \(`iss`\)/,
  'an expired token': /expired.*clocks/,
  'a token that is not valid yet': /not valid yet.*clocks/,
  "a provider's clock that is an hour ahead": /clock is 3[56]\d\d seconds ahead/,
  'no signature (alg none)': /algorithm that is not accepted/,
  'HS256 with the public key as the secret': /algorithm that is not accepted/,
  'HS256 with the secret of the client': /algorithm that is not accepted/,
  'a wrong signature': /signature of the token is wrong/,
  'a key that is not published': /a key that the provider does not publish/,
  'the person said no': /'access_denied': no/,
}

for (const [name, lies] of Object.entries(cases))
  test(`refused with a sentence and an audit row: ${name}`, async () => {
    const sentence = await refusalOf(await lies())
    expect(sentence).toMatch(sentences[name] ?? /^[A-Z].{20,}\.$/)
  })

test('the same provider without a lie signs the person in', async () => {
  const browser = new Browser()
  const back = await signInWith(browser, gateway.url, provider)
  expect([back.status, back.headers.get('location')]).toEqual([302, `${gateway.url}/ui/`])
  expect(browser.cookies.has('modelgate_session')).toBe(true)
})

test('an answer that comes back twice counts once, though a careless provider takes its code again', async () => {
  provider.lies = { careless: true }
  const browser = new Browser()
  const away = await browser.open(`${gateway.url}/sso/key/generate`)
  const [name, cookie] = pendingOf(browser)
  const back = returnedTo(gateway.url, provider.answer(away.headers.get('location')!))
  expect((await browser.open(back)).status).toBe(302)
  const thief = new Browser()
  thief.cookies.set(name, cookie)
  const asked = provider.tokensAsked()
  expect(await refused(await thief.open(back, inPage), thief)).toContain('has come back before')
  expect(provider.tokensAsked()).toBe(asked)
})

test('an answer that another browser began, or none, or this one for another sign-in, is refused', async () => {
  const [attacker, victim] = [new Browser(), new Browser()]
  const away = await attacker.open(`${gateway.url}/sso/key/generate`)
  const back = returnedTo(gateway.url, provider.answer(away.headers.get('location')!))
  expect(await refused(await victim.open(back, inPage), victim)).toContain('has not begun this sign-in')
  await victim.open(`${gateway.url}/sso/key/generate`)
  expect(await refused(await victim.open(back, inPage), victim)).toContain('has not begun this sign-in')
  // Under the name of the victim's own cookie it is another sign-in all the same.
  const mixed = new URL(back)
  const [own] = pendingOf(victim)
  mixed.searchParams.set('state', `${own.slice(-8)}${mixed.searchParams.get('state')!.slice(8)}`)
  const foreign = await refused(await victim.open(mixed.href, inPage), victim)
  expect(foreign).toContain('belongs to another sign-in')
  await expectAudited(foreign)
  const changed = new Browser()
  const [name, cookie] = pendingOf(attacker)
  const [text = '', signature = ''] = cookie.split('.')
  const pending = { ...(JSON.parse(Buffer.from(text, 'base64url').toString()) as Json), returnTo: '//evil.example' }
  changed.cookies.set(name, `${Buffer.from(JSON.stringify(pending)).toString('base64url')}.${signature}`)
  expect(await refused(await changed.open(back, inPage), changed)).toContain('has not begun this sign-in')
})

test('a code of one provider is never sent to the other', async () => {
  const browser = new Browser()
  const away = await browser.open(`${gateway.url}/sso/key/generate?provider=other`)
  const location = away.headers.get('location')!
  expect(location).toStartWith(`${other.issuer}/authorize`)
  // The other one sends the browser on to the first, whose code comes back.
  const before = [provider.tokensAsked(), other.tokensAsked()]
  const back = returnedTo(gateway.url, provider.answer(location))
  expect(await refused(await browser.open(back, inPage), browser)).toMatch(/issuer|protocol/)
  expect([provider.tokensAsked(), other.tokensAsked()]).toEqual(before)
})

test('sign-ins of several tabs each come to their end, and leave no cookie', async () => {
  const browser = new Browser()
  const begin = async () => (await browser.open(`${gateway.url}/sso/key/generate`)).headers.get('location')!
  const tabs = [await begin(), await begin(), await begin()]
  for (const location of tabs) {
    const back = await browser.open(returnedTo(gateway.url, provider.answer(location)))
    expect([back.status, back.headers.get('location')]).toEqual([302, `${gateway.url}/ui/`])
  }
  expect([...browser.cookies.keys()].filter(name => name.startsWith('modelgate_sign_in'))).toEqual([])
  for (let at = 0; at < 20; at++) await begin()
  expect([...browser.cookies.keys()].filter(name => name.startsWith('modelgate_sign_in'))).toHaveLength(4)
  expect((await signInWith(browser, gateway.url, provider)).status).toBe(302)
})

test('a provider that cannot be reached, or answers nonsense, is refused with what happened', async () => {
  const gone = await startProvider()
  const entry = `{ name: gone, issuer: "${gone.issuer}", client_id: ${clientId}, client_secret: ${clientSecret} }`
  const alone = await startGateway({ config: `model_list: []\ngeneral_settings:\n  sso:\n    - ${entry}\n` })
  try {
    const away = await new Browser().open(`${alone.url}/sso/key/generate`)
    expect(away.status).toBe(302)
    const browser = new Browser()
    const begun = await browser.open(`${alone.url}/sso/key/generate`)
    const back = returnedTo(alone.url, gone.answer(begun.headers.get('location')!))
    gone.stop()
    const sentence = await refused(await browser.open(back, inPage), browser)
    expect(sentence).not.toContain('omething went wrong')
    expect(sentence).toMatch(/connect|refused|reach/i)
  } finally {
    await alone.stop()
  }
  const never = await startGateway({ config: `model_list: []\ngeneral_settings:\n  sso:\n    - ${entry}\n` })
  try {
    const browser = new Browser()
    const sentence = await refused(await browser.open(`${never.url}/sso/key/generate`, inPage), browser)
    expect(sentence).toMatch(/'gone' could not be asked: .*(connect|refused|reach)/i)
  } finally {
    await never.stop()
  }
})

test('after the sign-in the browser goes to no other host', async () => {
  const elsewhere = ['https://evil.example/', '//evil.example/', '/\\evil.example', '/\t/evil.example', 'evil', '/ x']
  for (const returnTo of elsewhere) {
    const browser = new Browser()
    const query = `?return_to=${encodeURIComponent(returnTo)}`
    const back = await signInWith(browser, gateway.url, provider, { query })
    expect([returnTo, back.status, back.headers.get('location')]).toEqual([returnTo, 302, `${gateway.url}/ui/`])
  }
  const back = await signInWith(new Browser(), gateway.url, provider, { query: '?return_to=/docs%3Fx=1' })
  expect(back.headers.get('location')).toBe(`${gateway.url}/docs?x=1`)
})

test('a provider that rotates its keys is believed at once, by the new key alone', async () => {
  const query = '?provider=other'
  expect((await signInWith(new Browser(), gateway.url, other, { query })).status).toBe(302)
  await other.rotate()
  expect((await signInWith(new Browser(), gateway.url, other, { query })).status).toBe(302)
})

test('an unknown provider and the page of a stranger are refused, programs get JSON', async () => {
  const browser = new Browser()
  const unknown = await browser.open(`${gateway.url}/sso/key/generate?provider=none`, inPage)
  expect(await refused(unknown, browser)).toContain("there is 'own', 'other'")
  const json = await fetch(`${gateway.url}/sso/callback?code=x&state=y`)
  expect([json.status, json.headers.get('content-type')]).toEqual([403, 'application/json'])
  const headers = { ...inPage.headers, 'sec-fetch-site': 'cross-site' }
  expect(await refused(await browser.open(`${gateway.url}/sso/logout`, { headers }), browser)).toContain('another site')
})

test('failed returns of one network are bounded; the page says when to try again', async () => {
  const statuses: number[] = []
  let last: Response | undefined
  for (let at = 0; at < 200 && last?.status !== 429; at++) {
    last = await fetch(`${gateway.url}/sso/callback?code=none&state=none`, { ...inPage, redirect: 'manual' })
    statuses.push(last.status)
    if (last.status !== 429) await last.arrayBuffer()
  }
  expect(new Set(statuses)).toEqual(new Set([403, 429]))
  expect(Number(last!.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
  expect(await last!.text()).toContain('Too many sign-ins from this address have failed')
})
