/** What a directory's resource says of a user or a team, and what is shown of them. */
import { describe, expect, test } from 'bun:test'
import { teamFields, userFields } from '../../core/tenancy/field-tables.ts'
import { blankRecord } from '../../core/tenancy/fields.ts'
import type { Team, User } from '../../core/tenancy/tenancy.ts'
import {
  activityOf,
  fieldsOfTeam,
  fieldsOfUser,
  isDirectorysAddress,
  nameOfTeam,
  removalOf,
  resourceOfTeam,
  resourceOfUser,
  returnOf,
  shownResourceOfUser,
} from './fields.ts'

const userOf = (more: Partial<User>): User => ({ ...blankRecord(userFields), id: 'u1', ...more }) as User
const teamOf = (more: Partial<Team>): Team => ({ ...blankRecord(teamFields), id: 't1', ...more }) as Team
const address = (value: string, more: object = {}) => ({ value, ...more })

describe('a user as a resource', () => {
  test('is named by its name at the directory, else by its address, else by its id', () => {
    const nameOf = (more: Partial<User>) => resourceOfUser(userOf(more)).userName
    expect(nameOf({ userName: 'Ada', email: 'ada@example.com' })).toBe('Ada')
    expect(nameOf({ email: 'ada@example.com' })).toBe('ada@example.com')
    expect(nameOf({})).toBe('u1')
  })

  test('has only what is known of it, and is active unless it is blocked', () => {
    expect(resourceOfUser(userOf({ userName: 'Ada' }))).toEqual({ userName: 'Ada', active: true })
    const all = {
      userName: 'Ada',
      externalId: 'x1',
      alias: 'Ada L.',
      blocked: true,
      directoryAttributes: { title: 'Dr.' },
    }
    expect(resourceOfUser(userOf(all))).toEqual({
      title: 'Dr.',
      externalId: 'x1',
      userName: 'Ada',
      displayName: 'Ada L.',
      active: false,
    })
  })

  test('keeps the addresses that were sent, until an administrator gives it another', () => {
    const emails = [address('home@example.com'), address('Ada@example.com', { type: 'work' })]
    const sent = { userName: 'ada', directoryAttributes: { emails } }
    expect(resourceOfUser(userOf({ ...sent, email: 'ada@example.com' })).emails).toEqual(emails)
    expect(resourceOfUser(userOf({ ...sent, email: 'new@example.com' })).emails).toEqual([
      { value: 'new@example.com', type: 'work', primary: true },
    ])
  })

  test('does not get back an address that an administrator has taken away or changed to its name', () => {
    const directoryAttributes = { emails: [address('old@example.com')], title: 'Dr.' }
    const taken = resourceOfUser(userOf({ userName: 'ada', directoryAttributes, email: null }))
    expect([taken.emails, taken.title, fieldsOfUser(taken).email]).toEqual([[], 'Dr.', null])
    const named = userOf({ userName: 'Ada@example.com', directoryAttributes, email: 'ada@example.com' })
    expect(fieldsOfUser(resourceOfUser(named)).email).toBe('ada@example.com')
  })

  test('shows an address that is its name among the addresses, without keeping it there', () => {
    const named = userOf({ userName: 'Ada@example.com', email: 'ada@example.com' })
    expect(resourceOfUser(named).emails).toBeUndefined()
    expect(shownResourceOfUser(named).emails).toEqual([{ value: 'ada@example.com', type: 'work', primary: true }])
    expect(shownResourceOfUser(userOf({ userName: 'Ada' })).emails).toBeUndefined()
    const other = userOf({ userName: 'Ada', email: 'ada@example.com', directoryAttributes: { emails: [] } })
    expect(shownResourceOfUser(other).emails).toEqual([{ value: 'ada@example.com', type: 'work', primary: true }])
  })

  test('has the address of the directory only where the directory has said it', () => {
    const is = (more: Partial<User>) => isDirectorysAddress(userOf(more))
    expect(is({ userName: 'Ada@example.com', email: 'ada@example.com' })).toBe(true)
    expect(is({ userName: 'ada', email: 'ada@example.com' })).toBe(false)
    expect(is({ userName: null, email: 'ada@example.com' })).toBe(false)
    expect(is({ userName: 'ada', email: null, directoryAttributes: { emails: [] } })).toBe(false)
    const directoryAttributes = { emails: [address('Ada@example.com')] }
    expect(is({ userName: 'ada', email: 'ada@example.com', directoryAttributes })).toBe(true)
    expect(is({ userName: 'ada@x.org', email: 'ada@x.org', directoryAttributes })).toBe(false)
  })
})

describe('what a resource says of a user', () => {
  const emailOf = (emails: unknown, userName = 'ada') => fieldsOfUser({ userName, emails }).email

  test('the primary address counts, else the one for work, else the first', () => {
    const [a, b] = ['a@example.com', 'b@example.com']
    expect(emailOf([address(a, { type: 'work' }), address('B@Example.com', { primary: true })])).toBe(b)
    expect(emailOf([address(a, { primary: false }), address(b, { type: 'Work' })])).toBe(b)
    expect(emailOf([address(a), address(b)])).toBe(a)
    expect(emailOf([address(''), {}, address(b)])).toBe(b)
    expect(emailOf([])).toBeNull()
    expect(emailOf(undefined, 'Ada@Example.com')).toBe('ada@example.com')
    expect(emailOf(undefined)).toBeNull()
    expect(() => emailOf([address('nobody')])).toThrow("emails: 'nobody' is no e-mail address")
  })

  test('the name for people is the one that is sent, else the whole name, else its parts', () => {
    const aliasOf = (more: object) => fieldsOfUser({ userName: 'ada', ...more }).alias
    const name = { givenName: 'Ada', familyName: 'Lovelace' }
    expect(aliasOf({ displayName: 'A.', name })).toBe('A.')
    expect(aliasOf({ name: { ...name, formatted: 'Countess Ada' } })).toBe('Countess Ada')
    expect(aliasOf({ name })).toBe('Ada Lovelace')
    expect(aliasOf({ name: { givenName: '', familyName: 'Lovelace' } })).toBe('Lovelace')
    expect([aliasOf({ name: {} }), aliasOf({ displayName: '' }), aliasOf({})]).toEqual([null, null, null])
  })

  test('a password and whether it is active are not kept; everything else is', () => {
    const read = fieldsOfUser({ userName: 'ada', externalId: 'x1', active: true, password: 'secret', title: 'Dr.' })
    expect(read).toMatchObject({ userName: 'ada', externalId: 'x1', directoryAttributes: { title: 'Dr.' } })
    expect(Object.keys(read.directoryAttributes)).toEqual(['title'])
    expect(fieldsOfUser({ userName: 'ada', externalId: '' }).externalId).toBeNull()
    expect(fieldsOfUser({ userName: 'ada' }).externalId).toBeNull()
  })

  test('names that no list could print, and more than 32 KiB of attributes, are refused', () => {
    expect(() => fieldsOfUser({})).toThrow('userName is missing')
    expect(() => fieldsOfUser({ userName: 'a\nb' })).toThrow('userName must not hold control characters')
    // `{"title":"..."}` has twelve characters beside the text.
    const withTitle = (length: number) => fieldsOfUser({ userName: 'ada', title: 'x'.repeat(length) })
    expect(withTitle(32_768 - 12).directoryAttributes).toHaveProperty('title')
    expect(() => withTitle(32_768 - 11)).toThrow('more than 32768 characters')
  })
})

test('a team is named by its alias, and keeps what was sent but its members', () => {
  const fields = fieldsOfTeam({ displayName: 'Red', externalId: 'x1', members: [{ value: 'u1' }], note: 'n' })
  expect(fields).toEqual({ alias: 'Red', externalId: 'x1', directoryAttributes: { note: 'n' } })
  expect(resourceOfTeam(teamOf(fields))).toEqual({ displayName: 'Red', externalId: 'x1', note: 'n' })
  expect(resourceOfTeam(teamOf({ alias: null }))).toEqual({ displayName: 't1' })
  expect(nameOfTeam(teamOf({ alias: 'Red' }))).toBe('Red')
})

test('a directory unblocks only what it has blocked itself', () => {
  const of = (blocked: boolean, blockedByDirectory: boolean) => ({ blocked, blockedByDirectory })
  expect(activityOf(of(false, false), false)).toEqual(of(true, true))
  expect(activityOf(of(true, false), false)).toEqual({})
  expect(activityOf(of(true, true), true)).toEqual(of(false, false))
  expect(activityOf(of(true, false), true)).toEqual({})
  expect(activityOf(of(false, false), true)).toEqual({})
  expect(activityOf(of(true, true), undefined)).toEqual({})
  expect(removalOf(of(false, false), 7)).toEqual({ ...of(true, true), removedAtMs: 7 })
  expect(returnOf(of(true, true))).toEqual({ ...of(false, false), removedAtMs: null })
  expect(returnOf(of(true, false))).toEqual({ removedAtMs: null })
})
