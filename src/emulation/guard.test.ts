import { describe, expect, test } from 'bun:test'
import type { ChatEvent, ChatRequest, Message } from '../core/hub/chat.ts'
import { nativeProfile } from '../core/deployment.ts'
import { GatewayError } from '../core/errors.ts'
import type { ModerationsRequest } from '../core/hub/moderations.ts'
import type { ChatAdapter, Target } from '../core/provider.ts'
import { emulate, moderationsByGuard } from './index.ts'

const said = (role: Message['role'], text: string): Message => ({ role, parts: [{ type: 'text', text }] })

function chat(answer: readonly ChatEvent[]): ChatAdapter & { asked?: ChatRequest } {
  const adapter: ChatAdapter & { asked?: ChatRequest } = {
    request: request => ((adapter.asked = request), { head: { url: 'u', headers: {} }, body: {}, dropped: [] }),
    result: () => [...answer],
    reader: () => () => [],
  }
  return adapter
}

function refusal(run: () => unknown): [number, string | null, string] {
  try {
    run()
  } catch (thrown) {
    if (thrown instanceof GatewayError) return [thrown.status, thrown.param, thrown.message]
    throw thrown
  }
  throw new Error('nothing was refused')
}

describe('a guard model', () => {
  const ask = (messages: Message[]) =>
    emulate(
      chat([]),
      { ...nativeProfile, guard: true, toolCalling: 'none' },
      { model: 'g', messages, stream: false, includeUsage: false, extra: { format: 'openai-chat', fields: {} } },
    )

  test('the three input modes pass untouched', () => {
    for (const text of [
      'How do I knit?',
      'Human user:How?\nAI assistant:Like this..',
      'Human user:\nAI assistant:Like this..',
    ])
      expect(ask([said('user', text)])).toBeUndefined()
  })

  test('all else is refused by its field', () => {
    const wrong: [Message[], string][] = [
      [[said('system', 's'), said('user', 'u')], "the role 'system'"],
      [[said('user', 'a'), said('user', 'b')], 'one message, not 2'],
      [[said('user', 'a'), said('assistant', 'b'), said('user', 'c')], "the role 'assistant'"],
      [[said('user', ' ')], 'needs a text'],
      [[], 'not 0'],
      [[{ role: 'user', parts: [{ type: 'image', source: { url: 'http://x' } }] }], 'text only'],
    ]
    for (const [messages, words] of wrong) {
      const [status, param, message] = refusal(() => ask(messages))
      expect([status, param]).toEqual([400, 'messages'])
      expect(message).toContain(words)
    }
  })
})

describe('moderations by a guard model', () => {
  const request = (inputs: ModerationsRequest['inputs']): ModerationsRequest => ({
    model: 'g',
    inputs,
    extra: { format: 'openai-moderations', fields: { x: 1 } },
  })
  const verdict = (text: string) =>
    moderationsByGuard(
      chat([
        { type: 'text', choice: 0, text },
        { type: 'usage', usage: { inputTokens: 3, outputTokens: 1 } },
      ]),
    ).result({}, request([]))

  test('one text becomes one user message; what has no place is named', () => {
    const adapter = chat([])
    expect(
      moderationsByGuard(adapter).request(request([[{ type: 'text', text: 'hi' }]]), {} as Target).dropped,
    ).toEqual(['x'])
    expect(adapter.asked).toMatchObject({ stream: false, messages: [said('user', 'hi')] })
  })

  test('several texts and images are refused by their field', () => {
    const by = moderationsByGuard(chat([]))
    const [status, param, message] = refusal(() =>
      by.request(request([[{ type: 'text', text: 'a' }], [{ type: 'text', text: 'b' }]]), {} as Target),
    )
    expect([status, param]).toEqual([422, 'input'])
    expect(message).toContain('2 entries')
    expect(refusal(() => by.request(request([[{ type: 'image', source: { url: 'u' } }]]), {} as Target))[0]).toBe(422)
  })

  test('safe, unsafe, and neither', () => {
    expect(verdict('safe')).toEqual({
      verdicts: [{ flagged: false, categories: { unsafe: false }, scores: { unsafe: 0 } }],
      usage: { inputTokens: 3, outputTokens: 1 },
    })
    expect(verdict('\n\nunsafe\nS1,S2').verdicts[0]).toEqual({
      flagged: true,
      categories: { unsafe: true },
      scores: { unsafe: 1 },
    })
    expect(refusal(() => verdict('I think it is fine'))[0]).toBe(502)
    expect(refusal(() => verdict('safely'))[0]).toBe(502)
  })
})
