import { describe, expect, test } from 'bun:test'
import type { Json } from '../../lib/json/json-values.ts'
import {
  clearedMessages,
  dueCompaction,
  editsOf,
  expandedMessages,
  messagesAfter,
  summaryMessages,
} from './context-management.ts'

const count = (messages: readonly Json[]): number => JSON.stringify(messages).length
const user = (text: string): Json => ({ role: 'user', content: [{ type: 'text', text }] })
const use = (id: string, name = 'read'): Json => ({ type: 'tool_use', id, name, input: { path: id } })
const result = (id: string): Json => ({ type: 'tool_result', tool_use_id: id, content: `long result of ${id}` })
const round = (id: string, name?: string): Json[] => [
  { role: 'assistant', content: [{ type: 'thinking', thinking: 't', signature: 's' }, use(id, name)] },
  { role: 'user', content: [result(id)] },
]
const session = [user('task'), ...round('a'), ...round('b', 'search'), ...round('c'), ...round('d')]
const clear = (edit: Json) => clearedMessages(session, [{ type: 'clear_tool_uses_20250919', ...edit }], count)
const resultsOf = (messages: readonly Json[]): string[] =>
  messages.flatMap(({ content }) => (content as Json[]).flatMap(({ content: text }) => (text as string) ?? []))

describe('old results of tools', () => {
  test('are cleared but for the last ones, from a number of tokens or calls on', () => {
    const { messages, applied } = clear({
      trigger: { type: 'tool_uses', value: 3 },
      keep: { type: 'tool_uses', value: 2 },
    })
    expect(resultsOf(messages)).toEqual([
      '[Old tool result content cleared]',
      '[Old tool result content cleared]',
      'long result of c',
      'long result of d',
    ])
    expect(applied).toMatchObject([{ type: 'clear_tool_uses_20250919', cleared_tool_uses: 2 }])
    expect(clear({ trigger: { type: 'tool_uses', value: 4 } }).applied).toEqual([])
    expect(clear({}).messages).toBe(session)
    expect(clear({ trigger: { type: 'input_tokens', value: 10 } }).applied).toMatchObject([{ cleared_tool_uses: 1 }])
  })

  test('stay of tools that are excluded, and where too little would be cleared; inputs go where that is asked', () => {
    const trigger = { type: 'tool_uses', value: 1 }
    const keep = { type: 'tool_uses', value: 1 }
    const excluded = clear({ trigger, keep, exclude_tools: ['search'], clear_tool_inputs: true })
    expect(excluded.applied).toMatchObject([{ cleared_tool_uses: 2 }])
    expect(resultsOf(excluded.messages)[1]).toBe('long result of b')
    expect(JSON.stringify(excluded.messages)).not.toContain('"path":"a"')
    expect(JSON.stringify(excluded.messages)).toContain('"path":"b"')
    expect(clear({ trigger, keep, clear_at_least: { type: 'input_tokens', value: 10_000 } }).messages).toBe(session)
  })
})

test('old thinking is cleared but for the last turns', () => {
  const thinking = (keep?: unknown) => clearedMessages(session, [{ type: 'clear_thinking_20251015', keep }], count)
  expect(thinking().applied).toMatchObject([{ cleared_thinking_turns: 3 }])
  expect(JSON.stringify(thinking().messages).match(/"thinking":"t"/g)).toHaveLength(1)
  expect(thinking({ type: 'thinking_turns', value: 2 }).applied).toMatchObject([{ cleared_thinking_turns: 2 }])
  expect(thinking('all').applied).toEqual([])
})

describe('compaction', () => {
  const edits = editsOf({ edits: [{ type: 'compact_20260112', trigger: { type: 'input_tokens', value: 100 } }] })

  test('is due from its threshold on', () => {
    expect(dueCompaction(session, edits, count)).toEqual({ pauses: false, instructions: '' })
    expect(dueCompaction([user('x')], edits, () => 99)).toBeUndefined()
    expect(dueCompaction(session, editsOf({ edits: [{ type: 'compact_20260112' }] }), () => 149_999)).toBeUndefined()
    expect(dueCompaction(session, editsOf(null), count)).toBeUndefined()
  })

  test('asks for a summary without calls that have no result, and names them', () => {
    const asked = summaryMessages([user('task'), { role: 'assistant', content: [use('open')] }], 'Keep the dates.')
    expect(asked).toHaveLength(2)
    const text = JSON.stringify(asked[1])
    expect(text).toContain('still wait')
    expect(text).toContain('Keep the dates.')
  })

  test('a block stands for what came before it, and one without content for nothing', () => {
    const compacted = {
      role: 'assistant',
      content: [
        { type: 'compaction', content: 'SUM' },
        { type: 'text', text: 'on' },
      ],
    }
    const messages = expandedMessages([user('old'), compacted, user('new')])
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user'])
    expect(JSON.stringify(messages)).toContain('SUM')
    expect(JSON.stringify(messages)).not.toContain('old')
    const failed = {
      role: 'assistant',
      content: [
        { type: 'compaction', content: null },
        { type: 'text', text: 'on' },
      ],
    }
    expect(JSON.stringify(expandedMessages([user('old'), failed]))).toContain('old')
    expect(expandedMessages(session)).toBe(session)
  })

  test('goes on with the last question, but not with a result', () => {
    expect(messagesAfter([user('a'), user('b')], 'SUM')[1]).toEqual(user('b'))
    expect(messagesAfter(session, 'SUM')).toHaveLength(1)
  })
})
