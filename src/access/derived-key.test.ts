/** What stands in the text of a derived key, and what its caller may do. */
import { expect, test } from 'bun:test'
import { createHmac } from 'node:crypto'
import { bareKey } from '../core/caller.ts'
import type { Caller } from '../core/caller.ts'
import { derivedCaller, readDerivedKey, writeDerivedKey } from './derived-key.ts'
import type { DerivedClaims } from './derived-key.ts'

const sign = (text: string) => createHmac('sha256', 'k').update(text).digest()
const read = (text: string) => readDerivedKey(text, sign, (one, other) => one.equals(other))
const key = 'a'.repeat(64)
const claims = (...links: object[]) => ({ key, links }) as DerivedClaims
const isRead = (claimed: object) => read(writeDerivedKey(claimed as DerivedClaims, sign)) !== undefined

test('a text says what was written, and nothing once a character of it is another', () => {
  const said = claims({ id: 'r1', end: 5, models: ['m'], max: 7, rpm: 1, tpm: 2, parallel: 3 }, { id: 'r2', end: 4 })
  const text = writeDerivedKey(said, sign)
  expect(text).toStartWith('mgd_')
  expect(read(text)).toEqual(said)
  const [payload, signature] = text.slice(4).split('.')
  expect(read(text.slice(4))).toBeUndefined()
  expect(read(`mgd_${payload}`)).toBeUndefined()
  expect(read(`mgd_${payload}.${signature!.slice(0, -2)}`)).toBeUndefined()
  expect(read(`mgd_${payload}.${sign('other').toString('base64url')}`)).toBeUndefined()
  expect(read(`mgd_${payload!.slice(0, -1)}.${signature}`)).toBeUndefined()
})

test('claims out of range are none, and one too long is not written', () => {
  const link = { id: 'r', end: 1 }
  expect(isRead(claims(...Array.from({ length: 8 }, () => link)))).toBe(true)
  expect(isRead(claims(...Array.from({ length: 9 }, () => link)))).toBe(false)
  expect(isRead(claims())).toBe(false)
  expect(isRead({ key: 'short', links: [link] })).toBe(false)
  const isLink = (more: object) => isRead(claims({ ...link, ...more }))
  expect([isLink({ id: 'x'.repeat(64) }), isLink({ id: 'x'.repeat(65) }), isLink({ id: '' })]).toEqual([
    true,
    false,
    false,
  ])
  expect([isLink({ end: 0 }), isLink({ end: -1 }), isLink({ end: 0.5 })]).toEqual([true, false, false])
  expect([isLink({ max: 0 }), isLink({ max: 9e15 }), isLink({ max: 9e15 + 2 }), isLink({ max: -1 })]).toEqual([
    true,
    true,
    false,
    false,
  ])
  for (const name of ['rpm', 'tpm', 'parallel'])
    expect([0, 1e9, 1e9 + 1, -1].map(one => isLink({ [name]: one }))).toEqual([true, true, false, false])
  expect([['x'.repeat(255)], ['x'.repeat(256)], ['']].map(models => isLink({ models }))).toEqual([true, false, false])
  expect([100, 101].map(length => isLink({ models: Array(length).fill('m') }))).toEqual([true, false])
  expect(isLink({ later: 1 })).toBe(false)
  expect(() => isLink({ models: Array(100).fill('x'.repeat(255)) })).toThrow('too long')
})

test('the caller has the limits of each derivation, the earliest end, and no rights of its user', () => {
  const parent = {
    role: 'proxy_admin',
    key: { ...bareKey, id: 'k', expiresAtMs: 50 },
    memberships: [{}],
  } as unknown as Caller
  const made = derivedCaller(
    parent,
    claims({ id: 'r1', end: 90, models: ['m'], max: 7, rpm: 0, tpm: 2 }, { id: 'r2', end: 60 }),
  )
  expect([made.role, made.memberships, made.key.expiresAtMs, made.key.id]).toEqual(['key', [], 50, 'k'])
  expect(made.derived).toMatchObject([
    {
      id: 'r1',
      endMs: 90,
      models: ['m'],
      maxBudgetNanoUsd: 7n,
      requestsPerMinute: 0,
      tokensPerMinute: 2,
      parallelRequests: null,
    },
    {
      id: 'r2',
      endMs: 60,
      models: [],
      maxBudgetNanoUsd: 9_000_000_000_000_000n,
      requestsPerMinute: null,
      tokensPerMinute: null,
    },
  ])
  const endless = { ...parent, key: { ...parent.key, expiresAtMs: null } } as Caller
  expect(derivedCaller(endless, claims({ id: 'r1', end: 90 }, { id: 'r2', end: 60 })).key.expiresAtMs).toBe(60)
})
