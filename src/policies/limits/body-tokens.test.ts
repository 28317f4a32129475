/** The tokens that a body takes before they are counted: a token for four bytes, of large bodies those of the texts. */
import { expect, test } from 'bun:test'
import type { Call } from '../../core/call.ts'
import { announcedBytesMax, bodyTokens, inputTokensAtHand } from './body-tokens.ts'

const callOf = (size: number | undefined, knownInputTokens?: number): Call =>
  ({
    body: size === undefined ? undefined : { size },
    estimatedInputTokens: () => knownInputTokens,
    knownInputTokens,
  }) as unknown as Call

test('a token is four bytes, begun ones count', () => {
  expect([0, 1, 4, 5].map(size => bodyTokens(callOf(size)))).toEqual([0, 1, 1, 2])
  expect([0, 1, 4, 5].map(size => inputTokensAtHand(callOf(size)))).toEqual([0, 1, 1, 2])
  expect([bodyTokens(callOf(undefined)), inputTokensAtHand(callOf(undefined))]).toEqual([0, 0])
})

test('of a large body only what was estimated of its texts is known', () => {
  expect(announcedBytesMax).toBe(65_536)
  expect(bodyTokens(callOf(65_536, 7))).toBe(16_384)
  expect(bodyTokens(callOf(65_537, 7))).toBe(7)
  expect(inputTokensAtHand(callOf(65_536))).toBe(16_384)
  expect(inputTokensAtHand(callOf(65_537))).toBeUndefined()
  expect([inputTokensAtHand(callOf(65_537, 0)), inputTokensAtHand(callOf(8, 9))]).toEqual([0, 9])
})
