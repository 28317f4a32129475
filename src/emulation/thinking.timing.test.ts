import { describe, expect, test } from 'bun:test'
import type { ChatEvent, ChatRequest } from '../core/chat.ts'
import { nativeProfile } from '../core/deployment.ts'
import type { ModelProfile } from '../core/deployment.ts'
import type { ChatAdapter } from '../core/provider.ts'
import { emulate } from './index.ts'

const request: ChatRequest = {
  model: 'm',
  stream: true,
  includeUsage: false,
  extra: { format: 'openai-chat', fields: {} },
  messages: [{ role: 'user', parts: [{ type: 'text', text: 'hi' }] }],
}

function split(
  pieces: readonly (string | ChatEvent)[],
  thinking: ModelProfile['thinking'],
  more: Partial<ChatRequest> = {},
): ChatEvent[] {
  const events: ChatEvent[] = [
    ...pieces.map((piece): ChatEvent => (typeof piece === 'string' ? { type: 'text', choice: 0, text: piece } : piece)),
    { type: 'finish', choice: 0, reason: 'stop' },
  ]
  const adapter: ChatAdapter = {
    request: () => ({ head: { url: '', headers: {} }, body: {}, dropped: [] }),
    result: () => events,
    reader: () => frame => [events[Number(frame.data)]!],
  }
  return emulate(adapter, { ...nativeProfile, thinking }, { ...request, ...more })!.adapter.result({})
}

function collected(events: readonly ChatEvent[]): [string, string] {
  let reasoning = ''
  let text = ''
  for (const event of events) {
    if (event.type === 'reasoning') {
      expect(text).toBe('')
      reasoning += event.text ?? ''
    } else if (event.type === 'text') text += event.text
  }
  expect(events.at(-1)?.type).toBe('finish')
  return [reasoning, text]
}

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
