import { expect, test } from 'bun:test'
import { chatRequest, targetOf } from '../../../tests/support/provider-rig.ts'
import type { Message, Part } from '../../core/hub/chat.ts'
import { providers } from '../index.ts'
import { joinTexts } from './texts.ts'

test('no word runs into the next, and nothing is added where white space stands already', () => {
  expect(joinTexts(['one', 'two', 'three'])).toBe('one\ntwo\nthree')
  expect(joinTexts(['one ', 'two', '\nthree', '\u00a0four'])).toBe('one two\nthree\u00a0four')
  expect(joinTexts(['', 'one', '', 'two', ''])).toBe('one\ntwo')
  expect([joinTexts([]), joinTexts(['']), joinTexts(['  one\n'])]).toEqual(['', '', '  one\n'])
})

const text = (...texts: string[]): Part[] => texts.map(one => ({ type: 'text', text: one }))
const conversation: Message[] = [
  { role: 'system', parts: text('Be brief.', 'Be kind.') },
  { role: 'user', parts: text('Weather', '', 'in Paris?') },
  {
    role: 'assistant',
    parts: [...text('Let me', 'look.'), { type: 'tool-call', id: 'abcdefghi', name: 'f', arguments: '{}' }],
  },
  { role: 'tool', parts: [{ type: 'tool-result', callId: 'abcdefghi', name: 'f', parts: text('22 °', 'sunny') }] },
  { role: 'assistant', parts: text('It is', 'sunny.') },
  { role: 'user', parts: text('Thanks.') },
]
const parts = (...texts: string[]) => texts.map(one => ({ type: 'text', text: one }))

test.each<[string, unknown[]]>([
  [
    'deepseek',
    ['Be brief.\nBe kind.', 'Weather\nin Paris?', 'Let me\nlook.', '22 °\nsunny', 'It is\nsunny.', 'Thanks.'],
  ],
  ['ollama', ['Be brief.\nBe kind.', 'Weather\nin Paris?', 'Let me\nlook.', '22 °\nsunny', 'It is\nsunny.', 'Thanks.']],
  [
    'mistral',
    [
      parts('Be brief.', 'Be kind.'),
      parts('Weather', 'in Paris?'),
      parts('Let me', 'look.'),
      parts('22 °', 'sunny'),
      parts('It is', 'sunny.'),
      'Thanks.',
    ],
  ],
  // What is said beside calls is a plan, which is a string.
  [
    'cohere',
    [
      parts('Be brief.', 'Be kind.'),
      parts('Weather', 'in Paris?'),
      'Let me\nlook.',
      parts('22 °', 'sunny'),
      parts('It is', 'sunny.'),
      'Thanks.',
    ],
  ],
])('%s: several texts of one message', (name, expected) => {
  const provider = providers.get(name)!
  const { body } = provider.chat!.request(chatRequest({ messages: conversation }), targetOf(provider))
  const { messages } = body as { messages: { content?: unknown; tool_plan?: unknown }[] }
  expect(messages.map(message => message.content ?? message.tool_plan)).toEqual(expected)
})

test("Gemini: the texts of a tool's result are one text inside of its object", () => {
  const provider = providers.get('gemini')!
  const { body } = provider.chat!.request(
    chatRequest({ messages: conversation }),
    targetOf(provider, { model: 'gemini-2.5-flash' }),
  )
  expect(JSON.stringify(body)).toContain('"response":{"output":"22 °\\nsunny"}')
})
