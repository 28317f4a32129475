import { expect, test } from 'bun:test'
import { SendQueue } from './send-queue.ts'
import { Taker } from './send-queue-fixture.ts'

test('20 MB are never in memory twice, and a hundred thousand crumbs take few calls', () => {
  const outbox = new SendQueue()
  const taker = new Taker(length => Math.min(length, 64 * 1024))
  const large = Buffer.alloc(20_000_000, 'x')
  outbox.add(large)
  while (outbox.flush(taker) !== 'empty');
  // Offered from where it is: a copy would be offered in smaller parts.
  expect(taker.largest).toBe(256 * 1024)
  expect(taker.taken.equals(large)).toBe(true)
  const crumbs = new Taker()
  for (let i = 0; i < 100_000; i++) outbox.add(i % 2 ? 'abc' : Buffer.from('d'))
  const startMs = performance.now()
  expect(outbox.flush(crumbs)).toBe('empty')
  expect(crumbs.taken.length).toBe(200_000)
  expect(crumbs.calls).toBeLessThan(10)
  expect(performance.now() - startMs).toBeLessThan(500)
})
