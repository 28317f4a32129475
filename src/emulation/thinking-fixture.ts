/** Answers with thinking in them, for its tests. */
import { expect } from 'bun:test'
import type { ChatEvent, ChatRequest } from '../core/hub/chat.ts'
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

/** The events of an answer of `pieces`, with the thinking of a model of this kind taken out of its text. */
export function split(
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

/** Thinking and text of an answer in which all thinking comes first. */
export function collected(events: readonly ChatEvent[]): [string, string] {
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
