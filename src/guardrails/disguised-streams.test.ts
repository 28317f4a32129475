/** What is written so that rules would not see it is found in streams as in whole texts, wherever they are cut. */
import { describe, expect, test } from 'bun:test'
import type { ChatEvent } from '../core/hub/chat.ts'
import { literalPattern } from '../lib/linear-regex/index.ts'
import { Scanner } from './scanner.ts'
import { replaced, replacedJson, TextFilter } from './text-filter.ts'

const pattern = literalPattern(['zanzibar'], { ignoreCase: true, wholeWords: true })
const scanner = new Scanner([{ name: 'WORD', guardrail: 'g', action: 'mask', pattern }])
const mask = () => '[WORD]'
const base64 = (text: string): string => Buffer.from(text).toString('base64')

const textOf = (events: readonly ChatEvent[]): string =>
  events.map(one => (one.type === 'text' ? one.text : one.type === 'tool-call-arguments' ? one.fragment : '')).join('')

/** What goes out with each piece, and with the end. */
function streamed(pieces: readonly string[], isJson: boolean): string[] {
  const filter = new TextFilter(scanner, mask)
  const event = (piece: string): ChatEvent =>
    isJson
      ? { type: 'tool-call-arguments', choice: 0, index: 0, fragment: piece }
      : { type: 'text', choice: 0, text: piece }
  const out = pieces.map(piece => textOf(filter.event(event(piece))))
  return [...out, textOf([...filter.event({ type: 'finish', choice: 0, reason: 'stop' }), ...filter.end()])]
}

const texts: Record<string, readonly [text: string, whole: string]> = {
  base64: [`read ${base64('we all go to zanzibar soon')} now`, 'read d2UgYWxsIGdvIHRvI[WORD]IHNvb24= now'],
  'base64 behind other digits of base64': [
    `get /path/to/${base64('we all go to zanzibar soon')}`,
    'get /path/to/d2UgYWxsIGdvIHRvI[WORD]IHNvb24=',
  ],
  'base64 in base64': [
    `read ${base64(`see ${base64('we all go to zanzibar soon')}`)} now`,
    'read c2VlIGQyVWdZV3hzSUdkdklIUnZJ[WORD]JSE52YjI0PQ== now',
  ],
  'base64 that begins with the word': [base64('zanzibar is nice and warm'), '[WORD]gaXMgbmljZSBhbmQgd2FybQ=='],
  'base64 of other scripts': [base64('é東京 zanzibar 東京 ok!'), 'w6nmnbHkuqwg[WORD]g5p2x5LqsIG9rIQ=='],
  'Cyrillic letters': ['to zаnzibаr!', 'to [WORD]!'],
  'Cyrillic letters in a word that is not there yet': ['to zаnzibar and zаn', 'to [WORD] and zаn'],
  'mathematical letters': ['to 𝕫𝕒𝕟𝕫𝕚𝕓𝕒𝕣 and 𝕫𝕒𝕟', 'to [WORD] and 𝕫𝕒𝕟'],
  'tags of planes beyond the basic one': ['to zan\u{e0041}zibar!', 'to [WORD]!'],
}

describe('in a stream, cut at every place, as in a whole text:', () => {
  for (const [what, [text, whole]] of Object.entries(texts))
    test(what, () => {
      expect(replaced(text, scanner, mask)).toBe(whole)
      const [json, wholeJson] = [JSON.stringify({ to: text }), JSON.stringify({ to: whole })]
      expect(replacedJson(json, scanner, mask)).toBe(wholeJson)
      for (const [given, expected, isJson] of [
        [text, whole, false],
        [json, wholeJson, true],
      ] as const) {
        for (let cut = 1; cut < given.length; cut++)
          expect(streamed([given.slice(0, cut), given.slice(cut)], isJson).join('')).toBe(expected)
        expect(streamed(given.split(''), isJson).join('')).toBe(expected)
      }
    })
})

test('in a run of base64 that is longer than what is held back, the word does not go out', () => {
  const run = base64(`${'x'.repeat(3000)} zanzibar ${'y'.repeat(3000)}`)
  const out = streamed(run.split(''), false)
  expect(out.join('')).toBe(replaced(run, scanner, mask))
  expect(Buffer.from(out.join('').split('[WORD]')[0]!, 'base64').toString()).toBe('x'.repeat(3000))
  // What is held back of it is a part of the word.
  for (let at = 0, sent = 0; at < 3000; at++) expect(at + 1 - (sent += out[at]!.length)).toBeLessThan(16)
})

test('of arguments that are written with escapes, both halves of a sign are read together', () => {
  const units = 'to 𝕫𝕒𝕟𝕫𝕚𝕓𝕒𝕣!'.split('')
  const escaped = units.map(unit => (unit < '\x80' ? unit : `\\u${unit.charCodeAt(0).toString(16)}`))
  const json = `{"to":"${escaped.join('')}"}`
  for (let cut = 1; cut < json.length; cut++)
    expect(streamed([json.slice(0, cut), json.slice(cut)], true).join('')).toBe('{"to":"to [WORD]!"}')
})

test('the name of a tool that the model calls is searched', () => {
  const filter = new TextFilter(scanner, mask)
  const called = filter.event({
    type: 'tool-call-start',
    choice: 0,
    index: 0,
    id: 'call_1',
    name: 'to_zanzibar zanzibar',
  })
  expect(called).toMatchObject([{ type: 'tool-call-start', id: 'call_1', name: 'to_zanzibar [WORD]' }])
})

test('the address of a picture is searched', () => {
  const image = (url: string) => ({ type: 'image', choice: 0, source: { url } }) as const
  const filter = new TextFilter(scanner, mask)
  expect(filter.event(image('https://x.com/?to=zanzibar'))).toEqual([image('https://x.com/?to=[WORD]')])
})

test('half a sign at the end of a text is passed on', () => {
  expect(streamed(['to \ud835', '', '!', '\ud835'], false).join('')).toBe('to \ud835!\ud835')
})

test('words of other scripts, identifiers and hashes pass as they are', () => {
  for (const text of [
    'Привет, мир: занзибар 42',
    'sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    'zanzibarSettingsOfTheSecondKind',
  ])
    expect([replaced(text, scanner, mask), streamed([...text], false).join('')]).toEqual([text, text])
})

test('few words of plain texts wait for what follows them', () => {
  const words = 'It never takes more than the next letter to see that this says nothing in base64, and so it goes on.'
  const pieces = words.split(/(?= )/)
  const out = streamed(pieces, false)
  const late = pieces.filter(
    (piece, at) =>
      !out
        .slice(0, at + 1)
        .join('')
        .endsWith(piece),
  )
  expect(late.length).toBeLessThan(pieces.length / 4)
})
