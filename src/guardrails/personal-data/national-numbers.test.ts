/** National numbers against python-stdnum (`tests/data/national-numbers/make-vectors.py`), and forms it does not know. */
import { describe, expect, test } from 'bun:test'
import vectors from '../../../tests/data/national-numbers/vectors.json' with { type: 'json' }
import { nationalNumbers } from './national-numbers.ts'
import { linearPattern } from '../../lib/linear-regex/index.ts'

/** A word before the number, for those that are believed behind one alone. */
const words: Readonly<Record<string, string>> = {
  UK_NHS: 'NHS',
  NL_BSN: 'BSN',
  PT_NIF: 'NIF',
  AU_TFN: 'TFN',
}

const rules = new Map(
  nationalNumbers.map(({ name, pattern, check }) => [name, { pattern: linearPattern(pattern), check }]),
)

function finds(kind: string, number: string): boolean {
  const { pattern, check } = rules.get(kind)!
  const text = `The ${words[kind] ?? 'number'} ${number} is known.`
  const { spans } = pattern.find(text, { from: 0, isComplete: true, ...(check && { check }) })
  return spans.some(({ start, end }) => text.slice(start, end) === number)
}

/** Of invalid ones, what is found all the same: places that do not exist are not told. */
const foundAlthoughInvalid: Readonly<Record<string, string[]>> = { CN_RESIDENT_ID: ['112107196211021931'] }

describe('python-stdnum', () => {
  for (const [name, { valid, invalid }] of Object.entries(vectors)) {
    const [kind] = name.split(' ')
    test(`${name}: ${valid.length} valid ones are found, of ${invalid.length} invalid ones those that are listed`, () => {
      expect(valid.filter(one => !finds(kind!, one))).toEqual([])
      expect(invalid.filter(one => finds(kind!, one))).toEqual(foundAlthoughInvalid[name] ?? [])
    })
  }
})

test.each([
  ['BR_CNPJ', '12.ABC.345/01DE-35', '12.ABC.345/01DE-36'],
  ['BR_CNPJ', '12ABC34501DE35', '12ABC34501DE53'],
  ['SE_PERSONNUMMER', '701063-2391', '701063-2392'],
  ['SG_NRIC', 'M1234567K', 'M1234567L'],
  ['SG_NRIC', 'S1234567D', 'S1234567E'],
])('%s: the example of its issuer, %s, and not %s', (kind, right, wrong) => {
  expect([finds(kind, right), finds(kind, wrong)]).toEqual([true, false])
})

test('of random numbers with eleven digits at most one in a hundred is taken for a German tax number', () => {
  let state = 1
  const digit = (): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * 10)
  }
  const numbers = Array.from({ length: 6000 }, () => Array.from({ length: 11 }, digit).join(''))
  expect(numbers.filter(one => finds('DE_TAX_ID', one)).length).toBeLessThan(60)
})
