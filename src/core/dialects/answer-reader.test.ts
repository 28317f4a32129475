import { expect, test } from 'bun:test'
import { StreamReader, wholeEvents } from './answer-reader.ts'
import type { AnswerDialect } from './answer-reader.ts'

const dialect = {
  result: (body: { words: string }) => {
    if (body.words === undefined) throw new Error('no answer')
    return [{ type: 'text', text: body.words }]
  },
  reader: () => (frame: { data: string }) => {
    if (frame.data.includes('bad')) throw new Error('unreadable')
    return [{ type: 'text', text: frame.data }]
  },
} as unknown as AnswerDialect
const texts = (events: readonly unknown[] | undefined) => events?.map(one => (one as { text: string }).text)

test('a whole answer is read from text or bytes; one that cannot be is none', () => {
  for (const body of ['{"words":"hé"}', Buffer.from('{"words":"hé"}')])
    expect(texts(wholeEvents(dialect, body))).toEqual(['hé'])
  expect([wholeEvents(dialect, '{}'), wholeEvents(dialect, 'no JSON')]).toEqual([undefined, undefined])
})

test('a stream is read piece by piece, as events or as elements by its type', () => {
  const events = new StreamReader(dialect, 'Text/Event-Stream; charset=utf-8')
  expect(texts(events.push('data: a\n\nda'))).toEqual(['a'])
  expect(texts(events.push(Buffer.from('ta: b\n\n')))).toEqual(['b'])
  expect([events.failed, events.end()]).toEqual([false, []])
  const elements = new StreamReader(dialect, 'application/json')
  expect(texts(elements.push('[{"a":1},{"b"'))).toEqual(['{"a":1}'])
})

test('after a piece that cannot be read nothing of the stream counts', () => {
  const events = new StreamReader(dialect, 'text/event-stream')
  expect(texts(events.push('data: bad\n\n'))).toEqual([])
  expect(events.failed).toBe(true)
  expect(events.push('data: a\n\n')).toEqual([])
})
