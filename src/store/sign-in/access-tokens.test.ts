import { expect, test } from 'bun:test'
import { createHmac, timingSafeEqual } from 'node:crypto'
import { readAccessToken, readRefreshToken, writeAccessToken, writeRefreshToken } from '../../access/access-token.ts'
import type { AccessClaims } from '../../access/access-token.ts'
import { createAccessTokenVerifier } from './access-tokens.ts'
import { hourMs } from '../../lib/clock.ts'

const sign = (text: string) => createHmac('sha256', 'the secret of a test').update(text).digest()
const other = (text: string) => createHmac('sha256', 'the secret of another').update(text).digest()
const startMs = 1_800_000_000_000
const claims = {
  userId: 'ada',
  signInId: '01999999-9999-7999-8999-999999999999',
  teamId: 'red',
  issuedAtMs: startMs,
  expiresAtMs: startMs + hourMs,
}
const tokenOf = (changes: Partial<AccessClaims> = {}, by = sign) =>
  writeAccessToken({ ...claims, ...changes }, 'https://gateway.example', by)

function verifierAt(nowMs: number, isLive: () => boolean | Promise<boolean> = () => true) {
  const signIns = { isLive }
  return createAccessTokenVerifier({ sign, signIns, clock: { epochMs: () => nowMs }, lifetimeMs: () => hourMs })
}

test('a token says whom it stands for, in the form of RFC 9068', () => {
  const token = tokenOf()
  expect(readAccessToken(token, sign, timingSafeEqual)).toEqual(claims)
  const [head, body] = token.split('.').map(part => Buffer.from(part, 'base64url').toString())
  expect(JSON.parse(head!)).toEqual({ alg: 'HS256', typ: 'at+jwt', kid: 'modelgate-sign-in' })
  expect(JSON.parse(body!)).toMatchObject({ iss: 'https://gateway.example', aud: 'modelgate', sub: 'ada', team: 'red' })
})

test('a token is verified at once, and stands for calls alone', () => {
  expect(verifierAt(startMs).verify(tokenOf())).toEqual({
    userId: 'ada',
    teamId: 'red',
    expiresAtMs: startMs + hourMs,
    callsOnly: true,
  })
})

test('a JWT of another issuer is left to others', () => {
  const head = Buffer.from('{"alg":"RS256","kid":"theirs"}').toString('base64url')
  expect(verifierAt(startMs).verify(`${head}.e30.c2lnbmF0dXJl`)).toBeUndefined()
})

test.each([
  ['of another installation', tokenOf({}, other), startMs, 'another installation'],
  ['that has expired', tokenOf(), startMs + hourMs, 'has expired'],
  ['of which the last character was changed', `${tokenOf().slice(0, -2)}AA`, startMs, 'was changed'],
  // The clock was a day ahead when it was made, and was set right since.
  ['made by a clock that was ahead', tokenOf({ expiresAtMs: startMs + 25 * hourMs }), startMs, 'ends later'],
])('a token %s is refused with the remedy', (_name, token, nowMs, why) => {
  expect(() => verifierAt(nowMs).verify(token)).toThrow(why)
  expect(() => verifierAt(nowMs).verify(token)).toThrow('modelgate login')
})

test('a clock that was set back does not refuse tokens that are good', () => {
  expect(verifierAt(startMs - 30_000).verify(tokenOf())).toMatchObject({ userId: 'ada' })
})

test('a token of a sign-in that has ended is refused, whether that is known or has to be asked', async () => {
  expect(() => verifierAt(startMs, () => false).verify(tokenOf())).toThrow('sign-in that has ended')
  const later = verifierAt(startMs, () => Promise.resolve(false)).verify(tokenOf())
  await expect(later).rejects.toThrow('sign-in that has ended')
})

test('refresh tokens are the same each time, name their place, and cannot be made by others', () => {
  const { signInId } = claims
  const text = writeRefreshToken({ signInId, count: 12 }, sign)
  expect(writeRefreshToken({ signInId, count: 12 }, sign)).toBe(text)
  expect(readRefreshToken(text, sign, timingSafeEqual)).toEqual({ signInId, count: 12 })
  for (const changed of [
    text.replace('.12.', '.13.'),
    text.replace('.12.', '.012.'),
    `${text}x`,
    `${text.slice(0, -1)}`,
    writeRefreshToken({ signInId, count: 12 }, other),
    'mgr_',
  ])
    expect(readRefreshToken(changed, sign, timingSafeEqual)).toBeUndefined()
})
