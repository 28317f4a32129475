import { expect, test } from 'bun:test'
import { choiceEnding, choiceIndex, finishReasonOf, reportedError } from './openai-chunk.ts'

test('the number of a choice is a whole one below 4,096, or that of its place where there is none', () => {
  expect([{ index: 0 }, { index: 4095 }, {}, { index: 'x' }].map(one => choiceIndex(one, 7))).toEqual([0, 4095, 7, 7])
  expect([-1, 4096, 0.5].map(index => choiceIndex({ index }, 7))).toEqual([undefined, undefined, undefined])
})

test('a choice that goes on has no finish reason, in whichever words', () => {
  expect([null, '', 'null', undefined, 5].map(one => finishReasonOf({ finish_reason: one }))).toEqual([
    '',
    '',
    '',
    '',
    '',
  ])
  expect(finishReasonOf({ finish_reason: 'stop' })).toBe('stop')
})

test('an error is what says so, and a framework error only in the place of an answer', () => {
  expect(reportedError({ error: { message: 'no' }, choices: [] })?.message).toBe('no')
  expect(reportedError({ detail: 'no' })?.message).toBe('no')
  for (const body of [{ choices: [], detail: 'no' }, { usage: {}, detail: 'no' }, {}])
    expect(reportedError(body)).toBeUndefined()
})

test('the ending of a choice is the meaning of its word; `error` has the words of the error', () => {
  expect<unknown>(choiceEnding({ finish_reason: 'stop' })).toBe('stop')
  expect(choiceEnding({ finish_reason: 'error', error: { message: 'why' } })).toMatchObject({ message: 'why' })
  expect(choiceEnding({ finish_reason: 'error' }, { message: 'beside' })).toMatchObject({ message: 'beside' })
  expect(choiceEnding({ finish_reason: 'error' })).toMatchObject({
    kind: 'upstream-failed',
    message: 'the upstream failed while it answered',
  })
})
