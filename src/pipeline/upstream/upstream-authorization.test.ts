import { expect, test } from 'bun:test'
import type { Authorization, Target } from '../../core/provider.ts'
import type { Transport, UpstreamRequest } from '../../core/transport.ts'
import { Authorizer } from './upstream-authorization.ts'
import { hourMs } from '../../lib/clock.ts'

test('a token is fetched anew when its lifetime is over by either clock: one is set back, the other sleeps', async () => {
  const now = { epochMs: 100 * hourMs, monotonicMs: 0 }
  const clock = { epochMs: () => now.epochMs, monotonicMs: () => now.monotonicMs }
  let fetched = 0
  const answer = () => Buffer.from(JSON.stringify({ token: `t${++fetched}` }))
  const transport = {
    send: () => ({ response: Promise.resolve({ status: 200, body: { bytes: () => Promise.resolve(answer()) } }) }),
  } as unknown as Transport
  const authorization: Authorization = {
    headers: (_call, _target, { token }) => ({ authorization: token! }),
    tokenRequest: () => ({ method: 'POST', head: { url: 'https://tokens.example/', headers: {} }, body: '' }) as never,
    readToken: body => ({ token: (body as { token: string }).token, lifetimeS: 3600 }),
  }
  const authorizer = new Authorizer(transport, clock)
  const target = {} as Target
  const request = { method: 'POST', head: { url: 'https://upstream.example/', headers: {} }, body: [] } as never
  const tokenOf = async () => {
    const { head }: UpstreamRequest = await authorizer.authorize(request, target, authorization)
    return (head.headers as Record<string, string>).authorization
  }
  expect([await tokenOf(), await tokenOf()]).toEqual(['t1', 't1'])
  // The clock was a day ahead, and is set right; an hour later the token has expired.
  now.epochMs -= 24 * hourMs
  now.monotonicMs += 30 * 60_000
  expect(await tokenOf()).toBe('t1')
  now.monotonicMs += 30 * 60_000
  expect(await tokenOf()).toBe('t2')
  // The machine has slept.
  now.epochMs += hourMs
  expect([await tokenOf(), await tokenOf()]).toEqual(['t3', 't3'])
})
