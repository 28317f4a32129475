import { expect, test } from 'bun:test'
import type { ChatEvent, ChatRequest, Tool } from '../core/chat.ts'
import { nativeProfile } from '../core/deployment.ts'
import type { ModelProfile } from '../core/deployment.ts'
import type { ChatAdapter } from '../core/provider.ts'
import { emulate } from './index.ts'

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

function ask(more: Partial<ChatRequest> = {}): ChatRequest {
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

const prompted: ModelProfile = { ...nativeProfile, toolCalling: 'prompted' }

/** An upstream that says `pieces` and shows what it was asked. */
function upstream(
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

interface Collected {
  text: string
  reasoning: string
  calls: { name: string; arguments: unknown }[]
  finish: string
}

function collect(events: readonly ChatEvent[]): Collected {
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

test('a long plain answer in small pieces is quick', () => {
  const text = '```python\nprint("x")\n[1]<a>`b`\n'.repeat(8000)
  const from = performance.now()
  expect(collect(emulate(upstream(text.match(/[\s\S]{1,4}/g)!), prompted, ask())!.adapter.result({})).text).toBe(text)
  const open = '```json\n{"name":"get_weather","arguments":{"city":"' + 'x'.repeat(300_000)
  expect(collect(emulate(upstream(open.match(/.{1,5}|\n/g)!), prompted, ask())!.adapter.result({})).text).toBe(open)
  expect(performance.now() - from).toBeLessThan(2500)
})
