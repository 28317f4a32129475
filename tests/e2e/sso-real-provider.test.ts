/** Sign-in with `oidc-provider`, a certified identity provider, as a browser does it: its pages, forms and cookies. */
import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Provider } from 'oidc-provider'
import { startServer } from '../../src/app/index.ts'
import { Secret } from '../../src/lib/secret.ts'
import { Browser, clientId, clientSecret, returnedTo } from '../support/sign-in/identity-provider.ts'
import { backends, masterKey } from './harness.ts'
import { until } from '../support/until.ts'

type Json = Record<string, unknown>

/** The gateway as browsers see it: behind a proxy that adds a prefix. No such host is asked. */
const baseUrl = 'http://gateway.test/models'
let issuer = ''
let close: () => void
beforeAll(async () => {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        redirect_uris: [`${baseUrl}/sso/callback`],
        post_logout_redirect_uris: [`${baseUrl}/`],
      },
    ],
    cookies: { keys: ['a key of the provider'] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'], groups: ['groups'] },
    scopes: ['openid', 'email', 'profile', 'groups'],
    findAccount: (_context, id) => ({
      accountId: id,
      claims: () => ({ sub: id, email: `${id}@example.com`, email_verified: true, name: id, groups: ['staff'] }),
    }),
    features: { devInteractions: { enabled: true } },
  })
  server.on('request', provider.callback())
  close = () => {
    server.close()
    server.closeAllConnections()
  }
})
afterAll(() => close())

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function start(place: { databaseUrl: string; redisUrl?: string }) {
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-sso-'))
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }))
  const configFile = join(folder, 'config.yaml')
  writeFileSync(configFile, 'model_list: []\n')
  const server = await startServer({
    configFile,
    host: '127.0.0.1',
    port: 0,
    dataDirectory: join(folder, 'data'),
    masterKey: new Secret(masterKey),
    environment: {
      MODELGATE_LOG_LEVEL: 'off',
      MODELGATE_DRAIN_DELAY_MS: '0',
      PROXY_BASE_URL: baseUrl,
      GENERIC_CLIENT_ID: clientId,
      GENERIC_CLIENT_SECRET: clientSecret,
      GENERIC_ISSUER: issuer,
      GENERIC_SCOPE: 'openid email profile groups',
    },
    ...place,
  })
  cleanups.push(() => server.stop())
  return server.url.replace(/\/$/, '')
}

/** A browser at the provider, from its page to the redirect that leads back to the gateway. */
async function throughProvider(location: string, account: string): Promise<string> {
  const browser = new Browser()
  let url = location
  for (let step = 0; step < 20; step++) {
    if (url.startsWith(baseUrl)) return url
    let answer = await browser.open(url)
    if (answer.status === 200) {
      const page = await answer.text()
      const action = /<form[^>]*action="([^"]+)"/.exec(page)![1]!
      const prompt = /name="prompt" value="([^"]+)"/.exec(page)![1]!
      answer = await browser.open(new URL(action, url).href, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({ prompt, ...(prompt === 'login' && { login: account, password: 'x' }) }).toString(),
      })
    }
    const next = answer.headers.get('location')
    if (next === null) throw new Error(`${answer.status} of ${url}: ${await answer.text()}`)
    url = new URL(next, url).href
  }
  throw new Error('the provider does not send the browser back')
}

test('a person signs in by the pages of the provider, and out again there', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-sso-'))
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }))
  const gateway = await start({ databaseUrl: `sqlite:${join(folder, 'modelgate.sqlite')}` })
  const browser = new Browser()
  const away = await browser.open(`${gateway}/sso/key/generate?return_to=/docs`)
  const location = new URL(away.headers.get('location')!)
  expect(location.searchParams.get('redirect_uri')).toBe(`${baseUrl}/sso/callback`)
  expect(location.searchParams.get('code_challenge_method')).toBe('S256')
  const back = returnedTo(gateway, await throughProvider(location.href, 'ada'))
  const answer = await browser.open(back)
  expect([answer.status, answer.headers.get('location')]).toEqual([302, `${baseUrl}/docs`])
  const { user_info: user } = (await (await browser.open(`${gateway}/user/info`)).json()) as { user_info: Json }
  expect(user).toMatchObject({ user_email: 'ada@example.com', user_role: 'internal_user', sso_user_id: 'ada' })
  // The provider gives its code once.
  expect((await browser.open(back)).status).toBe(403)
  const kept = browser.cookies.get('modelgate_id_token')!
  // Not the token as it came: its parts are base64url of JSON, with dots between them.
  expect(kept).not.toMatch(/eyJ[\w-]*\./)
  const out = await browser.open(`${gateway}/sso/logout`)
  const hint = new URL(out.headers.get('location')!).searchParams.get('id_token_hint')!
  expect(JSON.parse(Buffer.from(hint.split('.')[1]!, 'base64url').toString())).toMatchObject({
    iss: issuer,
    sub: 'ada',
  })
  expect(browser.cookies.has('modelgate_id_token')).toBe(false)
  // The provider takes it: it asks the person to sign out, and complains of nothing.
  expect((await fetch(out.headers.get('location')!)).status).toBe(200)
  expect(out.headers.get('location')).toStartWith(`${issuer}/session/end?`)
  expect(new URL(out.headers.get('location')!).searchParams.get('post_logout_redirect_uri')).toBe(`${baseUrl}/`)
  expect((await browser.open(`${gateway}/user/info`)).status).toBe(401)
})

const real = backends().find(one => one.name !== 'SQLite')

test.skipIf(!real)('begun at one replica, finished at another, used at the third, and ended at the first', async () => {
  const opened = await real!.open()
  cleanups.push(() => opened.close())
  const place = { databaseUrl: opened.databaseUrl!, redisUrl: opened.redisUrl! }
  const [first, second, third] = [await start(place), await start(place), await start(place)]
  const browser = new Browser()
  const away = await browser.open(`${first}/sso/key/generate`)
  const back = await throughProvider(away.headers.get('location')!, 'bob')
  expect((await browser.open(returnedTo(second, back))).status).toBe(302)
  const asked = await browser.open(`${third}/user/info`)
  expect(asked.status).toBe(200)
  const { user_id: id } = (await asked.json()) as Json
  const blocked = await fetch(`${first}/user/update`, {
    method: 'POST',
    headers: { authorization: `Bearer ${masterKey}` },
    body: JSON.stringify({ user_id: id, blocked: true }),
  })
  expect(blocked.status).toBe(200)
  await until(async () => {
    return (await browser.open(`${third}/user/info`)).status === 401
  }, 'the session ends at the third replica')
  // It cannot come back, at any of them.
  const again = await browser.open(`${second}/sso/key/generate`)
  const refused = returnedTo(third, await throughProvider(again.headers.get('location')!, 'bob'))
  expect((await browser.open(refused)).status).toBe(403)
})
