/** HEAD, OPTIONS and what other origins may read. */
import { expect, test } from 'bun:test'
import type { Endpoint, Services } from '../core/endpoint.ts'
import { GatewayError } from '../core/errors.ts'
import type { IncomingRequest } from '../core/request.ts'
import { liveliness, metrics, readiness } from './operation/health.ts'
import { createRequestRouter } from './router.ts'

const keyed = {
  method: 'GET',
  paths: ['/models'],
  auth: 'key',
  handle: () => ({ status: 200, headers: { etag: '"a"' }, body: '{}' }),
} as unknown as Endpoint
let ready = true
let metricsRequireKey = false

const door = createRequestRouter({
  endpoints: [liveliness, readiness, metrics, keyed],
  services: {
    readiness: () => ({ ready, details: {} }),
    metrics: () => Buffer.from('up 1\n'),
    current: {
      get settings() {
        return { metricsRequireKey, priceLists: [] }
      },
    },
  } as unknown as Services,
  policies: [
    {
      name: 'needs a key',
      stage: 'request',
      admit(head) {
        if (!head.headers.has('x-api-key')) throw new GatewayError('unauthenticated', 'no key')
      },
    },
  ],
  reportInternal: error => expect(error).toBeUndefined(),
  metricsRequireKey: () => metricsRequireKey,
})

const request = (method: string, path: string, headers: Record<string, string> = {}, peerAddress = '10.1.2.3') =>
  ({ method, path, headers: new Headers(headers), params: {}, peerAddress, id: 'id' }) as unknown as IncomingRequest
const ask = async (...asked: Parameters<typeof request>) => door.handle(request(...asked))

test('HEAD is answered as GET, and needs a key wherever GET does', async () => {
  expect(await ask('HEAD', '/models')).toMatchObject({ status: 401, headers: { 'www-authenticate': 'Bearer' } })
  const withKey = await ask('HEAD', '/models', { 'x-api-key': 'k' })
  expect(withKey).toMatchObject({ status: 200, headers: { etag: '"a"' } })
  // The probe of a client that has not been given a key yet.
  expect((await ask('HEAD', '/api/hello')).status).toBe(200)
})

test('GET, HEAD and OPTIONS of readiness say that the gateway drains', async () => {
  for (const [is, status] of [
    [true, 200],
    [false, 503],
  ] as const) {
    ready = is
    const methods = ['GET', 'HEAD', 'OPTIONS']
    const statuses = await Promise.all(methods.map(async method => (await ask(method, '/health/readiness')).status))
    expect(statuses).toEqual([status, status, status])
    expect((await ask('OPTIONS', '/health/readiness')).body).toBeNull()
    expect((await ask('OPTIONS', '/health/liveliness')).status).toBe(200)
  }
  // A browser asks for permission, not for the state.
  const preflight = { origin: 'https://a.example', 'access-control-request-method': 'GET' }
  expect(await ask('OPTIONS', '/health/readiness', preflight)).toMatchObject({
    status: 204,
    headers: { 'access-control-allow-origin': '*' },
  })
  ready = true
})

test('every method of a health check is answered when there is no room for clients', async () => {
  const full = new GatewayError('overloaded', 'full')
  for (const method of ['GET', 'HEAD', 'OPTIONS'])
    for (const path of ['/health/liveliness', '/health/readiness'])
      expect([method, path, (await door.turnAway(request(method, path), full)).status]).toEqual([method, path, 200])
  expect((await door.turnAway(request('OPTIONS', '/models'), full)).status).toBe(503)
  expect((await door.turnAway(request('HEAD', '/models'), full)).status).toBe(503)
})

test('pages of other origins cannot read metrics, neither the answer nor an error', async () => {
  const cors = async (...asked: Parameters<typeof request>) =>
    Object.keys((await ask(...asked)).headers).filter(name => name.startsWith('access-control-'))
  const origin = { origin: 'https://a.example' }
  for (const method of ['GET', 'HEAD', 'POST'])
    expect([method, await cors(method, '/metrics', origin)]).toEqual([method, []])
  expect(await cors('OPTIONS', '/metrics', { ...origin, 'access-control-request-method': 'GET' })).toEqual([])
  expect(await cors('GET', '/health/liveliness', origin)).not.toEqual([])
  metricsRequireKey = true
  expect(await cors('GET', '/metrics', origin)).toEqual([])
  metricsRequireKey = false
})

test('on loopback metrics are shown only for a loopback Host, unless a key is needed', async () => {
  const status = async (host: string | undefined, peerAddress: string, key?: string) =>
    (await ask('GET', '/metrics', { ...(host && { host }), ...(key && { 'x-api-key': key }) }, peerAddress)).status
  for (const local of ['127.0.0.1', '::1', '::ffff:127.0.0.1']) {
    for (const host of ['localhost', 'LOCALHOST:4000', '127.0.0.1:4000', '[::1]:4000', '[::1]', undefined])
      expect([local, host, await status(host, local)]).toEqual([local, host, 200])
    for (const host of ['attacker.example', 'attacker.example:4000', 'localhost.attacker.example', '10.0.0.1'])
      expect([local, host, await status(host, local)]).toEqual([local, host, 403])
  }
  expect(await status('gateway.internal:4000', '10.1.2.3')).toBe(200)
  metricsRequireKey = true
  expect([await status('a.example', '127.0.0.1', 'k'), await status('localhost', '127.0.0.1')]).toEqual([200, 401])
  metricsRequireKey = false
})
