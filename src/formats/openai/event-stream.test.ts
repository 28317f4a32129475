import { expect, test } from 'bun:test'
import { EventStream } from './event-stream.ts'

test('a client that does not read is cut at the bound, once', async () => {
  let stops = 0
  const events = new EventStream({ unreadBytesMax: 1000, onStop: () => stops++ })
  const reader = (events.answer('id').body as ReadableStream<Uint8Array>).getReader()
  for (let count = 0; count < 3; count++) {
    events.emit('rows', { text: 'x'.repeat(600) })
    events.endOfTick()
  }
  events.end()
  expect(stops).toBe(1)
  expect(reader.read()).rejects.toThrow('does not read')
})

test('a client that leaves ends its stream at once', async () => {
  let stops = 0
  const events = new EventStream({ onStop: () => stops++ })
  await (events.answer('id').body as ReadableStream<Uint8Array>).cancel()
  events.emit('rows', {})
  events.end()
  expect(stops).toBe(1)
})
