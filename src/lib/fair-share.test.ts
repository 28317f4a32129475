import { expect, test } from 'bun:test'
import { FairShare } from './fair-share.ts'

const takeAll = (share: FairShare, owner: string): number => {
  let taken = 0
  while (share.take(owner)) taken++
  return taken
}

test('one owner takes half, further ones get less, and a new one always finds a place', () => {
  const share = new FairShare(1000)
  expect(['a', 'b', 'c'].map(owner => takeAll(share, owner))).toEqual([500, 250, 125])
  for (let at = 0; at < 100; at++) expect(share.take(`new-${at}`)).toBe(true)
})

test('owners that take and release in turn end with equal shares', () => {
  const share = new FairShare(100)
  takeAll(share, 'a')
  for (let round = 0; round < 200; round++)
    for (const owner of ['a', 'b', 'c']) {
      if (share.heldBy(owner) > 0) share.release(owner)
      takeAll(share, owner)
    }
  expect(['a', 'b', 'c'].map(owner => share.heldBy(owner))).toEqual([25, 25, 25])
  expect(share.taken).toBe(75)
})

test('places are bounded, and released ones are free for all', () => {
  const share = new FairShare(4)
  expect(['a', 'b', 'c', 'd', 'e'].map(owner => share.take(owner))).toEqual([true, true, true, true, false])
  share.release('b')
  expect([share.take('a'), share.take('e')]).toEqual([false, true])
})
