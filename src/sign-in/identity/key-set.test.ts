/** When the keys of an issuer are fetched, and which go on while it is away. */
import { expect, test } from 'bun:test'
import { exportJWK, generateKeyPair, jwtVerify, SignJWT } from 'jose'
import type { JWK } from 'jose'
import { IdentityRefusal } from '../../core/sign-in/identity-providers.ts'
import { KeySet } from './key-set.ts'

async function publicKey(kid: string): Promise<JWK> {
  const { publicKey } = await generateKeyPair('ES256', { extractable: true })
  return { ...(await exportJWK(publicKey)), kid, alg: 'ES256' }
}
const keys = { a: await publicKey('a'), b: await publicKey('b') }
const hour = 3_600_000

/** An issuer whose answers a test sets, and a clock that it moves. */
function issuer() {
  const state = { published: [keys.a] as JWK[], status: 200, asked: 0, nowMs: 0 }
  let finish: (() => void) | undefined
  const set = new KeySet({
    clock: { monotonicMs: () => state.nowMs },
    maxAgeMs: () => 600_000,
    address: async () => 'https://login.example.com/keys',
    async fetch() {
      state.asked++
      const { published, status } = state
      if (finish === undefined) return Response.json({ keys: published }, { status })
      await new Promise<void>(resolve => (finish = resolve))
      return Response.json({ keys: published }, { status })
    },
  })
  const find = (kid: string) =>
    set.verified(async keyOf => keyOf({ alg: 'ES256', kid }, { payload: '', signature: '' }))
  return {
    state,
    find,
    verified: set.verified.bind(set),
    /** From now on answers wait until `finish` is called. */
    hold: () => (finish = () => {}),
    finish: () => finish?.(),
  }
}

const settled = () => new Promise(resolve => setTimeout(resolve, 0))

test('keys are fetched once, at the first token, however many come at once', async () => {
  const { state, find } = issuer()
  await Promise.all(Array.from({ length: 20 }, () => find('a')))
  await find('a')
  expect(state.asked).toBe(1)
})

test('old keys are renewed behind the tokens that they check', async () => {
  const { state, find, hold, finish } = issuer()
  await find('a')
  state.nowMs = 700_000
  hold()
  await find('a')
  while (state.asked < 2) await settled()
  await find('a')
  await settled()
  expect(state.asked).toBe(2)
  finish()
})

test('keys go on for a day while the issuer is away, and no longer', async () => {
  const { state, find } = issuer()
  await find('a')
  state.status = 503
  for (state.nowMs = hour; state.nowMs < 24 * hour; state.nowMs += hour) await find('a')
  state.nowMs = 25 * hour
  await settled()
  await expect(find('a')).rejects.toThrow(IdentityRefusal)
})

test('a key that is not known is looked for at once, and then every 30 seconds at most', async () => {
  const { state, find } = issuer()
  await find('a')
  await expect(find('b')).rejects.toMatchObject({ code: 'ERR_JWKS_NO_MATCHING_KEY' })
  expect(state.asked).toBe(2)
  state.published = [keys.b]
  state.nowMs = 29_000
  await expect(find('b')).rejects.toMatchObject({ code: 'ERR_JWKS_NO_MATCHING_KEY' })
  await settled()
  expect(state.asked).toBe(2)
  state.nowMs = 31_000
  await find('b')
  expect(state.asked).toBe(3)
  // What is not published any more does not count any more.
  await expect(find('a')).rejects.toMatchObject({ code: 'ERR_JWKS_NO_MATCHING_KEY' })
})

test('an issuer that does not answer is asked again after a pause, with a sentence that says why', async () => {
  const { state, find } = issuer()
  state.status = 500
  await expect(find('a')).rejects.toThrow('https://login.example.com/keys answered with status 500')
  await settled()
  await expect(find('a')).rejects.toThrow('status 500')
  await settled()
  expect(state.asked).toBe(1)
  state.status = 200
  state.nowMs = 6000
  await find('a')
  expect(state.asked).toBe(2)
})

test('a shared secret among the keys is none of them', async () => {
  const { state, find } = issuer()
  state.published = [keys.a, { kty: 'oct', kid: 's', k: 'c2VjcmV0', alg: 'HS256' }]
  await find('a')
  await expect(find('s')).rejects.toMatchObject({ code: 'ERR_JWKS_NO_MATCHING_KEY' })
})

test('tokens of a new key that come while the keys are fetched wait for that fetch, and none is refused', async () => {
  const { state, find, hold, finish } = issuer()
  await find('a')
  state.published = [keys.a, keys.b]
  hold()
  const finding = Array.from({ length: 20 }, () => find('b'))
  while (state.asked < 2) await settled()
  finding.push(find('b'))
  await settled()
  finish()
  expect((await Promise.allSettled(finding)).map(one => one.status)).toEqual(finding.map(() => 'fulfilled'))
  expect(state.asked).toBe(2)
})

test('a fetch that began before the key was published is not the last one', async () => {
  const { state, find, hold, finish } = issuer()
  await find('a')
  state.nowMs = 700_000
  hold()
  await find('a')
  while (state.asked < 2) await settled()
  state.published = [keys.b]
  const finding = find('b')
  await settled()
  finish()
  while (state.asked < 3) await settled()
  finish()
  await finding
  expect(state.asked).toBe(3)
})

test('a key that was replaced under its own id is fetched once, however many tokens it has signed', async () => {
  const { state, verified } = issuer()
  const signing = await generateKeyPair('ES256', { extractable: true })
  const token = await new SignJWT({}).setProtectedHeader({ alg: 'ES256', kid: 'a' }).sign(signing.privateKey)
  const check = () => verified(keyOf => jwtVerify(token, keyOf))
  await expect(check()).rejects.toMatchObject({ code: 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED' })
  expect(state.asked).toBe(2)
  state.published = [{ ...(await exportJWK(signing.publicKey)), kid: 'a', alg: 'ES256' }]
  state.nowMs = 31_000
  await Promise.all(Array.from({ length: 12 }, check))
  expect(state.asked).toBe(3)
})

test('a key that is not known while the issuer is away is not called unpublished', async () => {
  const { state, find } = issuer()
  await find('a')
  state.status = 503
  await expect(find('b')).rejects.toThrow('answered with status 503')
  await expect(find('b')).rejects.toThrow('answered with status 503')
  expect(state.asked).toBe(2)
  state.status = 200
  state.published = [keys.a, keys.b]
  state.nowMs = 31_000
  await find('b')
})
