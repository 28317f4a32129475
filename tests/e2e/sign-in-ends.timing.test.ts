/**
 * How soon a right ends at the other replicas: three of them over Postgres, with Redis and while it is away. A right is
 * given at the first, used at the second and taken at the third.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { signedInBrowser } from '../support/sign-in/browser-session.ts'
import { signInDevice } from '../support/sign-in/device-client.ts'
import { startProvider } from '../support/sign-in/identity-provider.ts'
import type { TestProvider } from '../support/sign-in/identity-provider.ts'
import { startTcpProxy } from '../support/network/tcp-proxy.ts'
import type { TcpProxy } from '../support/network/tcp-proxy.ts'
import { Browser } from './browser.ts'
import { backends, standardConfig, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'
import { scimClient } from './scim-client.ts'

const shared = backends().find(one => one.name !== 'SQLite')
const password = 'correct horse battery'
const attempts = 3

/** Until the status of a question is 401, in milliseconds. */
async function endMs(ask: () => Promise<Response>): Promise<number> {
  const from = performance.now()
  for (;;) {
    const answer = await ask()
    await answer.arrayBuffer()
    const tookMs = performance.now() - from
    if (answer.status === 401 || tookMs > 20_000) return tookMs
    await Bun.sleep(10)
  }
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!

for (const [state, mostMs] of [
  ['with Redis', 1000],
  ['while Redis is away', 5000],
] as const)
  describe.skipIf(!shared)(`three replicas ${state}`, () => {
    let close: () => Promise<void>
    let databaseUrl: string
    let wire: TcpProxy
    let provider: TestProvider
    let one: Gateway, two: Gateway, three: Gateway

    beforeAll(async () => {
      const opened = await shared!.open()
      close = opened.close
      databaseUrl = opened.databaseUrl!
      provider = await startProvider()
      const redis = new URL(opened.redisUrl!)
      wire = await startTcpProxy(redis.hostname, Number(redis.port))
      redis.host = `127.0.0.1:${wire.port}`
      const place = { ...opened, redisUrl: redis.href, close: async () => {} }
      const backend = { name: 'shared', open: async () => place }
      const config = `${standardConfig}
general_settings: { enable_jwt_auth: true, jwt_auth: { issuer: "${provider.issuer}", audience: gateway } }
`
      ;[one, two, three] = [
        await startGateway({ backend, config }),
        await startGateway({ backend, config }),
        await startGateway({ backend, config }),
      ]
      if (state !== 'with Redis') wire.cut()
    })
    afterAll(async () => {
      for (const replica of [one, two, three]) await replica?.stop()
      await wire?.close()
      provider?.stop()
      await close?.()
    })

    const user = (id: string) =>
      one.admin('/user/new', { user_id: id, user_email: `${id}@example.com`, sso_user_id: id })
    const listed = (replica: Gateway, token: string) =>
      fetch(`${replica.url}/v1/models`, { headers: { authorization: `Bearer ${token}` } })

    /** How long it takes at each of the others, the slower one of them; the middle of several attempts. */
    async function figure(what: string, attempt: (id: string) => Promise<readonly (() => Promise<Response>)[]>) {
      const tookMs: number[] = []
      for (let at = 0; at < attempts; at++) {
        const asks = await attempt(`${what.replaceAll(' ', '-')}-${at}`)
        tookMs.push(Math.max(...(await Promise.all(asks.map(endMs)))))
      }
      const rounded = tookMs.map(Math.round).toSorted((a, b) => a - b)
      console.log(`${state}: ${what} has ended everywhere after ${rounded.join(', ')} ms`)
      expect(median(tookMs)).toBeLessThan(mostMs)
    }

    test('a session that is ended at another replica', () =>
      figure('a session', async id => {
        await user(id)
        await one.admin('/sign-in/password', { user_id: id, new_password: password })
        const browsers = [one, two, three].map(({ url }) => new Browser(url))
        expect((await browsers[0]!.signIn(id, password)).status).toBe(200)
        for (const other of browsers.slice(1))
          for (const [name, value] of browsers[0]!.cookies) other.cookies.set(name, value)
        for (const browser of browsers) expect((await browser.json('GET', '/sign-in/session')).status).toBe(200)
        expect((await browsers[2]!.json('POST', '/sign-in/sessions/revoke-all')).revoked).toBe(1)
        return browsers.slice(0, 2).map(browser => () => browser.ask('GET', '/sign-in/session'))
      }))

    test('the token of a program, when the directory removes its user in mid-session', async () => {
      const scim = await scimClient(three)
      await figure('a token of a program', async id => {
        await user(id)
        const browser = await signedInBrowser(one.url, databaseUrl, id)
        const { access_token: token } = await signInDevice(one.url, browser)
        for (const replica of [one, two, three]) expect((await listed(replica, token)).status).toBe(200)
        expect((await scim.ask('DELETE', `/Users/${id}`)).status).toBe(204)
        return [one, two].map(replica => () => listed(replica, token))
      })
    })

    test('a token of an identity provider, when another person gets its user', () =>
      figure('a token of a provider', async id => {
        await user(id)
        const end = Math.floor(Date.now() / 1000) + 300
        const token = await provider.sign({ iss: provider.issuer, aud: 'gateway', sub: id, iat: end - 300, exp: end })
        for (const replica of [one, two, three]) expect((await listed(replica, token)).status).toBe(200)
        await three.admin('/user/update', { user_id: id, sso_user_id: `${id}-2` })
        return [one, two].map(replica => () => listed(replica, token))
      }))
  })
