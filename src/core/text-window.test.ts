import { expect, test } from 'bun:test'
import type { ChatEvent } from './chat.ts'
import { windowedFilter } from './text-window.ts'

function filtered(events: readonly ChatEvent[]): ChatEvent[] {
  const filter = windowedFilter(6, text => text.replaceAll('secret', '***'))
  return [...events.flatMap(event => [...filter.event(event)]), ...filter.end()]
}

test('an empty text of another kind does not end the one that is looked through', () => {
  const told = filtered([
    { type: 'text', choice: 0, text: 'sec' },
    { type: 'refusal', choice: 0, text: '' },
    { type: 'audio', choice: 0, transcript: '' },
    { type: 'text', choice: 0, text: 'ret' },
    { type: 'finish', choice: 0, reason: 'stop' },
  ])
  expect(told).toEqual([
    { type: 'text', choice: 0, text: '***' },
    { type: 'finish', choice: 0, reason: 'stop' },
  ])
})

test('the id of a spoken answer is kept, though it comes with a transcript and no sound', () => {
  const told = filtered([
    { type: 'audio', choice: 0, id: 'audio_1', transcript: 'a secret' },
    { type: 'finish', choice: 0, reason: 'stop' },
  ])
  expect(told.slice(0, 2)).toMatchObject([{ type: 'audio', id: 'audio_1' }, { transcript: 'a ***' }])
})
