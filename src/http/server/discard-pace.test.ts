/** Bodies that are not wanted: read on for their clients' sake, at a pace that other clients do not feel. */
import { expect, test } from 'bun:test'
import { FakeConnection, ManualClock, settle, text } from '../../../tests/support/network/http-server-rig.ts'
import { unpacedBytesMax } from './client-limits.ts'
import { DiscardPace } from './discard-pace.ts'

const stepMs = 50

test('one connection reads in a step, each in its turn; those that discard no more cost no turn', () => {
  const clock = new ManualClock()
  const pace = new DiscardPace(clock.wheel)
  const reads: string[] = []
  const connection = (name: string, times: number) => ({
    left: times,
    paused: false,
    pause() {
      this.paused = true
    },
    discardMore() {
      if (this.left === 0) return false
      this.left--
      this.paused = false
      reads.push(name)
      return true
    },
  })
  const all = [connection('a', 9), connection('b', 0), connection('c', 9), connection('d', 9)]
  for (const one of all) pace.wait(one)
  expect(all.map(({ paused }) => paused)).toEqual([true, true, true, true])
  for (const expected of ['a', 'c', 'd', 'a']) {
    clock.advance(stepMs)
    expect(reads.splice(0).join('')).toBe(expected)
    for (const one of all) if (!one.paused) pace.wait(one)
  }
  // Without more of them the clock stands still.
  for (const one of all) one.left = 0
  clock.advance(stepMs)
  expect(reads).toEqual([])
  expect(clock.wheel.size).toBe(0)
})

const post = (length: number): string => `POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: ${length}\r\n\r\n`

test('a small rest is read at once, a large one a read a step, and then the connection goes on', async () => {
  const line = new FakeConnection(() => text('refused', 429))
  const rest = unpacedBytesMax + 300_000
  line.receive(post(rest))
  await settle()
  expect(line.socket.sent).toContain('429')
  line.receive(Buffer.alloc(unpacedBytesMax))
  expect(line.socket.paused).toBe(false)
  for (let read = 0; read < 3; read++) {
    line.receive(Buffer.alloc(100_000))
    // The last one ends the body.
    expect(line.socket.paused).toBe(read < 2)
    line.clock.advance(stepMs)
    expect(line.socket.paused).toBe(false)
  }
  line.receive(post(0))
  expect(line.requests.length).toBe(2)
})

test('a turn that comes when the next body waits for its reader does not let it run ahead', async () => {
  const line: FakeConnection = new FakeConnection(() =>
    line.requests.length === 1 ? text('no', 429) : new Promise(() => {}),
  )
  line.receive(post(unpacedBytesMax + 10))
  await settle()
  line.receive(Buffer.alloc(unpacedBytesMax + 5))
  expect(line.socket.paused).toBe(true)
  // What the system had read before the pause still comes.
  line.receive(`12345${post(1_000_000)}`)
  line.receive(Buffer.alloc(600_000))
  expect([line.requests.length, line.socket.paused]).toEqual([2, true])
  line.clock.advance(stepMs)
  expect(line.socket.paused).toBe(true)
})
