import { describe, expect, test } from 'bun:test'
import type { ChatEvent } from '../core/hub/chat.ts'
import { split, collected } from './thinking-fixture.ts'

describe('thinking in the text', () => {
  const seen = (events: readonly ChatEvent[]) =>
    events.map(event => ('text' in event ? `${event.type}:${event.text}` : event.type))

  test('a long answer without any tag is given out in the end, and costs no more than its length', () => {
    const words = Array.from({ length: 60_000 }, (_, at) => `word ${at} `)
    const fromMs = performance.now()
    expect(collected(split(words, 'tags'))).toEqual(['', words.join('')])
    expect(performance.now() - fromMs).toBeLessThan(1000)
    const endless = split([...Array.from({ length: 20 }, () => 'x'.repeat(100_000)), '</think>'], 'tags')
    expect([endless[0]?.type, endless.length > 5, seen(endless).at(-2)]).toEqual(['text', true, 'text:</think>'])
  })
})
