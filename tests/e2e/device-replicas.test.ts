/** Three replicas over Postgres and Redis: a program signs in at one, calls at another, and is ended at the third. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { signedInBrowser } from '../support/sign-in/browser-session.ts'
import { askDevice, post, redeem, refresh } from '../support/sign-in/device-client.ts'
import type { Tokens } from '../support/sign-in/device-client.ts'
import { backends, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'
import { until } from '../support/until.ts'

const shared = backends().find(one => one.name !== 'SQLite')

describe.skipIf(!shared)('three replicas', () => {
  let close: () => Promise<void>
  let databaseUrl: string
  const replicas: Gateway[] = []

  beforeAll(async () => {
    const opened = await shared!.open()
    close = opened.close
    databaseUrl = opened.databaseUrl!
    const backend = { name: 'shared', open: async () => ({ ...opened, close: async () => {} }) }
    for (let at = 0; at < 3; at++) replicas.push(await startGateway({ backend }))
  })
  afterAll(async () => {
    for (const replica of replicas) await replica.stop()
    await close?.()
  })

  const call = async (replica: Gateway, token: string): Promise<number> => {
    const answer = await fetch(`${replica.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify({ model: 'chat-model', messages: [{ role: 'user', content: 'tokens: 3' }] }),
    })
    await answer.arrayBuffer()
    return answer.status
  }

  async function signIn(userId: string): Promise<Tokens> {
    const [first, second, third] = replicas as [Gateway, Gateway, Gateway]
    await first.admin('/user/new', { user_id: userId })
    const browser = await signedInBrowser(second.url, databaseUrl, userId)
    const asked = await askDevice(first.url)
    expect((await browser.post('/device', { user_code: asked.user_code, decision: 'approve' })).status).toBe(200)
    return (await (await redeem(third.url, asked.device_code)).json()) as Tokens
  }

  test('a code of one is approved at another and redeemed at the third; its token calls everywhere', async () => {
    const { access_token: token } = await signIn('ada')
    for (const replica of replicas) expect(await call(replica, token)).toBe(200)
  })

  for (const [name, end] of [
    ['revoked', ({ refresh_token: token }: Tokens) => post(replicas[2]!.url, '/oauth/revoke', { token })],
    ['blocked', () => replicas[2]!.admin('/user/update', { user_id: 'blocked', blocked: true })],
    ['deleted', () => replicas[2]!.admin('/user/delete', { user_ids: ['deleted'] })],
  ] as const)
    test(`what is ${name} at one replica ends at all, in the middle of a session`, async () => {
      const tokens = await signIn(name)
      for (const replica of replicas) expect(await call(replica, tokens.access_token)).toBe(200)
      expect((await end(tokens)).status).toBe(200)
      for (const replica of replicas)
        await until(async () => (await call(replica, tokens.access_token)) === 401, 'the token is refused')
      expect((await refresh(replicas[0]!.url, tokens.refresh_token)).status).toBe(400)
    })

  test('a stolen refresh token that is used at one replica ends the tokens at all', async () => {
    const first = await signIn('victim')
    const second = (await (await refresh(replicas[0]!.url, first.refresh_token)).json()) as Tokens
    const third = (await (await refresh(replicas[1]!.url, second.refresh_token)).json()) as Tokens
    expect((await refresh(replicas[2]!.url, first.refresh_token)).status).toBe(400)
    for (const replica of replicas)
      await until(async () => (await call(replica, third.access_token)) === 401, 'the token is refused')
  })
})
