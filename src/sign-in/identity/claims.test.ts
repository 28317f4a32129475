/** What claims mean, by the mapping of the configuration. */
import { expect, test } from 'bun:test'
import { IdentityRefusal } from '../../core/sign-in/identity-providers.ts'
import type { ClaimMapping } from '../../core/sign-in/identity-providers.ts'
import { hasAllClaims, joinedClaims, readIdentity } from './claims.ts'
import type { Claims } from './claims.ts'

const plain: ClaimMapping = {
  subject: 'sub',
  email: 'email',
  name: 'name',
  role: null,
  roles: {},
  team: null,
  teams: {},
  organization: null,
  organizations: {},
  required: {},
}
const read = (claims: Claims, mapping: Partial<ClaimMapping> = {}, trustsEmail = false) =>
  readIdentity({ sub: 's', ...claims }, 'https://issuer.example', { ...plain, ...mapping }, trustsEmail)

test('a claim is found by its own name, dots and all, before it is found by its path', () => {
  const nested = { 'https://x.example/roles': ['internal_user'], realm: { roles: ['proxy_admin'] } }
  expect(read(nested, { role: 'https://x.example/roles' }).role).toBe('internal_user')
  expect(read(nested, { role: 'realm.roles' }).role).toBe('proxy_admin')
  expect(read({ ...nested, 'realm.roles': 'internal_user_viewer' }, { role: 'realm.roles' }).role).toBe(
    'internal_user_viewer',
  )
  for (const name of ['constructor', '__proto__.x', 'realm.roles.length', 'realm.constructor.name'])
    expect([name, read(nested, { role: name }).role]).toEqual([name, null])
})

test('of several roles the widest counts, and names that are only inherited are none', () => {
  const roles = { staff: 'internal_user', boss: 'proxy_admin', eye: 'proxy_admin_viewer' } as const
  expect(read({ g: ['staff', 'eye', 'boss'] }, { role: 'g', roles }).role).toBe('proxy_admin')
  expect(read({ g: 'staff' }, { role: 'g', roles }).role).toBe('internal_user')
  for (const g of [['toString'], [], undefined, null, 5])
    expect([g, read({ g }, { role: 'g', roles }).role]).toEqual([g, null])
  expect(read({ g: 'boss' }).role).toBeUndefined()
})

test('groups are mapped to ids, each once; without a map they are ids', () => {
  const groups = ['a', 'b', 'a', 'c', 7]
  expect(read({ groups }, { team: 'groups' }).teams).toEqual(['a', 'b', 'c', '7'])
  expect(read({ groups }, { team: 'groups', teams: { a: 'x', b: 'x', d: 'y' } }).teams).toEqual(['x'])
  expect(read({ scope: 'one two' }, { team: 'scope' }).teams).toEqual(['one', 'two'])
  expect(read({ unit: 'one two' }, { organization: 'unit' }).organizations).toEqual(['one two'])
  expect(read({}, { team: 'groups' }).teams).toEqual([])
  expect(read({ groups }).teams).toBeUndefined()
})

test('a claim that was left out for its length is no empty claim', () => {
  for (const claims of [{ _claim_names: { groups: 'src1' } }, { hasgroups: true }, { hasgroups: 'true' }])
    expect(() => read(claims, { team: 'groups' })).toThrow(/too many groups/)
  expect(read({ hasgroups: true, roles: [] }, { team: 'roles' }).teams).toEqual([])
})

test('an address counts as verified where the provider says so, or its addresses are trusted', () => {
  const email = 'Ada@Example.com'
  const verified = (claims: Claims, trusts = false) => read({ email, ...claims }, {}, trusts).emailVerified
  for (const value of [true, 'true', 1]) expect(verified({ email_verified: value })).toBe(true)
  for (const value of [false, 'false', undefined, null, 'yes', {}, 0])
    expect([value, verified({ email_verified: value })]).toEqual([value, false])
  expect([verified({}, true), verified({ xms_edov: true })]).toEqual([true, true])
  expect(read({ email }).email).toBe('ada@example.com')
  for (const wrong of ['ada', '@example.com', 'a b@example.com', 'a@b@c', `${'a'.repeat(250)}@example.com`, 7])
    expect([wrong, read({ email: wrong, email_verified: true })]).toMatchObject([
      wrong,
      { email: null, emailVerified: false },
    ])
})

test('the subject is a text or a whole number', () => {
  expect([read({ sub: 12 }).subject, read({ oid: 'o' }, { subject: 'oid' }).subject]).toEqual(['12', 'o'])
  for (const sub of ['', undefined, null, 1.5, {}, ['s'], 'x'.repeat(256), 'a\0b'])
    expect(() => read({ sub })).toThrow(IdentityRefusal)
})

test('required claims are compared as texts', () => {
  const required = { groups: ['a', 'b'], employee: ['true'] }
  expect(read({ groups: ['x', 'b'], employee: true }, { required }).subject).toBe('s')
  for (const claims of [{ groups: ['b'] }, { groups: ['x'], employee: true }, { groups: 'ab', employee: 'true' }])
    expect(() => read(claims, { required })).toThrow(/`required_claims`/)
})

test('what is missing is known, so that it can be asked for elsewhere', () => {
  const mapping = { ...plain, role: 'realm.roles', required: { groups: ['a'] } }
  expect(hasAllClaims({ sub: 's', email: 'e', realm: { roles: [] }, groups: [] }, mapping)).toBe(true)
  expect(hasAllClaims({ sub: 's', email: 'e', realm: {}, groups: [] }, mapping)).toBe(false)
  expect(hasAllClaims({ sub: 's', realm: { roles: [] }, groups: [] }, mapping)).toBe(false)
})

test('an address that only looks like that of another person stays another one', () => {
  const of = (email: string) => read({ email, email_verified: true }).email
  expect(of('Kim@Example.com')).toBe('kim@example.com')
  // The Kelvin sign, whose lower case is a plain k.
  expect(of('\u212aim@example.com')).toBe('\u212aim@example.com')
})

test('control characters and halves of characters reach neither names nor addresses nor ids', () => {
  expect(read({ name: 'Ann\u0000 \n\u001b[31mLee\u0085' }).name).toBe('Ann   [31mLee')
  expect(read({ name: '\u0000' }).name).toBeNull()
  expect(read({ name: '\u{1f600}'.repeat(150) }).name).toBe('\u{1f600}'.repeat(100))
  expect(read({ name: `a${'\u{1f600}'.repeat(150)}` }).name).toBe(`a${'\u{1f600}'.repeat(99)}`)
  for (const email of ['a\u0000@x.com', 'a\u0085@x.com', 'a\ud800@x.com'])
    expect([email, read({ email, email_verified: true }).email]).toEqual([email, null])
  for (const sub of ['a\u0000', 'a\u007f', 'a\ud800']) expect(() => read({ sub })).toThrow(IdentityRefusal)
})

test('all values of a long claim count, and one that is too long or cannot be read is no shorter one', () => {
  const groups = Array.from({ length: 10_000 }, (_, at) => `g-${at}`)
  expect(read({ groups }, { team: 'groups', teams: { 'g-9999': 'last' } }).teams).toEqual(['last'])
  expect(() => read({ groups: [...groups, 'one'] }, { team: 'groups' })).toThrow(/has 10001 values, and 10000 are/)
  for (const value of [{ admin: {} }, [{ id: 'a' }], ['a', null], [['a']], 1.5, ['a', 2 ** 60]])
    for (const mapping of [{ team: 'g' }, { organization: 'g' }, { role: 'g' }])
      expect(() => read({ g: value }, mapping)).toThrow(IdentityRefusal)
  expect(() => read({ realm: 'none' }, { role: 'realm.roles' })).toThrow(/'realm' is no object/)
  expect(() => read({ _claim_names: { realm: 'src1' } }, { role: 'realm.roles' })).toThrow(/too many groups/)
  // What is not mapped decides on nothing.
  expect(read({ g: { a: 1 } }).subject).toBe('s')
})

test('that an address is verified is said of `email` alone', () => {
  const claims = {
    preferred_username: 'victim@example.com',
    email: 'own@example.com',
    email_verified: true,
    xms_edov: 1,
  }
  for (const name of ['preferred_username', 'upn', 'profile.email'])
    expect(
      read({ ...claims, upn: 'v@example.com', profile: { email: 'v@example.com' } }, { email: name }),
    ).toMatchObject({ emailVerified: false })
  expect(read(claims, { email: 'preferred_username' }, true).emailVerified).toBe(true)
  expect(read(claims)).toMatchObject({ email: 'own@example.com', emailVerified: true })
})

test('an address keeps the proof that came with it when claims of two sources are joined', () => {
  const verified = (signed: Claims, more: Claims) => {
    const { email, emailVerified } = read(joinedClaims(signed, more))
    return [email, emailVerified]
  }
  const [a, b] = ['a@example.com', 'b@example.com']
  expect(verified({ email: a }, { email: b, email_verified: true })).toEqual([a, false])
  expect(verified({ email: a }, { email: a, email_verified: true })).toEqual([a, true])
  expect(verified({ email: a, email_verified: false }, { email: a, email_verified: true })).toEqual([a, false])
  expect(verified({ email_verified: true }, { email: b })).toEqual([b, false])
  expect(verified({ xms_edov: true }, { email: b })).toEqual([b, false])
  expect(verified({}, { email: b, email_verified: true })).toEqual([b, true])
  expect(verified({ email: a }, { email_verified: true })).toEqual([a, false])
  const left = joinedClaims({ _claim_names: { a: '1' } }, { _claim_names: { groups: '2' } })
  expect(() => read(left, { team: 'groups' })).toThrow(/too many groups/)
})

test('subjects of one claim are none of another claim of the same issuer', () => {
  expect(read({}).issuer).toBe('https://issuer.example')
  expect(read({ preferred_username: 's' }, { subject: 'preferred_username' })).toMatchObject({
    issuer: 'https://issuer.example#preferred_username',
    subject: 's',
  })
})
