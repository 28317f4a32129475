/** What distinguishes prompts that embeddings hardly distinguish. */
import { expect, test } from 'bun:test'
import { differentPairs, samePairs } from '../../tests/semantic/pairs.ts'
import { factsOf } from './prompt-facts.ts'

const alike = (pairs: readonly { readonly kind: string; readonly one: string; readonly other: string }[]) =>
  pairs.filter(({ one, other }) => factsOf(one) === factsOf(other))

test('of pairs with other facts only those differ in nothing that name other things', () => {
  const left = alike(differentPairs()).filter(({ kind }) => kind !== 'thing')
  expect(left.map(({ one }) => one)).toEqual([
    'Can the buyer send money to the seller without a fee?',
    'Does the buyer owe the seller an apology?',
    'How far is it from the buyer to the seller?',
  ])
})

test('most ways to ask the same have the same facts', () => {
  const pairs = samePairs()
  expect(alike(pairs).length / pairs.length).toBeGreaterThan(0.7)
})

test('a word counts in all of its forms', () => {
  expect(factsOf('the bank raises rates')).not.toBe(factsOf('the bank lowered rates'))
  expect(factsOf('raising the rates')).toBe(factsOf('raise the rates'))
})
