import { expect, test } from 'bun:test'
import { ReceiveBuffer, noBytes } from './receive-buffer.ts'

test('what waits comes first; what was handed out never changes', () => {
  let seed = 11
  const random = (below: number): number => (seed = (seed * 48271) % 2147483647) % below
  const backlog = new ReceiveBuffer()
  const given: Buffer[] = []
  const taken: { view: Buffer; copy: Buffer }[] = []
  for (let i = 0; i < 3000; i++) {
    const chunk = Buffer.alloc(random(i % 100 === 0 ? 100_000 : 50), random(256))
    given.push(chunk)
    const bytes = backlog.join(chunk)
    expect(backlog.length).toBe(0)
    // Some of it is used, the end waits for more.
    const used = bytes.subarray(0, random(bytes.length + 1))
    taken.push({ view: used, copy: Buffer.from(used) })
    backlog.keep(bytes.subarray(used.length))
  }
  const rest = backlog.join(noBytes)
  for (const { view, copy } of taken) if (!view.equals(copy)) throw new Error('it changed')
  expect(Buffer.concat([...taken.map(({ view }) => view), rest]).equals(Buffer.concat(given))).toBe(true)
})

test('a chunk that was not joined is kept as it is, and never written to', () => {
  const backlog = new ReceiveBuffer()
  const chunk = Buffer.from('abcdef')
  backlog.keep(chunk.subarray(0, 3))
  expect(backlog.join(Buffer.from('XYZ')).toString()).toBe('abcXYZ')
  expect(chunk.toString()).toBe('abcdef')
  backlog.keep(chunk)
  backlog.clear()
  expect(backlog.length).toBe(0)
  expect(backlog.join(Buffer.from('new')).toString()).toBe('new')
})
