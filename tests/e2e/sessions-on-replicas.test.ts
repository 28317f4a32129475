/** One session on three replicas: begun at one, used at another, ended at the third; and what ends with its secret. */
import { afterEach, expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { startServer } from '../../src/app/index.ts'
import { Secret } from '../../src/lib/secret.ts'
import { browserWith } from '../support/sign-in/browser-session.ts'
import { askDevice, redeem, refresh } from '../support/sign-in/device-client.ts'
import type { Tokens } from '../support/sign-in/device-client.ts'
import {
  Browser as PersonsBrowser,
  clientId,
  clientSecret,
  returnedTo,
  startProvider,
} from '../support/sign-in/identity-provider.ts'
import type { TestProvider } from '../support/sign-in/identity-provider.ts'
import { Browser } from './browser.ts'
import { backends, masterKey } from './harness.ts'
import { until } from '../support/until.ts'
import { gatewayProgram } from '../support/gateway-process.ts'

type Json = Record<string, any>

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

interface Place {
  readonly databaseUrl?: string
  readonly redisUrl?: string | undefined
  readonly masterKey?: string
  readonly dataDirectory?: string
  readonly environment?: Readonly<Record<string, string>>
}

async function start(place: Place = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-replica-'))
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }))
  const dataDirectory = place.dataDirectory ?? join(folder, 'data')
  const configFile = join(folder, 'config.yaml')
  writeFileSync(configFile, 'model_list: []\n')
  const server = await startServer({
    configFile,
    host: '127.0.0.1',
    port: 0,
    dataDirectory,
    masterKey: new Secret(place.masterKey ?? masterKey),
    databaseUrl: place.databaseUrl ?? `sqlite:${join(dataDirectory, 'modelgate.sqlite')}`,
    redisUrl: place.redisUrl,
    environment: { MODELGATE_LOG_LEVEL: 'off', MODELGATE_DRAIN_DELAY_MS: '0', ...place.environment },
  })
  let stopping: Promise<void> | undefined
  const stop = () => (stopping ??= server.stop())
  cleanups.push(stop)
  const url = server.url.replace(/\/$/, '')
  const admin = async (path: string, body: Json): Promise<Json> => {
    const headers = { authorization: `Bearer ${place.masterKey ?? masterKey}` }
    const response = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    return { status: response.status, ...((await response.json()) as Json) }
  }
  return { url, dataDirectory, admin, stop }
}

/** The same browser at another replica. */
function sameBrowser(browser: Browser, url: string): Browser {
  const other = new Browser(url)
  for (const [name, value] of browser.cookies) other.cookies.set(name, value)
  return other
}

const statusOf = async (browser: Browser) => (await browser.json('GET', '/sign-in/session')).status as number

const shared = backends().find(one => one.name !== 'SQLite')

for (const withRedis of [true, false])
  test.skipIf(!shared)(
    `begun at one replica, used at another, ended at the third ${withRedis ? '' : 'while Redis is away'}`,
    async () => {
      const store = await shared!.open()
      cleanups.push(() => store.close())
      const place = { databaseUrl: store.databaseUrl!, redisUrl: withRedis ? store.redisUrl : 'redis://127.0.0.1:1' }
      const [one, two, three] = [await start(place), await start(place), await start(place)]
      await one.admin('/user/new', { user_id: 'ann', auto_create_key: false })
      await one.admin('/sign-in/password', { user_id: 'ann', new_password: 'correct horse battery' })
      const begin = async () => {
        const browser = new Browser(one.url)
        expect((await browser.signIn('ann', 'correct horse battery')).status).toBe(200)
        return browser
      }
      const first = await begin()
      const [atTwo, atThree] = [sameBrowser(first, two.url), sameBrowser(first, three.url)]
      expect([await statusOf(atTwo), await statusOf(atThree)]).toEqual([200, 200])
      expect((await atThree.json('POST', '/sign-in/sessions/revoke-all')).revoked).toBe(1)
      expect(await statusOf(atThree)).toBe(401)
      for (const browser of [first, atTwo])
        await until(async () => (await statusOf(browser)) === 401, 'it ends elsewhere')
      // The role and the block of the user reach the session, too.
      const second = sameBrowser(await begin(), two.url)
      expect((await second.json('GET', '/sign-in/session')).role).toBe('internal_user')
      await three.admin('/user/update', { user_id: 'ann', user_role: 'proxy_admin_viewer' })
      await until(async () => (await second.json('GET', '/sign-in/session')).role === 'proxy_admin_viewer', 'the role')
      await three.admin('/user/update', { user_id: 'ann', blocked: true })
      await until(async () => (await statusOf(second)) === 401, 'the block')
      expect((await new Browser(three.url).signIn('ann', 'correct horse battery')).status).toBe(401)
    },
    60_000,
  )

test('with another master key the sessions that were begun with the one before have ended', async () => {
  const before = await start()
  const browser = new Browser(before.url)
  await browser.signIn()
  expect(await statusOf(browser)).toBe(200)
  await before.stop()
  const again = await start({ dataDirectory: before.dataDirectory })
  expect(await statusOf(sameBrowser(browser, again.url))).toBe(200)
  await again.stop()
  const other = 'sk-another-7Gk2nP9wQ4tR8vX1zB5mC3dF6h'
  const after = await start({ dataDirectory: before.dataDirectory, masterKey: other })
  expect(await statusOf(sameBrowser(browser, after.url))).toBe(401)
  expect((await new Browser(after.url).signIn('admin', other)).status).toBe(200)
})

test('the name and password of the environment sign the operator in, and end with a change of them', async () => {
  const environment = { UI_USERNAME: 'root', UI_PASSWORD: 'a password of the operator' }
  const before = await start({ environment })
  const browser = new Browser(before.url)
  expect((await browser.signIn('root', 'wrong')).status).toBe(401)
  expect((await browser.signIn('admin', masterKey)).status).toBe(401)
  expect((await browser.signIn('root', masterKey)).status).toBe(200)
  expect((await browser.signIn('root', environment.UI_PASSWORD)).status).toBe(200)
  expect(await browser.json('GET', '/sign-in/session')).toMatchObject({ role: 'proxy_admin', method: 'password' })
  await before.stop()
  const after = await start({
    dataDirectory: before.dataDirectory,
    environment: { ...environment, UI_PASSWORD: 'another one' },
  })
  expect(await statusOf(sameBrowser(browser, after.url))).toBe(401)
})

test('a first start is claimed by no guess: without the master key that it shows, no session begins', async () => {
  const { url } = await start()
  const guesses = [
    ['', ''],
    ['admin', 'admin'],
    ['admin', 'sk-1234'],
    ['admin', 'password'],
    ['root', 'root'],
  ]
  for (const [username, password] of guesses) {
    const answer = await new Browser(url).json('POST', '/login', { username, password })
    expect([username, [401, 422].includes(answer.status)]).toEqual([username, true])
  }
  expect(
    (await fetch(`${url}/sign-in/password`, { method: 'POST', body: '{"user_id":"x","new_password":"y"}' })).status,
  ).toBe(401)
})

/** Signs a person in through the provider and a program by the device flow; what was secret on the way. */
async function otherSecrets(url: string, provider: TestProvider): Promise<string[]> {
  const person = new PersonsBrowser()
  const away = await person.open(`${url}/sso/key/generate`)
  const location = new URL(away.headers.get('location')!)
  const callback = returnedTo(url, provider.answer(location.href))
  const pending = [...person.cookies.values()]
  expect((await person.open(callback)).status).toBe(302)
  // Not known any more: refused, which is logged.
  expect((await person.open(callback)).status).not.toBe(302)
  const session = [...person.cookies].find(([name]) => name.endsWith('modelgate_session'))!
  const browser = browserWith(url, session.join('='))
  const asked = await askDevice(url)
  await browser.post('/device', { user_code: asked.user_code, decision: 'approve' })
  const first = (await (await redeem(url, asked.device_code)).json()) as Tokens
  const second = (await (await refresh(url, first.refresh_token)).json()) as Tokens
  const third = (await (await refresh(url, second.refresh_token)).json()) as Tokens
  expect((await refresh(url, first.refresh_token)).status).toBe(400)
  const seconds = Math.floor(Date.now() / 1000)
  const claims = { iss: provider.issuer, aud: 'gateway', sub: 'person-2', iat: seconds, exp: seconds + 300 }
  const [good, bad] = [await provider.sign(claims), await provider.sign({ ...claims, aud: 'other' })]
  for (const bearer of [good, bad]) {
    const answer = await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${bearer}` } })
    expect(answer.status).toBe(bearer === good ? 200 : 401)
  }
  const tokens = [first, second, third].flatMap(one => [one.access_token, one.refresh_token])
  const code = new URL(callback).searchParams.get('code')!
  return [code, ...pending, ...person.cookies.values(), asked.device_code, ...tokens, good, bad]
}

test('no password, link, code, token or cookie of a sign-in stands in the log, in a file or in an answer', async () => {
  const secrets = ['planted-password-9Qx2mT7kV4', 'planted-wrong-3Rk8bN5wY1', clientSecret]
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-planted-'))
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }))
  const provider = await startProvider()
  cleanups.push(() => provider.stop())
  const configFile = join(folder, '..', `${basename(folder)}.yaml`)
  cleanups.push(() => rmSync(configFile))
  writeFileSync(
    configFile,
    `
model_list: []
general_settings:
  sso: [{ name: own, issuer: "${provider.issuer}", client_id: ${clientId}, client_secret: ${clientSecret} }]
  enable_jwt_auth: true
  litellm_jwtauth: { audience: gateway, issuer: "${provider.issuer}", user_id_upsert: true }
`,
  )
  const words = ['serve', '--port', '0', '--data-dir', folder, '--config', configFile]
  const child = Bun.spawn([process.execPath, gatewayProgram, ...words], {
    env: {
      PATH: process.env.PATH,
      HOME: folder,
      MODELGATE_DISCOVER: '0',
      MODELGATE_LOG_LEVEL: 'debug',
      MODELGATE_DRAIN_DELAY_MS: '0',
      MODELGATE_MASTER_KEY: masterKey,
    },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  let output = ''
  const read = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder()
    for await (const piece of stream) output += decoder.decode(piece, { stream: true })
  }
  const ended = Promise.all([read(child.stdout), read(child.stderr), child.exited])
  const address = () => /serves .* on (http:\S+)/.exec(output)?.[1]?.replace(/\/$/, '')
  await until(async () => address() !== undefined, 'it serves')
  const url = address()!
  const headers = { authorization: `Bearer ${masterKey}` }
  const post = async (path: string, body: Json) =>
    (await (await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).json()) as Json
  await post('/user/new', { user_id: 'ann', auto_create_key: false })
  const { url: link } = await post('/sign-in/invitations', { user_id: 'ann' })
  const token = new URL(link as string).searchParams.get('token')!
  const browser = new Browser(url)
  await browser.fillIn({ password: secrets[0], repeated: secrets[0] }, `?token=${token}`, '/fallback/password')
  expect(await statusOf(browser)).toBe(200)
  await browser.signIn('ann', secrets[1])
  await browser.fillIn({ username: secrets[1], password: secrets[1] })
  await browser.signIn('ann', secrets[0])
  await browser.signIn('admin', masterKey)
  secrets.push(token, masterKey, ...browser.cookies.values(), ...(await otherSecrets(url, provider)))
  for (const path of ['/audit?page_size=1000', '/user/list', '/key/list', '/sign-in/sessions?all=true']) {
    const answer = await (await fetch(`${url}${path}`, { headers })).text()
    for (const secret of secrets) expect([path, answer.includes(secret)]).toEqual([path, false])
  }
  child.kill('SIGTERM')
  await ended
  expect(output).toContain('the operator signed in')
  expect(output).toContain('a sign-in was refused')
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map(name => join(folder, name))
    .filter(path => statSync(path).isFile())
  for (const secret of secrets) {
    expect(output).not.toContain(secret)
    for (const path of files) expect([path, readFileSync(path).includes(secret)]).toEqual([path, false])
  }
}, 60_000)
