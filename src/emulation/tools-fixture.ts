/** Tools, requests and upstreams that answer with given texts, for the tests of calls in text. */
import { expect } from 'bun:test'
import type { ChatEvent, ChatRequest, Tool } from '../core/hub/chat.ts'
import { nativeProfile } from '../core/deployment.ts'
import type { ModelProfile } from '../core/deployment.ts'
import type { ChatAdapter } from '../core/provider.ts'

/** With parameters; `ask` offers another one that has none. */
const weather: Tool = {
  name: 'get_weather',
  description: 'The weather of a city',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' }, days: { type: 'integer' } },
    required: ['city'],
  },
}

const clock: Tool = { name: 'get_time' }

/** A request with both tools. */
export function ask(more: Partial<ChatRequest> = {}): ChatRequest {
  return {
    model: 'm',
    stream: false,
    includeUsage: false,
    tools: [weather, clock],
    messages: [{ role: 'user', parts: [{ type: 'text', text: 'Weather?' }] }],
    extra: { format: 'openai-chat', fields: {} },
    ...more,
  }
}

/** A model that knows tools from its prompt alone. */
export const prompted: ModelProfile = { ...nativeProfile, toolCalling: 'prompted' }

/** An upstream that says `pieces` and shows what it was asked. */
export function upstream(
  pieces: readonly (string | ChatEvent)[],
  reason: 'stop' | 'length' = 'stop',
): ChatAdapter & { asked?: ChatRequest } {
  const events: ChatEvent[] = [
    { type: 'start', id: 'x', model: 'up' },
    ...pieces.map((piece): ChatEvent => (typeof piece === 'string' ? { type: 'text', choice: 0, text: piece } : piece)),
    { type: 'finish', choice: 0, reason },
    { type: 'usage', usage: { inputTokens: 1, outputTokens: 2 } },
  ]
  const adapter: ChatAdapter & { asked?: ChatRequest } = {
    request(request) {
      adapter.asked = request
      return { head: { url: '', headers: {} }, body: {}, dropped: [] }
    },
    result: () => events,
    reader: () => frame => [events[Number(frame.data)]!],
  }
  return adapter
}

/** An answer as its client sees it. */
export interface Collected {
  text: string
  reasoning: string
  calls: { name: string; arguments: unknown }[]
  finish: string
}

/** Joins an answer; calls have to be numbered one by one, with ids. */
export function collect(events: readonly ChatEvent[]): Collected {
  const collected: Collected = { text: '', reasoning: '', calls: [], finish: '' }
  const written: string[] = []
  for (const event of events) {
    if (event.type === 'text') collected.text += event.text
    if (event.type === 'reasoning') collected.reasoning += event.text ?? ''
    if (event.type === 'tool-call-start') {
      expect(event.index).toBe(collected.calls.length)
      expect(event.id).toMatch(/^call_[0-9a-f]{24}$/)
      collected.calls.push({ name: event.name, arguments: undefined })
    }
    if (event.type === 'tool-call-arguments') written[event.index] = (written[event.index] ?? '') + event.fragment
    if (event.type === 'finish') collected.finish = event.reason
  }
  written.forEach((text, at) => (collected.calls[at]!.arguments = JSON.parse(text)))
  return collected
}
