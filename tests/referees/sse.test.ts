/** eventsource-parser as a referee of server-sent events. */
import { createParser } from 'eventsource-parser'
import { expect, test } from 'bun:test'
import { SseSplitter } from '../../src/lib/sse.ts'
import { cut, randomOf } from './random.ts'
import type { Random } from './random.ts'

interface Event {
  event?: string | undefined
  data: string
}

function stream(random: Random): string {
  const line = () =>
    random.of([
      () => `data: ${random.text('ab :äß東{}"', 12)}`,
      () => `data:${random.text('ab: ', 6)}`,
      () => 'data',
      () => `event: ${random.text('abc_', 6)}`,
      () => `: ${random.text('ab ', 6)}`,
      () => `id: ${random.below(9)}`,
      () => `retry: ${random.below(99)}`,
      () => random.text('abc', 4),
    ])()
  const end = random.of(['\n', '\r\n', '\r'])
  const events = Array.from({ length: 1 + random.below(6) }, () =>
    Array.from({ length: 1 + random.below(4) }, () => line() + end).join(''),
  )
  return events.map(one => one + end).join('')
}

function theirs(text: string): Event[] {
  const events: Event[] = []
  const parser = createParser({ onEvent: ({ event, data }) => events.push({ event, data }) })
  // It waits at a CR at the end for the LF that may follow.
  parser.feed(`${text}:\n`)
  return events
}

function ours(text: string, random: Random): Event[] {
  const splitter = new SseSplitter()
  const pieces = cut(Buffer.from(`${text}:\n`, 'utf8'), random)
  return pieces.flatMap(piece => splitter.push(piece)).map(({ event, data }) => ({ event, data }))
}

/**
 * An event whose data is empty is none here: servers keep connections alive so. An `event:` without a name is one, as
 * in the standard, whose name is then `message`: of relays nothing depends on it.
 */
const alike = (events: readonly Event[]) =>
  events.filter(({ data }) => data !== '').map(({ event, data }) => ({ event: event || undefined, data }))

test('1,000 streams have the same events, wherever they are cut and however their lines end', () => {
  const random = randomOf(41)
  let seen = 0
  for (let round = 0; round < 1000; round++) {
    const text = stream(random)
    const expected = alike(theirs(text))
    seen += expected.length
    expect([text, alike(ours(text, random))]).toEqual([text, expected])
  }
  expect(seen).toBeGreaterThan(1000)
})
