/** PATCH of SCIM on lists and objects, as RFC 7644 3.5.2 and the directories have it. */
import { expect, test } from 'bun:test'
import { userType } from '../../access/directory/schemas.ts'
import { patched } from './patch.ts'
import type { Operation } from './patch.ts'
import { projection } from './projection.ts'
import type { Values } from './schema.ts'
import { readResource } from './values.ts'

const before: Values = {
  userName: 'a',
  name: { givenName: 'A', familyName: 'B' },
  emails: [
    { value: 'work@x', type: 'work', primary: true },
    { value: 'home@x', type: 'home' },
  ],
}
const after = (...operations: Operation[]) => patched(userType, before, operations)

test('what is changed is a copy', () => {
  const untouched = structuredClone(before)
  after({ op: 'remove', path: 'emails' }, { op: 'replace', path: 'name.givenName', value: 'Z' })
  expect(before).toEqual(untouched)
})

test('an element that becomes the primary one takes the place of the one before', () => {
  const added = after({ op: 'add', path: 'emails', value: [{ value: 'new@x', type: 'other', primary: true }] })
  expect((added.emails as Values[]).map(one => [one.value, one.primary])).toEqual([
    ['work@x', false],
    ['home@x', undefined],
    ['new@x', true],
  ])
  const named = after({ op: 'replace', path: 'emails[type eq "home"].primary', value: 'True' })
  expect((named.emails as Values[]).map(one => one.primary)).toEqual([false, true])
})

test('adding what is there changes nothing, and a list without elements is no value', () => {
  expect(after({ op: 'add', path: 'emails', value: { value: 'home@x', type: 'home' } })).toEqual(before)
  expect(after({ op: 'remove', path: 'emails[value co "@x"]' }).emails).toBeUndefined()
  expect(after({ op: 'replace', path: 'emails', value: [] }).emails).toBeUndefined()
})

test('a filter that fits nothing makes the element that it describes, and is refused where it describes none', () => {
  const made = after({ op: 'replace', path: 'phoneNumbers[type eq "mobile" and primary eq "True"].value', value: '1' })
  expect(made.phoneNumbers).toEqual([{ type: 'mobile', primary: true, value: '1' }])
  expect(after({ op: 'remove', path: 'phoneNumbers[type eq "fax"]' })).toEqual(before)
  expect(() => after({ op: 'replace', path: 'phoneNumbers[type ne "fax"].value', value: '1' })).toThrow(
    'fits the filter',
  )
})

test('a part of an object is set and removed, the rest stays', () => {
  expect(after({ op: 'replace', path: 'name', value: { givenName: 'C' } }).name).toEqual({
    givenName: 'C',
    familyName: 'B',
  })
  expect(after({ op: 'remove', path: 'name.givenName' }).name).toEqual({ familyName: 'B' })
  expect(after({ op: 'replace', path: 'NAME.FAMILYNAME', value: null }).name).toEqual({ givenName: 'A' })
})

test('names of prototypes are no attributes', () => {
  const value = JSON.parse('{"__proto__": {"polluted": 1}, "constructor": 1, "title": "T"}') as Values
  const changed = after({ op: 'add', value })
  expect([changed.title, Object.getPrototypeOf(changed), 'polluted' in changed]).toEqual(['T', Object.prototype, false])
  expect(() => after({ op: 'add', path: '__proto__', value: {} })).toThrow(/path/)
})

test('a resource that is sent keeps what its schemas have, under their names', () => {
  const read = readResource(userType, {
    USERNAME: 'a',
    Active: 'true',
    Id: 'x',
    unknown: 1,
    password: 'p',
    emails: { VALUE: 'e@x', Type: 'work' },
    'URN:ietf:params:scim:schemas:extension:enterprise:2.0:user': { Department: 7 },
  })
  expect(read).toEqual({
    userName: 'a',
    active: true,
    password: 'p',
    emails: [{ value: 'e@x', type: 'work' }],
    'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User': { department: '7' },
  })
  expect(() => readResource(userType, { userName: 'a', emails: Array(101).fill({ value: 'x' }) })).toThrow(
    'more than 100',
  )
})

test('only the attributes that are asked for are shown, and id always', () => {
  const resource = { schemas: [], id: 'x', ...before, meta: {} }
  expect(projection(userType, { attributes: 'name.givenName, emails.value' })(resource)).toEqual({
    schemas: [],
    id: 'x',
    name: { givenName: 'A' },
    emails: [{ value: 'work@x' }, { value: 'home@x' }],
  })
  expect(projection(userType, { excludedAttributes: 'id,emails,name.givenName,meta' })(resource)).toEqual({
    schemas: [],
    id: 'x',
    userName: 'a',
    name: { familyName: 'B' },
  })
})
