/** A user who has forgotten the password gets a link by mail; others do not learn whether there is such a user. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { startSmtpSink } from '../support/network/smtp-sink.ts'
import { Browser } from './browser.ts'
import { standardConfig, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'
import { until } from '../support/until.ts'

type Json = Record<string, any>

const password = 'correct horse battery'
const sink = startSmtpSink()
const baseUrl = 'http://gateway.example.com/models'
let gateway: Gateway
beforeAll(async () => {
  gateway = await startGateway({
    config: `${standardConfig}\ngeneral_settings: { trusted_proxies: [127.0.0.0/8] }\n`,
    environment: {
      PROXY_BASE_URL: baseUrl,
      SMTP_HOST: '127.0.0.1',
      SMTP_PORT: String(sink.port),
      SMTP_SENDER_EMAIL: 'gateway@example.com',
    },
  })
})
afterAll(async () => {
  await gateway.stop()
  await sink.stop()
})

const path = '/fallback/forgotten-password'
const admin = async (at: string, body?: Json): Promise<Json> => (await gateway.admin(at, body)).json() as Promise<Json>
const addUser = async (id: string, fields: Json = {}) => {
  await admin('/user/new', { user_id: id, user_email: `${id}@example.com`, auto_create_key: false, ...fields })
  await admin('/sign-in/password', { user_id: id, new_password: password })
}
/** After the answer the mail is sent within this time. */
const longestDelayMs = 3100
let network = 0
/** Each question from a network of its own, so that limits do not meet. */
const ask = async (email: string, from = `10.1.0.${network++}`): Promise<Json> => {
  const headers = { 'x-forwarded-for': from }
  const response = await new Browser(gateway.url).ask('POST', path, { body: { email }, headers })
  return { status: response.status, ...((await response.json()) as Json) }
}
const mailsTo = (email: string) => sink.received.filter(one => one.to.includes(email))
const linkIn = (data: string) => /\S+\?token=\S+/.exec(data.replaceAll('=\r\n', '').replaceAll('=3D', '='))![0]
const mailTo = async (email: string, count = 1): Promise<string> => {
  await until(() => mailsTo(email).length >= count, 'the mail')
  return linkIn(mailsTo(email)[count - 1]!.data)
}

test('the page mails a link to the address of a user, by which a new password is set, once', async () => {
  await addUser('ann')
  const browser = new Browser(gateway.url)
  const login = await (await browser.ask('GET', '/fallback/login')).text()
  expect(login).toContain('href="../fallback/forgotten-password"')
  const asked = await browser.fillIn({ email: 'Ann@Example.com' }, '', path)
  expect([asked.status, await asked.text()]).toEqual([200, expect.stringContaining('a mail with a link was sent')])
  const link = new URL(await mailTo('ann@example.com'))
  expect(link.href.startsWith(`${baseUrl}/fallback/password?token=mgl_`)).toBe(true)
  const fields = { password: 'another long password', repeated: 'another long password' }
  expect((await browser.fillIn(fields, link.search, '/fallback/password')).status).toBe(303)
  expect((await new Browser(gateway.url).signIn('ann', 'another long password')).status).toBe(200)
  expect((await new Browser(gateway.url).signIn('ann', password)).status).toBe(401)
  const token = link.searchParams.get('token')
  const again = await new Browser(gateway.url).json('POST', '/sign-in/claim', { token, password })
  expect(again.status).toBe(404)
  const { audit_logs: rows } = await admin('/audit?page_size=50')
  const made = (rows as Json[]).find(row => row.table_name === 'password_link' && row.action === 'created')
  expect([made!.changed_by, made!.changed_by_api_key]).toEqual(['ann', 'forgotten-password'])
  expect(JSON.stringify(rows)).not.toContain(token!)
})

test('the answer is the same for users, strangers, the blocked, and users of single sign-on alone; only one gets a mail', async () => {
  await addUser('bea')
  await addUser('blocked')
  await admin('/user/update', { user_id: 'blocked', blocked: true })
  await admin('/user/new', { user_id: 'sso', user_email: 'sso@example.com', auto_create_key: false })
  await addUser('twin-1', { user_email: 'twin@example.com' })
  await addUser('twin-2', { user_email: 'twin@example.com' })
  const names = ['stranger', 'blocked', 'sso', 'twin', 'bea']
  const answers: Json[] = []
  for (const name of names) answers.push(await ask(`${name}@example.com`))
  for (const answer of answers) expect(answer).toEqual({ ...answers[0]!, status: 200 })
  await mailTo('bea@example.com')
  await Bun.sleep(longestDelayMs)
  for (const name of names.slice(0, -1)) expect([name, mailsTo(`${name}@example.com`).length]).toEqual([name, 0])
})

test('nothing is asked about an address before the answer, or soon behind it, where its time would show', async () => {
  await addUser('gil')
  const askedMs = performance.now()
  await ask('gil@example.com')
  await mailTo('gil@example.com')
  expect(performance.now() - askedMs).toBeGreaterThan(1000)
})

test('an address is not flooded with mails, nor a network let ask without end; links of administrators stay', async () => {
  await addUser('cy')
  const { url } = await admin('/sign-in/invitations', { user_id: 'cy', send_email: false })
  for (let at = 0; at < 6; at++) expect((await ask('cy@example.com')).status).toBe(200)
  const [first] = [await mailTo('cy@example.com', 1), await mailTo('cy@example.com', 3)]
  await Bun.sleep(longestDelayMs)
  expect(mailsTo('cy@example.com')).toHaveLength(3)
  const look = async (link: string) => {
    const token = new URL(link).searchParams.get('token')
    return new Browser(gateway.url).json('GET', `/onboarding/get_token?invite_link=${token}`)
  }
  expect(await look(url as string)).toMatchObject({ status: 200, user_id: 'cy', user_email: 'cy@example.com' })
  expect((await look(first!)).status).toBe(200)
  let last: Json = {}
  for (let at = 0; at < 21; at++) last = await ask(`someone-${at}@example.com`, '10.9.9.9')
  expect(last.status).toBe(429)
})

test('a page of another origin cannot ask, and the Host of a request does not stand in a mail', async () => {
  await addUser('dan')
  const foreign = await new Browser(gateway.url).ask('POST', path, {
    body: { email: 'dan@example.com' },
    headers: { origin: 'https://evil.example', 'x-forwarded-for': '10.2.0.1' },
  })
  expect(foreign.status).toBe(403)
  const headers = { host: 'evil.example', 'x-forwarded-host': 'evil.example', 'x-forwarded-for': '10.2.0.2' }
  const sent = await fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ email: 'dan@example.com' }),
  })
  expect(sent.status).toBe(200)
  expect(new URL(await mailTo('dan@example.com')).host).toBe('gateway.example.com')
  expect(mailsTo('dan@example.com')).toHaveLength(1)
})

test("LiteLLM's paths of an invitation set the password of its own user alone", async () => {
  await addUser('eve')
  await addUser('finn')
  const { url } = await admin('/sign-in/invitations', { user_id: 'eve', send_email: false })
  const token = new URL(url as string).searchParams.get('token')!
  const claim = (body: Json) =>
    new Browser(gateway.url).json('POST', '/onboarding/claim_token', { invitation_link: token, password, ...body })
  expect((await claim({ user_id: 'finn' })).status).toBe(404)
  expect((await claim({ invitation_link: 'mgl_none' })).status).toBe(404)
  expect(await claim({ user_id: 'eve' })).toMatchObject({ status: 200, user_id: 'eve' })
  expect((await claim({})).status).toBe(404)
})

test('a gateway that sends no mail says so, and whom to ask', async () => {
  const bare = await startGateway()
  try {
    const page = await new Browser(bare.url).ask('GET', path)
    expect(await page.text()).toContain('Ask an administrator')
    const asked = await new Browser(bare.url).json('POST', path, { email: 'ann@example.com' })
    expect([asked.status, asked.error.message]).toEqual([409, expect.stringContaining('SMTP_HOST')])
    expect((await new Browser(bare.url).json('GET', '/sign-in/methods')).forgotten_password_url).toBeNull()
  } finally {
    await bare.stop()
  }
})
