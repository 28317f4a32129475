/** `modelgate login`, `token` and `logout` in processes of their own, against a gateway. */
import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runtimeSettings } from '../../bin/bun.mjs'
import { signedInBrowser } from '../support/sign-in/browser-session.ts'
import type { Browser } from '../support/sign-in/browser-session.ts'
import { signInDevice } from '../support/sign-in/device-client.ts'
import { startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'
import { gatewayProgram } from '../support/gateway-process.ts'

// Each process starts Bun, on a machine that may be busy with others.
setDefaultTimeout(120_000)

let gateway: Gateway
let url: string
let ada: Browser
let folder: string
const folders: string[] = []

beforeAll(async () => {
  gateway = await startGateway()
  url = gateway.url
  await gateway.admin('/user/new', { user_id: 'ada', user_email: 'ada@example.com' })
  ada = await browserOf('ada')
})
afterAll(async () => {
  await gateway?.stop()
  for (const one of folders) rmSync(one, { recursive: true, force: true })
})
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'modelgate-login-'))
  folders.push(folder)
})

const browserOf = (userId: string) => signedInBrowser(url, `sqlite:${gateway.dataDirectory}/modelgate.sqlite`, userId)

function start(words: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  return Bun.spawn([process.execPath, gatewayProgram, ...words], {
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    env: { ...process.env, ...runtimeSettings, MODELGATE_CONFIG_HOME: folder, MODELGATE_URL: '', ...environment },
  })
}

async function run(...words: readonly string[]) {
  const child = start(words)
  const [out, error] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  return { code: await child.exited, out: out.trim(), error: error.trim() }
}

const call = (token: string): Promise<Response> =>
  fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
    body: JSON.stringify({ model: 'chat-model', messages: [{ role: 'user', content: 'tokens: 3' }] }),
  })

const file = () => join(folder, 'sign-ins.json')

interface Kept {
  signIns: Record<string, { accessToken: string; refreshToken: string; obtainedAtMs: number; lifetimeMs: number }>
}
const kept = () => JSON.parse(readFileSync(file(), 'utf8')) as Kept

/** As `modelgate login` leaves it. */
async function signedIn(browser = ada): Promise<void> {
  const tokens = await signInDevice(url, browser)
  const signIn = {
    accessToken: tokens.access_token,
    refreshToken: tokens.refresh_token,
    obtainedAtMs: Date.now(),
    lifetimeMs: tokens.expires_in * 1000,
    tokenEndpoint: `${url}/oauth/token`,
    revocationEndpoint: `${url}/oauth/revoke`,
    user: 'ada',
  }
  writeFileSync(file(), JSON.stringify({ version: 1, newest: url, signIns: { [url]: signIn } }))
}

/** The token that is kept is near its end. */
function makeDue(): void {
  const { signIns, ...rest } = kept()
  writeFileSync(file(), JSON.stringify({ ...rest, signIns: { [url]: { ...signIns[url]!, obtainedAtMs: 0 } } }))
}

/** The first text of a stream that fits. */
async function found(stream: ReadableStream<Uint8Array>, pattern: RegExp): Promise<string> {
  let text = ''
  for await (const piece of stream) {
    text += Buffer.from(piece).toString()
    const match = pattern.exec(text)
    if (match) return match[1]!
  }
  throw new Error(`nothing fits ${String(pattern)} in: ${text}`)
}

test('login shows a code, waits until a person approves it, and keeps the token for the owner of the file alone', async () => {
  const child = start(['login', url, '--no-browser'])
  const code = await found(child.stderr, /approve the code (\S+)/)
  expect((await ada.post('/device', { user_code: code, decision: 'approve' })).status).toBe(200)
  const out = await new Response(child.stdout).text()
  expect([await child.exited, out]).toEqual([0, `signed in to ${url} as ada@example.com\n`])
  expect(statSync(file()).mode & 0o777).toBe(0o600)
  const printed = await run('token')
  expect([printed.code, printed.error]).toEqual([0, ''])
  expect((await call(printed.out)).status).toBe(200)
})

test('a denied login says so and keeps nothing', async () => {
  const child = start(['login', url, '--no-browser'])
  const code = await found(child.stderr, /approve the code (\S+)/)
  await ada.post('/device', { user_code: code, decision: 'deny' })
  expect(await child.exited).toBe(1)
  expect((await run('token')).error).toContain('there is no sign-in on this machine')
})

test('parallel agents whose token is due get one new token, and none trips the detection of reuse', async () => {
  await signedIn()
  const before = kept().signIns[url]!
  makeDue()
  const printed = await Promise.all(Array.from({ length: 5 }, () => run('token')))
  expect(printed.map(one => [one.code, one.error])).toEqual(printed.map(() => [0, '']))
  const texts = new Set(printed.map(one => one.out))
  expect([texts.size, texts.has(before.accessToken)]).toEqual([1, false])
  // The second refresh of the sign-in, not the sixth.
  expect(kept().signIns[url]!.refreshToken.split('.')[1]).toBe('1')
  expect((await call(printed[0]!.out)).status).toBe(200)
})

test('while the gateway is away the kept token is printed until its end, and then a sentence that says why', async () => {
  await signedIn()
  const { signIns, ...rest } = kept()
  const away = { ...signIns[url]!, tokenEndpoint: 'http://127.0.0.1:1/oauth/token' }
  const keep = (ageMs: number) =>
    writeFileSync(
      file(),
      JSON.stringify({ ...rest, signIns: { [url]: { ...away, obtainedAtMs: Date.now() - ageMs } } }),
    )
  keep(away.lifetimeMs - 120_000)
  expect(await run('token')).toMatchObject({ code: 0, out: away.accessToken })
  keep(away.lifetimeMs + 1000)
  expect(await run('token')).toMatchObject({ code: 1, out: '', error: expect.stringContaining('cannot be asked') })
  expect(Object.keys(kept().signIns)).toEqual([url])
})

test('a sign-in that the gateway has ended is forgotten, with the command that signs in again', async () => {
  await gateway.admin('/user/new', { user_id: 'eve' })
  await signedIn(await browserOf('eve'))
  const { out } = await run('token')
  expect((await call(out)).status).toBe(200)
  await gateway.admin('/user/update', { user_id: 'eve', blocked: true })
  expect((await call(out)).status).toBe(401)
  const renewed = await run('token', '--renew')
  expect([renewed.code, renewed.out]).toEqual([1, ''])
  expect(renewed.error).toContain(`modelgate login ${url}`)
  expect(kept().signIns).toEqual({})
})

test('logout ends the tokens at the gateway and forgets them', async () => {
  await signedIn()
  const { accessToken } = kept().signIns[url]!
  expect((await call(accessToken)).status).toBe(200)
  expect(await run('logout')).toEqual({ code: 0, out: `signed out of ${url}`, error: '' })
  expect((await call(accessToken)).status).toBe(401)
  expect((await run('logout', url)).error).toContain('you are not signed in')
})

test('tokens are sent over plain http to this machine alone, and pages of other servers are not opened', async () => {
  for (const address of ['http://gateway.example.com', 'https://user:pw@gateway.example.com', 'ftp://x']) {
    const { code, error } = await run('login', address)
    expect([code, error]).toEqual([2, expect.stringContaining('is no address of a gateway')])
  }
  const liar = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: () =>
      Response.json({ device_authorization_endpoint: 'https://evil.example/a', token_endpoint: `${url}/oauth/token` }),
  })
  const { code, error } = await run('login', `http://127.0.0.1:${liar.port}`)
  await liar.stop(true)
  expect([code, error]).toEqual([1, expect.stringContaining('https://evil.example')])
})

test('a file that is damaged is not overwritten: the message says what to do', async () => {
  writeFileSync(file(), '{"version":1')
  expect(await run('token')).toMatchObject({ code: 1, error: expect.stringContaining('delete it, and sign in again') })
  expect(readFileSync(file(), 'utf8')).toBe('{"version":1')
})
