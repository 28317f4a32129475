import { expect, test } from 'bun:test'
import { RecentHashes } from './recent-hashes.ts'

function hashesAt(start: number) {
  const time = { ms: start }
  const hashes = new RecentHashes({ epochMs: () => 0, monotonicMs: () => time.ms })
  const after = (ms: number) => {
    time.ms += ms
    hashes.forgetOld()
  }
  return { hashes, after }
}

test('a text is forgotten within two minutes of its last use', () => {
  const { hashes, after } = hashesAt(5000)
  hashes.set('sk-one', 'hash-one')
  for (let used = 0; used < 5; used++) {
    after(60_000)
    expect(hashes.get('sk-one')).toBe('hash-one')
  }
  after(60_000)
  after(60_000)
  expect(hashes.get('sk-one')).toBeUndefined()
})

test('asking for old texts more often than once a minute forgets nothing', () => {
  const { hashes, after } = hashesAt(0)
  hashes.set('sk-one', 'hash-one')
  for (let polls = 0; polls < 100; polls++) after(500)
  expect(hashes.get('sk-one')).toBe('hash-one')
})

test('many keys at once do not grow it without end', () => {
  const { hashes } = hashesAt(0)
  for (let key = 0; key < 20_000; key++) hashes.set(`sk-${key}`, `hash-${key}`)
  expect(hashes.get('sk-19999')).toBe('hash-19999')
  expect(hashes.get('sk-0')).toBeUndefined()
})
