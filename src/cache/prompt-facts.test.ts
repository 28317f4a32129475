/** What distinguishes prompts that embeddings hardly distinguish. */
import { expect, test } from 'bun:test'
import { differentPairs, samePairs } from '../../tests/semantic/pairs.ts'
import { factsOf } from './prompt-facts.ts'

const isAlike = (one: string, other: string) => factsOf(one) !== undefined && factsOf(one) === factsOf(other)
const alike = (pairs: readonly { readonly kind: string; readonly one: string; readonly other: string }[]) =>
  pairs.filter(({ one, other }) => isAlike(one, other))

test('pairs with other facts differ in theirs, but for common words that name other things or change places', () => {
  const left = alike(differentPairs()).filter(({ kind }) => kind !== 'thing')
  expect(left.map(({ one }) => one)).toEqual(['Does the buyer owe the seller an apology?'])
})

test('many ways to ask the same have the same facts', () => {
  const pairs = samePairs()
  expect(alike(pairs).length / pairs.length).toBeGreaterThan(0.5)
})

test('a word counts in all of its forms', () => {
  expect(factsOf('the bank raises rates')).not.toBe(factsOf('the bank lowered rates'))
  expect(factsOf('raising the rates')).toBe(factsOf('raise the rates'))
})

test.each([
  ['How do I split a bill between two friends?', 'How do I split a bill between three friends?'],
  ['What is the seventh planet?', 'What is the eighth planet?'],
  ['What is twenty times five?', 'What is thirty times five?'],
  ['What is 12 + 3?', 'What is 12 - 3?'],
  ['What is (2 + 3) * 4?', 'What is 2 + (3 * 4)?'],
  ['What is the sum of ２５ and 3?', 'What is the sum of ２６ and 3?'],
  ['Is a < b here?', 'Is a > b here?'],
  ['what is the population of berlin?', 'what is the population of hamburg?'],
  ['who is married to anna kowalska?', 'who is married to maria kowalska?'],
  ['What is the dose of ibuprofen for a child?', 'What is the dose of paracetamol for a child?'],
  ['What does polish do?', 'What does Polish do?'],
  ['What is 5! here', 'What is 5 here'],
  ['Has she paid for the house?', 'Has he paid for the house?'],
  ['Is it safe to mix bleach and vinegar?', 'Is it unsafe to mix bleach and vinegar?'],
  ['Which drugs are legal in the state?', 'Which drugs are illegal in the state?'],
  ['Which causes are possible?', 'Which causes are impossible?'],
  ['Do you agree with this?', 'Do you disagree with this?'],
  ['How do I sort a list ascending?', 'How do I sort a list descending?'],
  ['Is the north pole cold?', 'Is the south pole cold?'],
  ['Is it good to eat this?', 'Is it bad to eat this?'],
  ['What is the way from here to there?', 'What is the way from there to here?'],
  ['What do I wear in winter?', 'What do I wear in summer?'],
])('%s / %s', (one, other) => {
  expect(isAlike(one, other)).toBe(false)
  expect(isAlike(one, one)).toBe(true)
})

test('a prompt that is not English shares with no other one', () => {
  for (const prompt of [
    'Ist Milch weder gesund noch nahrhaft?',
    'Wie alt ist der Präsident von Frankreich?',
    'Quel est le prix de la tour Eiffel ?',
    '¿Puedo tomar café sin azúcar por la mañana?',
    'Hoeveel mensen wonen er in Nederland?',
    'Можно ли есть сырые яйца?',
    '我应该吃这种药吗?',
    '今日は東京の天気はどうですか',
    'ما هو عدد سكان مصر؟ ١٢',
    'Mogę jeść surowe jajka?',
    'Onko tänään pyhäpäivä?',
  ])
    expect([prompt, factsOf(prompt)]).toEqual([prompt, undefined])
})
