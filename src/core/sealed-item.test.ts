import { expect, test } from 'bun:test'
import { KeyRing } from '../lib/encryption.ts'
import { Secret } from '../lib/secret.ts'
import { bareKey } from './caller.ts'
import { isSealedItem, SealedItems, sealingTenantOf } from './sealed-item.ts'

const ring = (letter: string): KeyRing => new KeyRing([new Secret(letter.repeat(32))])
const items = new SealedItems(ring('a'), 'compaction', 'compaction item')

const faultOf = (item: string, tenant = 'team:1', of = items): string => {
  const found = of.open(item, tenant)
  return 'fault' in found ? found.fault : 'none'
}

test('an item opens for its tenant and purpose, at every replica with the key', () => {
  const item = items.seal('what was said', 'team:1')
  expect(item).toMatch(/^mg1\.compaction\.v1\.[0-9a-f]{8}\.[\w-]+$/)
  expect(isSealedItem(item)).toBe(true)
  const replica = new SealedItems(ring('a'), 'compaction', 'compaction item')
  expect(replica.opened(item, 'team:1', 'input').toString()).toBe('what was said')
})

test('an item opens for nobody else, and says why', () => {
  const item = items.seal('x', 'team:1')
  expect(faultOf(item, 'team:2')).toBe('damaged')
  expect(faultOf(item, 'team:1', new SealedItems(ring('a'), 'stream', 'stream'))).toBe('other-purpose')
  expect(faultOf(item, 'team:1', new SealedItems(ring('b'), 'compaction', 'item'))).toBe('unknown-key')
  expect(faultOf(item.replace('.compaction.', '.stream.'), 'team:1', new SealedItems(ring('a'), 'stream', 's'))).toBe(
    'damaged',
  )
})

test.each([
  ['', 'foreign'],
  ['gAAAAABpZ', 'foreign'],
  ['a.b.c.d.e', 'foreign'],
  ['mg2.compaction.v1.00000000.AAAA', 'other-version'],
  ['mg1.compaction.v1', 'damaged'],
  ['mg1.compaction.v1.00000000.AAAA', 'unknown-key'],
  ['mg1.compaction.v9.00000000.AAAA', 'damaged'],
])('of the item %p it says %p', (item, fault) => {
  expect(faultOf(item)).toBe(fault)
})

test('an item with any sign changed does not open', () => {
  const item = items.seal('x'.repeat(40), 'team:1')
  for (let at = 0; at < item.length; at++) {
    // The last sign of base64url may hold bits that belong to no byte.
    if (at === item.length - 1) continue
    const other = item[at] === 'A' ? 'B' : 'A'
    expect(faultOf(item.slice(0, at) + other + item.slice(at + 1))).not.toBe('none')
  }
})

test('a fault is a refusal of the request that names its field', () => {
  expect(() => items.opened('foreign', 'team:1', 'input[2].encrypted_content')).toThrow(
    expect.objectContaining({
      kind: 'invalid-request',
      message: 'the compaction item was not made by this gateway; begin again without it',
      param: 'input[2].encrypted_content',
    }),
  )
})

test.each([
  [{ teamId: 't', userId: 'u' }, 'team:t'],
  [{ userId: 'u' }, 'user:u'],
  [{}, 'key:k'],
  [{ objectsOwner: 'k/2' }, 'key:k/2'],
])('a key with %p seals for %p', (fields, tenant) => {
  expect(sealingTenantOf({ key: { ...bareKey, id: 'k', ...fields } })).toBe(tenant)
})
