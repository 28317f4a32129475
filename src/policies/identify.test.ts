/** Where a key may stand. */
import { expect, test } from 'bun:test'
import type { Caller } from '../core/caller.ts'
import type { GatewayError } from '../core/errors.ts'
import type { RequestHead } from '../core/policy.ts'
import { endpoints } from '../endpoints/index.ts'
import { identify } from './identify.ts'

const caller = { role: 'key', key: { id: 'k', expiresAtMs: null, blocked: false } } as Caller
const policy = identify({
  keys: { lookup: text => (text === 'sk-known' ? caller : undefined) },
  installation: { isMasterKey: text => text === 'sk-master' },
  clock: { epochMs: () => 0, monotonicMs: () => 0 },
  refused() {},
})

function asked(query: string, { keyInQuery = true, headers = {} as Record<string, string> } = {}): string {
  const head = {
    headers: new Headers(headers),
    query: new URLSearchParams(query),
    keyInQuery,
  } as unknown as RequestHead
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
  expect(taking.filter(path => !/^(\/gemini)?\/v1(beta)?\/models/.test(path))).toEqual([])
  expect(endpoints.filter(one => one.doc.tag === 'Gemini' && !one.keyInQuery)).toEqual([])
})

test('the master key is never taken from the URL', () => {
  expect(asked('key=sk-master')).toContain('the master key is not accepted in a URL')
  expect(asked('key=sk-master', { keyInQuery: false })).toContain("accepted on Gemini's paths only")
  expect(asked('', { headers: { 'x-goog-api-key': 'sk-master' } })).toBe('proxy_admin')
})

test('any white space may stand behind Bearer, however it is written', () => {
  const by = (authorization: string): string => {
    const head = { headers: { get: (name: string) => (name === 'authorization' ? authorization : null) } }
    const parts = { query: new URLSearchParams(), keyInQuery: false, ...head } as unknown as RequestHead
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
