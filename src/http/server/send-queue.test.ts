import { expect, test } from 'bun:test'
import { SendQueue } from './send-queue.ts'
import { Taker } from './send-queue-fixture.ts'

/** mulberry32: the same numbers in every run. */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

test('small pieces go out in one call, text as UTF-8', () => {
  const outbox = new SendQueue()
  const taker = new Taker()
  for (const piece of ['a\u00e9\u2603\u{1f600}', Buffer.from('b'), '', new Uint8Array(0), 'c']) outbox.add(piece)
  expect(outbox.size).toBeGreaterThan(0)
  expect(outbox.flush(taker)).toBe('empty')
  expect(outbox.size).toBe(0)
  expect(taker.calls).toBe(1)
  expect(taker.taken.toString()).toBe('a\u00e9\u2603\u{1f600}bc')
  expect(outbox.flush(taker)).toBe('empty')
  expect(taker.calls).toBe(1)
})

test('half a character at the end of a piece becomes three bytes, as its length was announced', () => {
  const outbox = new SendQueue()
  const taker = new Taker()
  outbox.add('x\ud83d')
  outbox.add('\ude00y')
  outbox.flush(taker)
  expect(taker.taken).toEqual(Buffer.concat([Buffer.from('x\ud83d'), Buffer.from('\ude00y')]))
  expect(taker.taken.length).toBe(8)
})

test('a full socket keeps the rest, in order; what is added meanwhile comes after it', () => {
  const outbox = new SendQueue()
  const taker = new Taker(() => 3)
  outbox.add('abcdef')
  expect(outbox.flush(taker)).toBe('waiting')
  expect(outbox.madeProgress).toBe(true)
  expect(outbox.size).toBe(3)
  outbox.add('gh')
  taker.room = () => 0
  expect(outbox.flush(taker)).toBe('waiting')
  expect(outbox.madeProgress).toBe(false)
  expect(outbox.size).toBe(5)
  taker.room = length => length
  expect(outbox.flush(taker)).toBe('empty')
  expect(outbox.madeProgress).toBe(true)
  expect(taker.taken.toString()).toBe('abcdefgh')
})

test('one flush sends at most 256 KiB, so that large answers do not keep the others of a tick waiting', () => {
  const outbox = new SendQueue()
  const taker = new Taker()
  const large = Buffer.from(Array.from({ length: 600_000 }, (_, at) => at % 251))
  outbox.add('head')
  outbox.add(large)
  outbox.add('end')
  const sent: number[] = []
  while (outbox.flush(taker) === 'more') sent.push(large.length + 7 - outbox.size)
  expect(sent).toEqual([256 * 1024, 2 * 256 * 1024])
  expect(taker.taken).toEqual(Buffer.concat([Buffer.from('head'), large, Buffer.from('end')]))
})

test('a closed socket is reported, with anything queued', () => {
  for (const piece of ['small', Buffer.alloc(100_000)]) {
    const outbox = new SendQueue()
    outbox.add(piece)
    expect(outbox.flush(new Taker(() => -1))).toBe('closed')
    outbox.clear()
    expect(outbox.size).toBe(0)
    expect(outbox.flush(new Taker())).toBe('empty')
  }
})

test('any pieces through any socket arrive as they are', () => {
  const random = randomFrom(20261121)
  const lengths = [1, 2, 100, 5000, 32 * 1024, 32 * 1024 + 1, 50_000, 128 * 1024, 200_000]
  const letters = ['x', '\u00e9', '\u2603', '\u{1f600}']
  for (let round = 0; round < 150; round++) {
    const outbox = new SendQueue()
    const taker = new Taker(length => (random() < 0.4 ? length : Math.floor(random() * 40_000)))
    const expected: Buffer[] = []
    for (let i = 0; i < 12; i++) {
      const length = lengths[Math.floor(random() * lengths.length)]!
      const piece = letters[i % 4]!.repeat(length).slice(0, length - (length % 2 && i % 4 === 3 ? 1 : 0))
      const isText = random() < 0.5
      expected.push(Buffer.from(piece))
      outbox.add(isText ? piece : Buffer.from(piece))
      if (random() < 0.5) outbox.flush(taker)
    }
    for (let turns = 0; outbox.flush(taker) !== 'empty'; turns++) if (turns > 10_000) throw new Error('it does not end')
    if (!taker.taken.equals(Buffer.concat(expected))) throw new Error(`round ${round}: other bytes`)
  }
})

test('readers of the same large bytes that stall keep no copy of them', () => {
  const shared = new Uint8Array(new ArrayBuffer(2 * 1024 * 1024)).fill(120)
  const offered = new Set<ArrayBufferLike>()
  const beforeBytes = process.memoryUsage().arrayBuffers
  const queues = Array.from({ length: 300 }, () => {
    const queue = new SendQueue()
    queue.add(shared)
    let room = 100_000
    const socket = {
      write(bytes: Uint8Array, _offset: number, length: number) {
        offered.add(bytes.buffer)
        const taken = Math.min(length, room)
        room -= taken
        return taken
      },
    }
    expect(queue.flush(socket)).toBe('waiting')
    expect(queue.flush(socket)).toBe('waiting')
    return queue
  })
  expect([...offered]).toEqual([shared.buffer])
  expect(queues.every(queue => queue.size === shared.length - 100_000)).toBe(true)
  expect(process.memoryUsage().arrayBuffers - beforeBytes).toBeLessThan(shared.length / 2)
})
