/** The router: requests that there is no room for, and paths that are not there. */
import { expect, test } from 'bun:test'
import type { Caller } from '../core/caller.ts'
import type { Services } from '../core/endpoint.ts'
import type { IncomingRequest } from '../core/request.ts'
import { GatewayError } from '../core/errors.ts'
import { internalRequest, SignalClient } from '../core/internal-request.ts'
import { allEndpoints } from './index.ts'
import { createRequestRouter } from './router.ts'

const endpoints = await allEndpoints()

const door = createRequestRouter({
  endpoints,
  services: {
    metrics: () => Buffer.from('up 1\n'),
    current: { settings: { metricsRequireKey: false } },
  } as unknown as Services,
  policies: [],
  reportInternal: error => expect(error).toBeUndefined(),
  metricsRequireKey: () => false,
})
const full = new GatewayError('overloaded', 'full; try again', { retryAfterMs: 1000 })

function wire(method: string, target: string, headers: Record<string, string> = {}): IncomingRequest {
  const client = new SignalClient(new AbortController().signal, '')
  const [path, query] = target.split('?')
  return internalRequest({
    method,
    id: 'id',
    path: path!,
    params: {},
    query: new URLSearchParams(query),
    headers: new Headers(headers),
    bytes: new Uint8Array(),
    client,
  })
}

async function turnedAway(...request: Parameters<typeof wire>) {
  const answer = await door.turnAway(wire(...request), full)
  return { ...answer, text: String(answer.body) }
}

test('each dialect says in its own words that there is no room', async () => {
  const chat = await turnedAway('POST', '/v1/chat/completions?x=1', { origin: 'http://page' })
  expect(chat).toMatchObject({ status: 503, headers: { 'retry-after': '1', 'access-control-allow-origin': '*' } })
  expect(JSON.parse(chat.text)).toMatchObject({
    error: { message: 'full; try again', type: 'api_error', code: 'overloaded' },
  })
  const messages = await turnedAway('POST', '/v1/messages')
  expect(messages).toMatchObject({ status: 503, headers: { 'retry-after': '1' } })
  expect(JSON.parse(messages.text)).toMatchObject({ type: 'error', error: { message: 'full; try again' } })
  const gemini = await turnedAway('POST', '/v1beta/models/m:generateContent')
  expect(gemini.status).toBe(503)
  expect(JSON.parse(gemini.text)).toMatchObject({ error: { code: 503, message: 'full; try again' } })
})

test('a path or method that is not there is no reason to look further', async () => {
  for (const [method, target] of [
    ['GET', '/no/such'],
    ['PATCH', '/v1/chat/completions'],
    ['OPTIONS', '*'],
  ] as const)
    expect(await turnedAway(method, target)).toMatchObject({ status: 503, headers: { 'retry-after': '1' } })
})

test('health and metrics are answered: a gateway that is full is not one to be restarted', async () => {
  expect((await turnedAway('GET', '/health/liveliness')).status).toBe(200)
  expect(await turnedAway('GET', '/metrics')).toMatchObject({ status: 200, text: 'up 1\n' })
})

test('the error for a wrong path names a base URL that makes it', async () => {
  const said = async (path: string) => JSON.parse(String((await door.handle(wire('POST', path))).body)).error.message
  expect(await said('/v1/v1/embeddings')).toContain('the path has /v1 twice: leave one out of the base URL')
  expect(await said('//v1/embeddings')).toContain('begins with two slashes: end the base URL without one')
  expect(await said('/v1/embedding')).toBe(
    'there is no POST /v1/embedding; try POST /v1/embeddings; see /docs for the API',
  )
})

test('only a request whose key is valid counts as authenticated, as soon as its key is known, also when it is refused', async () => {
  const seen: boolean[] = []
  const keyed = createRequestRouter({
    endpoints,
    services: { current: { models: {}, settings: {} }, metricsText: () => '' } as unknown as Services,
    policies: [
      {
        name: 'identify',
        stage: 'request',
        async admit(head) {
          await Promise.resolve()
          if (head.headers.get('authorization') !== 'Bearer valid') throw new GatewayError('unauthenticated', 'no')
          head.caller = { role: 'key', key: {} as Caller['key'] }
        },
      },
      {
        name: 'refuse',
        stage: 'request',
        admit(head) {
          if (head.headers.has('refuse')) throw new GatewayError('rate-limited', 'later')
        },
      },
    ],
    reportInternal: () => {},
    metricsRequireKey: () => false,
  })
  for (const [target, headers] of [
    ['/v1/models', { authorization: 'Bearer valid', refuse: '1' }],
    ['/v1/models', { authorization: 'Bearer other' }],
    ['/v1/models', {}],
    ['/none', { authorization: 'Bearer valid' }],
    ['/health/liveliness', { authorization: 'Bearer valid' }],
  ] as const) {
    const request = wire('GET', target, headers)
    await keyed.handle(request)
    seen.push(request.authenticated)
  }
  expect(seen).toEqual([true, false, false, false, false])
})
