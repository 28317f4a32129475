/** Where a key may stand. */
import { expect, test } from 'bun:test'
import { bareKey } from '../core/caller.ts'
import type { Caller } from '../core/caller.ts'
import type { GatewayError } from '../core/errors.ts'
import type { AdmittedRequest } from '../core/policy.ts'
import type { Session } from '../core/sign-in/session.ts'
import type { User } from '../core/tenancy/tenancy.ts'
import { allEndpoints } from '../endpoints/index.ts'
import { identify } from './identify.ts'

const endpoints = await allEndpoints()

const caller: Caller = { role: 'key', key: { ...bareKey, id: 'k' } }
const old: Caller = { role: 'key', key: { ...bareKey, id: 'o', rotateByMs: 10, textSinceMs: 0 } }
let nowMs = 0
const rotation = { maxAgeMs: null as number | null, graceMs: 5 }
const ann = {
  role: 'internal_user',
  key: { id: 'user:ann', userId: 'ann', expiresAtMs: null, blocked: false },
} as Caller
const blocked = { blocked: true } as User
const sessionOf = (id: string) => ({ id, userId: 'ann' }) as Session
const policy = identify({
  keys: {
    lookup: text => (text === 'sk-known' ? caller : text === 'sk-old' ? old : undefined),
    lookupUser: id => (id === 'ann' ? ann : id === 'bob' ? Promise.resolve({ ...ann, user: blocked }) : undefined),
    lookupServiceAccount: () => undefined,
    lookupSession: secret =>
      secret === 'of-ann' || secret === 'ended' ? { ...ann, session: sessionOf(secret) } : undefined,
  },
  installation: { isMasterKey: text => text === 'sk-master' },
  keyRotation: () => ({ ...rotation, reminderStagesMs: [], webhookUrls: [], alertEmails: [] }),
  sessions: { check: ({ id }) => id !== 'ended' },
  tokens: [
    {
      verify: token =>
        token.startsWith('eyJh.ann.') ? { userId: 'ann', expiresAtMs: token.endsWith('old') ? 0 : 1 } : undefined,
    },
    { verify: async token => (token === 'eyJh.bob.s' ? { userId: 'bob', expiresAtMs: 1 } : undefined) },
  ],
  baseUrl: () => null,
  clock: { epochMs: () => nowMs, monotonicMs: () => 0 },
  refused() {},
})

function asked(query: string, { keyInQuery = true, headers = {} as Record<string, string> } = {}): string {
  const head = {
    headers: new Headers(headers),
    query: new URLSearchParams(query),
    keyInQuery,
  } as unknown as AdmittedRequest
  try {
    void policy.admit(head)
  } catch (thrown) {
    return (thrown as GatewayError).message
  }
  return head.caller!.role
}

test('a key in the URL is taken on the paths of Gemini alone', () => {
  expect(asked('key=sk-known')).toBe('key')
  expect(asked('key=sk-known', { keyInQuery: false })).toContain("accepted on Gemini's paths only")
  // There it is a parameter: /key/info?key=...
  expect(asked('key=sk-other', { keyInQuery: false, headers: { 'x-api-key': 'sk-known' } })).toBe('key')
  const taking = endpoints.filter(one => one.keyInQuery).flatMap(one => one.paths)
  expect(taking).toContain('/v1beta/models/{model+}:generateContent')
  expect(taking.filter(path => !/^(\/gemini)?(\/v1(beta)?)?\/models/.test(path))).toEqual([])
  expect(endpoints.filter(one => one.doc.tag === 'Gemini' && !one.keyInQuery)).toEqual([])
})

test('a text that should have been replaced works during the grace, and is refused with the remedy after it', () => {
  const by = (key: string) => asked('', { headers: { 'x-api-key': key } })
  nowMs = 14
  expect([by('sk-old'), by('sk-known')]).toEqual(['key', 'key'])
  nowMs = 15
  expect(by('sk-old')).toContain('POST /key/regenerate')
  expect(by('sk-known')).toBe('key')
  rotation.maxAgeMs = 3
  nowMs = 8
  expect(by('sk-old')).toContain('POST /key/regenerate')
  nowMs = 7
  expect(by('sk-old')).toBe('key')
  rotation.maxAgeMs = null
  nowMs = 0
})

test('the master key is never taken from the URL', () => {
  expect(asked('key=sk-master')).toContain('the master key is not accepted in a URL')
  expect(asked('key=sk-master', { keyInQuery: false })).toContain("accepted on Gemini's paths only")
  expect(asked('', { headers: { 'x-goog-api-key': 'sk-master' } })).toBe('proxy_admin')
})

test('any white space may stand behind Bearer, however it is written', () => {
  const by = (authorization: string): string => {
    const head = { headers: { get: (name: string) => (name === 'authorization' ? authorization : null) } }
    const parts = { query: new URLSearchParams(), keyInQuery: false, ...head } as unknown as AdmittedRequest
    try {
      void policy.admit(parts)
    } catch (thrown) {
      return (thrown as GatewayError).message
    }
    return parts.caller!.role
  }
  for (const space of [' ', '  ', '     ', '\t', ' \t '])
    for (const scheme of ['Bearer', 'bearer', 'BEARER']) expect(by(`${scheme}${space}sk-known`)).toBe('key')
  for (const empty of ['Bearer', 'Bearer ', 'bearer   ', 'bearer\t'])
    expect(by(empty)).toContain('there is nothing behind Bearer')
  expect(by('Basic  sk-known')).toContain('must be `Bearer <key>`')
})

/** The role of the caller, or the error of the client. */
async function identified(headers: Record<string, string>, method = 'GET', isPage = false): Promise<string> {
  const head = { headers: new Headers(headers), query: new URLSearchParams(), keyInQuery: false, method, isPage }
  try {
    await policy.admit(head as unknown as AdmittedRequest)
  } catch (thrown) {
    return `${(thrown as GatewayError).status}: ${(thrown as GatewayError).message}`
  }
  return (head as unknown as AdmittedRequest).caller!.key.id
}

const host = { host: 'gateway.example' }
const cookie = '__Host-modelgate_session=of-ann'

test('the cookie of a session counts where no key is sent', async () => {
  expect(await identified({ ...host, cookie })).toBe('user:ann')
  expect(await identified({ ...host, cookie: `other=1; ${cookie}` })).toBe('user:ann')
  expect(await identified({ ...host, cookie, 'x-api-key': 'sk-known' })).toBe('k')
  expect(await identified({ ...host, cookie, 'x-api-key': 'sk-other' })).toContain('401: the API key is not known')
  expect(await identified({ ...host, cookie: '__Host-modelgate_session=ended' })).toContain('the session has ended')
  expect(await identified({ ...host, cookie: '__Host-modelgate_session=of-bob' })).toContain('the session has ended')
})

test('a cookie that another host of the domain can set counts on this machine alone', async () => {
  const plain = 'modelgate_session=of-ann'
  expect(await identified({ ...host, cookie: plain })).toContain('401: no API key was sent')
  expect(await identified({ host: 'localhost:4000', cookie: plain })).toBe('user:ann')
  expect(await identified({ host: 'localhost.evil.example', cookie: plain })).toContain('no API key was sent')
  expect(await identified({ ...host, cookie: `${cookie}; __Host-modelgate_session=of-bob` })).toContain('no API key')
})

test('with a session, changes need the origin of the gateway and a body that no form can send', async () => {
  const json = { 'content-type': 'application/json; charset=utf-8' }
  const own = { ...host, cookie, origin: 'https://gateway.example' }
  expect(await identified({ ...own, ...json }, 'POST')).toBe('user:ann')
  expect(await identified(own, 'DELETE')).toBe('user:ann')
  expect(await identified({ ...host, cookie, ...json }, 'POST')).toContain('403: with a session, changes need')
  for (const origin of [
    'https://evil.example',
    'http://gateway.example',
    'null',
    'https://gateway.example.evil.example',
  ])
    expect(await identified({ ...own, ...json, origin }, 'POST')).toContain('403: with a session, changes need')
  expect(await identified({ ...own, 'content-length': '2' }, 'POST')).toContain('403: with a session, the body')
  const form = { 'content-type': 'multipart/form-data; boundary=x' }
  expect(await identified({ ...own, ...form }, 'POST')).toContain('403: with a session, the body')
  expect(await identified({ ...own, ...form, 'sec-fetch-site': 'same-origin' }, 'POST')).toBe('user:ann')
  expect(await identified({ ...own, 'content-type': 'text/plain' }, 'POST')).toContain('403: with a session, the body')
})

test('with a session nothing is read for the page of another site, unless it leads to a page of the gateway', async () => {
  const own = { ...host, cookie }
  const by = (site: string, method = 'GET') => identified({ ...own, 'sec-fetch-site': site }, method)
  for (const site of ['same-origin', 'none']) expect(await by(site)).toBe('user:ann')
  for (const site of ['cross-site', 'same-site', 'x']) expect(await by(site)).toContain('403: the page of another site')
  expect(await identified({ ...own, origin: 'https://evil.example' })).toContain('403: the page of another site')
  expect(await identified({ ...own, origin: 'https://gateway.example' })).toBe('user:ann')
  expect(await identified({ ...own, 'sec-fetch-site': 'cross-site' }, 'GET', true)).toBe('user:ann')
  // A key is no cookie: its page has it, on any site.
  expect(await identified({ ...own, 'sec-fetch-site': 'cross-site', 'x-api-key': 'sk-known' })).toBe('k')
})

test('a token in the place of a key is verified by the one that knows its issuer', async () => {
  const bearer = (token: string) => identified({ authorization: `Bearer ${token}` })
  expect(await bearer('eyJh.ann.s')).toBe('user:ann')
  expect(await bearer('eyJh.ann.old')).toContain('the token has expired')
  expect(await bearer('eyJh.bob.s')).toContain('the user of this token is not known here, or is blocked')
  expect(await bearer('eyJh.eve.s')).toContain('of an issuer that this gateway does not know')
  expect(await bearer('eyJno-token')).toContain('the API key is not known')
})
