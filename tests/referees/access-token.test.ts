/** jose as a referee of the tokens that programs get. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { expect, test } from 'bun:test'
import { jwtVerify, SignJWT } from 'jose'
import { readAccessToken, writeAccessToken } from '../../src/access/access-token.ts'
import type { AccessClaims } from '../../src/access/access-token.ts'
import { randomOf } from './random.ts'

const random = randomOf(53)
const sign = (text: string): Buffer => createHmac('sha256', 'secret-of-the-installation').update(text).digest()
const key = sign('access tokens of programs')
const issuer = 'https://gateway.example.com'
const letters = 'abcXYZ019-_.@ äß東😀"\\'

function claims(): AccessClaims {
  const issuedAtMs = (1_700_000_000 + random.below(1e8)) * 1000
  return {
    userId: `u${random.text(letters, 60)}`,
    signInId: `s${random.text('abc019-', 30)}`,
    teamId: random.below(2) === 0 ? undefined : `t${random.text(letters, 30)}`,
    issuedAtMs,
    expiresAtMs: issuedAtMs + (1 + random.below(1e5)) * 1000,
  }
}

test('300 tokens of ours hold for jose, with the claims that were given', async () => {
  for (let round = 0; round < 300; round++) {
    const given = claims()
    const { payload, protectedHeader } = await jwtVerify(writeAccessToken(given, issuer, sign), key, {
      issuer,
      audience: 'modelgate',
      typ: 'at+jwt',
      algorithms: ['HS256'],
      currentDate: new Date(given.issuedAtMs),
    })
    expect(protectedHeader).toEqual({ alg: 'HS256', typ: 'at+jwt', kid: 'modelgate-sign-in' })
    const { sub, sid, team, iat, exp } = payload
    const { userId, signInId, teamId, issuedAtMs, expiresAtMs } = given
    expect([sub, sid, team, iat, exp]).toEqual([userId, signInId, teamId, issuedAtMs / 1000, expiresAtMs / 1000])
  }
})

test('300 tokens that jose has signed are read, and 300 that it has signed otherwise are not', async () => {
  for (let round = 0; round < 300; round++) {
    const given = claims()
    const { userId: sub, signInId: sid, teamId: team, issuedAtMs, expiresAtMs } = given
    const made = (header: object = {}, more: object = {}) =>
      new SignJWT({ aud: 'modelgate', sub, sid, ...(team !== undefined && { team }), ...more })
        .setIssuedAt(issuedAtMs / 1000)
        .setExpirationTime(expiresAtMs / 1000)
        .setProtectedHeader({ alg: 'HS256', typ: 'at+jwt', kid: 'modelgate-sign-in', ...header })
    const read = (token: string) => readAccessToken(token, sign, timingSafeEqual)
    expect(read(await made().sign(key))).toEqual(given)
    const wrong = await random.of([
      () => made().sign(sign('another')),
      () => made({ alg: 'HS512' }).sign(Buffer.concat([key, key])),
      () => made({ typ: 'JWT' }).sign(key),
      () => made({ kid: 'another' }).sign(key),
      () => made({}, { aud: 'another' }).sign(key),
      () => made({}, { sub: '' }).sign(key),
      async () => `${(await made().sign(key)).slice(0, -2)}AA`,
    ])()
    expect(read(wrong)).toBeUndefined()
  }
})

test('of 500 tokens of which one character is changed, those are read that jose accepts', async () => {
  for (let round = 0; round < 500; round++) {
    const given = claims()
    const token = writeAccessToken(given, issuer, sign)
    const at = random.below(token.length)
    const changed = token.slice(0, at) + random.of([...'ABCabc019-_.']) + token.slice(at + 1)
    const options = { audience: 'modelgate', currentDate: new Date(given.issuedAtMs) }
    const accepted = await jwtVerify(changed, key, options).then(
      () => true,
      () => false,
    )
    expect([changed, readAccessToken(changed, sign, timingSafeEqual) !== undefined]).toEqual([changed, accepted])
  }
})
