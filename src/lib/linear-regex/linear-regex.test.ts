/** Patterns in linear time: the same matches as JavaScript's engine, in whole texts and in pieces. */
import { describe, expect, test } from 'bun:test'
import { charSet, union, withBothCases } from './char-set.ts'
import { linearPattern, literalPattern, PatternError } from './index.ts'

const found = (pattern: string, text: string): string[] =>
  linearPattern(pattern)
    .find(text, { from: 0, isComplete: true })
    .spans.map(({ start, end }) => text.slice(start, end))

/** Of patterns whose longest match is JavaScript's first one. */
const patterns = [
  'abc',
  'a[bc]+d?',
  '[^a-c]{2,3}',
  '\\d{2,4}',
  '(?:foo|foobar|ba[rz])\\b',
  '\\bcat\\b',
  'x.?y',
  '(?i)HeLLo',
  'a(?:b(?:c|d){1,2})?e',
  '\\p{Lu}\\p{Ll}+',
  '\\s+\\S',
  '[\\w.]+@[\\w]+\\.com',
]
const texts = [
  '',
  'abc abcd abccd acd',
  'foobar bazbar fooba cat concat cat.',
  'x-y xy x\ny Hello hELLO',
  'ae abce abcde abdde 12345 6 78',
  'Ärger in Österreich. me@a.com, you.too@b.com  !',
]

describe('whole texts', () => {
  for (const pattern of patterns)
    test(pattern, () => {
      for (const text of texts) {
        const flags = pattern.startsWith('(?i)') ? 'giu' : 'gu'
        // Its alternatives are tried in order, here the longest counts.
        const source = pattern.replace('(?i)', '').replace('foo|foobar', 'foobar|foo')
        const expected = [...text.matchAll(new RegExp(source, flags))].map(([match]) => match)
        expect([text, found(pattern, text)]).toEqual([text, expected])
      }
    })

  test('the ends of the text and of lines', () => {
    expect(found('^a|b$', 'ab\nab')).toEqual(['a', 'b'])
    expect(found('(?m)^a|b$', 'ab\nab')).toEqual(['a', 'b', 'a', 'b'])
  })

  test('U+0000 is matched by nothing and ends words', () => {
    expect(found('a.c', 'a\0c abc')).toEqual(['abc'])
    expect(found('\\bb\\b', 'a\0b\0c')).toEqual(['b'])
  })
})

test('a text in two pieces: nothing is decided that what follows could change', () => {
  for (const pattern of patterns) {
    const compiled = linearPattern(pattern)
    for (const text of texts) {
      const expected = found(pattern, text)
      for (let cut = 0; cut <= text.length; cut++) {
        const first = compiled.find(text.slice(0, cut), { from: 0, isComplete: false })
        const rest = compiled.find(text, { from: first.open, isComplete: true })
        const all = [...first.spans, ...rest.spans].map(({ start, end }) => text.slice(start, end))
        expect([pattern, text, cut, all]).toEqual([pattern, text, cut, expected])
      }
    }
  }
})

test('lists of words: whole ones, in any case and script', () => {
  const pattern = literalPattern(['zan', 'zanzibar', 'über', '東京'], { ignoreCase: true, wholeWords: true })
  const text = 'ZANZIBAR, Zanzi zan. Über überall; 私は東京に'
  const words = pattern.find(text, { from: 0, isComplete: true }).spans.map(({ start, end }) => text.slice(start, end))
  expect(words).toEqual(['ZANZIBAR', 'zan', 'Über', '東京'])
})

describe('patterns that are refused, each with a remedy', () => {
  for (const [pattern, problem] of [
    ['(?=a)b', 'looks ahead or behind'],
    ['(a)\\1', 'refers back'],
    ['a*', 'matches the empty text'],
    ['(a', "without its ')'"],
    ['a)', "without its '('"],
    ['[a', "without its ']'"],
    ['*a', 'nothing before it'],
    ['a{2000}', 'more than 1000 times'],
    ['(?:a{1000}){1000}', 'too many repeated parts'],
    ['\\p{Nope}', 'unknown property'],
    ['[z-a]', 'does not go up'],
  ] as const)
    test(pattern, () => {
      expect(() => linearPattern(pattern)).toThrow(PatternError)
      expect(() => linearPattern(pattern)).toThrow(problem)
    })
})

test('patterns that hang other engines read each unit a few times', () => {
  const text = 'a'.repeat(200_000)
  for (const pattern of ['(a+)+b', '(a|a)*b', '(a|aa)+$b', 'a.*b|a{200}c', '(?:a?){100}b'])
    expect([pattern, linearPattern(pattern).find(text, { from: 0, isComplete: true }).spans.length]).toEqual([
      pattern,
      0,
    ])
})

test('a large set gets the other case of each of its letters, as small ones do', () => {
  const parts = Array.from({ length: 128 }, (_, at) => charSet([[at * 512, at * 512 + 511]]))
  for (const from of [0, 1, 60])
    expect(withBothCases(union(...parts.slice(from, from + 66)))).toEqual(
      union(...parts.slice(from, from + 66).map(withBothCases)),
    )
  expect(found('(?i)[^a-y]', 'Zb')).toEqual(['Z'])
})
