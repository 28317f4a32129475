/** Operations on the members of a group, as directories send them. */
import { describe, expect, test } from 'bun:test'
import type { Operation } from '../../lib/scim/patch.ts'
import { memberChanges, memberIds, splitOperations } from './members.ts'

const split = (...operations: object[]) => splitOperations(operations as Operation[])
const users = (...ids: string[]) => ids.map(value => ({ value }))
/** Who is added and removed where a, b and c are there. */
const changesOf = (...operations: object[]) => memberChanges(split(...operations).steps, new Set(['a', 'b', 'c']))

describe('members', () => {
  test('are added, removed and set, by a path or by the value', () => {
    expect(changesOf({ op: 'add', path: 'members', value: users('c', 'd', 'd') })).toEqual({
      added: ['d'],
      removed: [],
    })
    expect(changesOf({ op: 'remove', path: 'members', value: users('a', 'x') })).toEqual({ added: [], removed: ['a'] })
    expect(changesOf({ op: 'remove', path: 'members' })).toEqual({ added: [], removed: ['a', 'b', 'c'] })
    expect(changesOf({ op: 'replace', path: 'members', value: users('b', 'd') })).toEqual({
      added: ['d'],
      removed: ['a', 'c'],
    })
    expect(changesOf({ op: 'add', value: { members: users('d') } })).toEqual({ added: ['d'], removed: [] })
    expect(changesOf({ op: 'replace', value: { Members: users('a') } })).toEqual({ added: [], removed: ['b', 'c'] })
  })

  test('are removed by a filter', () => {
    const remove = (filter: string) => changesOf({ op: 'remove', path: `members[${filter}]` }).removed
    expect(remove('value eq "a"')).toEqual(['a'])
    expect(remove('value ne "a"')).toEqual(['b', 'c'])
    expect(remove('type eq "User"')).toEqual(['a', 'b', 'c'])
    expect(remove('value eq "a" or value eq "c"')).toEqual(['a', 'c'])
    expect(split({ op: 'remove', path: 'members[value eq "a"]' }).steps).toEqual([{ kind: 'remove', userIds: ['a'] }])
    expect(() => changesOf({ op: 'add', path: 'members[value eq "a"]' })).toThrow('a filter only removes')
  })

  test('one step follows the other', () => {
    const [add, remove] = [users('d'), users('d', 'a')]
    expect(
      changesOf({ op: 'add', path: 'members', value: add }, { op: 'remove', path: 'members', value: remove }),
    ).toEqual({ added: [], removed: ['a'] })
  })

  test('only their ids can be changed', () => {
    expect(changesOf({ op: 'add', path: 'members.value', value: users('d') }).added).toEqual(['d'])
    expect(() => changesOf({ op: 'add', path: 'members.display', value: 'D' })).toThrow("'display' cannot be changed")
  })

  test('are users with an id, each once', () => {
    expect(memberIds([...users('a', 'b', 'a'), { value: 'c', type: 'User' }])).toEqual(['a', 'b', 'c'])
    expect(memberIds(undefined)).toEqual([])
    expect(() => memberIds(users(''))).toThrow('each needs the id of a user')
    expect(() => memberIds([{ display: 'a' }])).toThrow('each needs the id of a user')
    expect(() => memberIds([{ value: 'g', type: 'Group' }])).toThrow("'g' is a group")
  })
})

test('other operations are left as they are, without the members in their values', () => {
  const rename = { op: 'replace', path: 'displayName', value: 'Red' }
  expect(split(rename)).toEqual({ steps: [], others: [rename as Operation] })
  expect(split({ op: 'replace', value: { displayName: 'Red', members: users('a') } })).toEqual({
    steps: [{ kind: 'set', userIds: ['a'] }],
    others: [{ op: 'replace', value: { displayName: 'Red' } } as Operation],
  })
  expect(split({ op: 'add', value: { members: users('a') } }).others).toEqual([])
  expect(split({ op: 'remove' }, { op: 'add', path: 'membersOfHonour', value: 1 }).steps).toEqual([])
})
