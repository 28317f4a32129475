/** Sign-in with an identity provider: who gets in as whom, and what the provider's claims change. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { Browser, clientId, clientSecret, signInWith, startProvider } from '../identity-provider.ts'
import type { TestProvider } from '../identity-provider.ts'
import { backends, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

setDefaultTimeout(60_000)

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
