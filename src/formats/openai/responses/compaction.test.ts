import { describe, expect, test } from 'bun:test'
import { answerText, compactedConversation, expanded, readCompacted, summaryInput, userMessages } from './compaction.ts'
import type { CompactedConversation } from './compaction.ts'

const user = (content: string) => ({ type: 'message', role: 'user', content })
const assistant = (text: string) => ({
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text, annotations: [] }],
})
const call = (id: string) => ({ type: 'function_call', call_id: id, name: 'read', arguments: `{"file":"${id}"}` })
const result = (id: string) => ({ type: 'function_call_output', call_id: id, output: 'text' })
const text = (item: unknown): string => JSON.stringify(item)

describe('a request for a summary', () => {
  test('has the conversation, and the task at its end', () => {
    const items = [user('mend it'), call('a'), result('a'), assistant('done')]
    const input = summaryInput(items)
    expect(input.slice(0, -1)).toEqual(items)
    expect(input.at(-1)).toMatchObject({ role: 'user' })
    expect(text(input.at(-1))).toContain('Write the summary')
    expect(text(input.at(-1))).not.toContain('still wait')
  })

  test('names calls without a result, which no upstream takes', () => {
    const input = summaryInput([user('mend it'), call('a'), result('a'), call('b')])
    expect(input).toHaveLength(4)
    expect(text(input.at(-1))).toContain('still wait for their results')
  })
})

describe('a compacted conversation', () => {
  const items = [user('first'), call('a'), result('a'), user('last'), call('open')]

  test('keeps the summary and open calls; where it replaces all, the last message of the user', () => {
    const answers = compactedConversation(items, 'SUMMARY', 'answers')
    expect(answers.items).toHaveLength(2)
    expect(text(answers.items[0])).toContain('SUMMARY')
    expect(answers.items[1]).toEqual(call('open'))
    const all = compactedConversation(items, 'SUMMARY', 'all')
    expect(all.items).toEqual([answers.items[0]!, user('last'), call('open')])
    const long = compactedConversation([user('x'.repeat(30_000))], 'SUMMARY', 'all')
    expect(long.items).toHaveLength(1)
  })

  test('of another version is not read', () => {
    const content = Buffer.from(JSON.stringify(compactedConversation(items, 'S', 'all')))
    expect(readCompacted(content).replaces).toBe('all')
    expect(() => readCompacted(Buffer.from('{"version":2}'))).toThrow('version 2')
  })
})

describe('in a later request', () => {
  const item = (name: string) => ({ type: 'compaction', encrypted_content: name })
  const contents: Record<string, CompactedConversation> = {
    all: { version: 1, replaces: 'all', items: [user('ALL')] },
    answers: { version: 1, replaces: 'answers', items: [user('ANSWERS')] },
  }
  const expand = (items: readonly Record<string, unknown>[]) =>
    expanded(items, ({ encrypted_content: name }) => contents[name as string])

  test('the conversation stands in the place of its item, and of what came before it', () => {
    expect(expand([user('old'), assistant('old'), item('all'), user('new')])).toEqual([user('ALL'), user('new')])
    expect(expand([user('kept'), call('x'), result('x'), item('answers'), user('new')])).toEqual([
      user('kept'),
      user('ANSWERS'),
      user('new'),
    ])
  })

  test('the last item counts, also of those by earlier names', () => {
    const earlier = { ...item('answers'), type: 'compaction_summary' }
    expect(expand([item('all'), user('between'), earlier])).toEqual([user('between'), user('ANSWERS')])
  })

  test('what is foreign stays, and without an item nothing is new', () => {
    const foreign = [user('a'), item('foreign'), user('b')]
    expect(expand(foreign) === foreign).toBe(true)
  })
})

test('the text of an answer is that of its messages', () => {
  expect(answerText([{ type: 'reasoning' }, assistant(' one '), assistant('two')])).toBe('one two')
  expect(answerText(undefined)).toBe('')
})

test('the last messages of the user are kept, of up to 64,000 tokens', () => {
  expect(userMessages([user('a'), assistant('b'), user('c')])).toEqual([user('a'), user('c')])
  expect(userMessages([user('a'.repeat(300_000)), user('c')])).toEqual([user('c')])
})
