import { describe, expect, test } from 'bun:test'
import type { ChatEvent } from '../core/hub/chat.ts'
import { split, collected } from './thinking-fixture.ts'

/** Text, what of it is thinking, what is the answer: with tags, and with tags that the template opened. */
const cases: [string, [string, string], [string, string]][] = [
  ['<think>\nhm\n</think>\n\nHello', ['hm\n', 'Hello'], ['hm\n', 'Hello']],
  [' \n<thinking>a < b </think> c</thinking>d', ['a < b </think> c', 'd'], ['a < b ', 'c</thinking>d']],
  ['<think></think>Hi ', ['', 'Hi '], ['', 'Hi ']],
  ['<think>never ends </thi', ['never ends </thi', ''], ['never ends </thi', '']],
  ['plain <think>x</think> text', ['', 'plain <think>x</think> text'], ['plain <think>x', 'text']],
  ['hm </think> Hi', ['hm ', 'Hi'], ['hm ', 'Hi']],
  ['\n\nhm\n</think>\n\nHi </think>', ['hm\n', 'Hi </think>'], ['hm\n', 'Hi </think>']],
  ['hm</thinking>Hi', ['hm', 'Hi'], ['hm', 'Hi']],
  ['</think>Hi', ['', 'Hi'], ['', 'Hi']],
  ['plain </thin text', ['', 'plain </thin text'], ['plain </thin text', '']],
  ['<thin', ['', '<thin'], ['<thin', '']],
  ['<thinker>x', ['', '<thinker>x'], ['<thinker>x', '']],
  [' ', ['', ' '], [' ', '']],
  ['', ['', ''], ['', '']],
]

describe('thinking in the text', () => {
  for (const [text, tags, open] of cases)
    test(`${JSON.stringify(text)}, cut at every place`, () => {
      for (let at = 0; at <= text.length; at++) {
        expect(collected(split([text.slice(0, at), text.slice(at)], 'tags'))).toEqual(tags)
        expect(collected(split([text.slice(0, at), text.slice(at)], 'tags-open'))).toEqual(open)
      }
      expect(collected(split([...text], 'tags'))).toEqual(tags)
      expect(collected(split([...text], 'tags-open'))).toEqual(open)
    })

  test('nothing waits but what may become a tag', () => {
    const events = split(['<think>', 'a', 'b <', 'c', '</thi', 'nk>', 'd', '<e'], 'tags')
    expect(events.map(event => ('text' in event ? `${event.type}:${event.text}` : event.type))).toEqual([
      'reasoning:a',
      'reasoning:b ',
      'reasoning:<c',
      'text:d',
      'text:<e',
      'finish',
    ])
  })

  test('switched off, or split by the host itself, the text begins as text', () => {
    expect(collected(split(['Hello'], 'tags-open', { reasoning: { enabled: false } }))).toEqual(['', 'Hello'])
    expect(collected(split([{ type: 'reasoning', choice: 0, text: 'hm' }, 'Hello </think>'], 'tags-open'))).toEqual([
      'hm',
      'Hello </think>',
    ])
  })

  test('each choice has its own state', () => {
    const piece = (choice: number, text: string): ChatEvent => ({ type: 'text', choice, text })
    const events = split(
      [piece(0, '<think>a'), piece(1, 'x'), piece(0, '</think>b'), { type: 'finish', choice: 1, reason: 'stop' }],
      'tags',
    )
    expect(
      events.map(event =>
        'text' in event && 'choice' in event ? `${event.choice}${event.type[0]}${event.text}` : event.type,
      ),
    ).toEqual(['0ra', '0tb', '1tx', 'finish', 'finish'])
  })

  const seen = (events: readonly ChatEvent[]) =>
    events.map(event => ('text' in event ? `${event.type}:${event.text}` : event.type))

  test('without an opening tag text is buffered until it is decided; with reasoning off it is text at once', () => {
    expect(seen(split(['a', 'b </th', 'ink> c', 'd'], 'tags'))).toEqual(['reasoning:ab ', 'text:c', 'text:d', 'finish'])
    expect(seen(split(['a', 'b'], 'tags'))).toEqual(['text:ab', 'finish'])
    expect(seen(split(['a', 'b'], 'tags', { reasoning: { enabled: false } }))).toEqual(['text:a', 'text:b', 'finish'])
    // An opener in the middle is talked about: what stands before it is text, and so is the rest.
    expect(seen(split(['a <thi', 'nk> b', '</think>'], 'tags'))).toEqual([
      'text:a <think> b',
      'text:</think>',
      'finish',
    ])
  })

  test('buffered text is emitted before a tool call', () => {
    const call: ChatEvent = { type: 'tool-call-start', choice: 0, index: 0, id: 'c', name: 'f' }
    expect(seen(split(['Let me look.', call], 'tags'))).toEqual(['text:Let me look.', 'tool-call-start', 'finish'])
  })
})
