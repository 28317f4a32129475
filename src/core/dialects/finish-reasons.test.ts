import { describe, expect, test } from 'bun:test'
import {
  cohereFinishReasons,
  endingOf,
  geminiFinishReason,
  geminiFinishReasons,
  openaiFinishReasons,
  withCalls,
} from './finish-reasons.ts'

describe('the meaning of a finish word', () => {
  test.each([
    ['stop', 'stop'],
    ['STOP', 'stop'],
    ['model_context_window_exceeded', 'length'],
    ['sensitive', 'content-filter'],
    ['content_filter: PROHIBITED_CONTENT', 'content-filter'],
  ])('%s is %s', (word, reason) => {
    expect<unknown>(endingOf(openaiFinishReasons, word)).toBe(reason)
  })

  test.each([
    ['network_error', 'upstream-failed'],
    ['insufficient_system_resource', 'upstream-overloaded'],
    ['function_call_filter: MALFORMED_FUNCTION_CALL', 'upstream-failed'],
    ['constructor', 'upstream-failed'],
    ['', 'upstream-failed'],
  ])('%s is a failure that names it', (word, kind) => {
    expect(endingOf(openaiFinishReasons, word)).toMatchObject({ kind, code: word, retry: 'other-target' })
  })

  test('a word of any length is bounded, and the words of the upstream follow it', () => {
    const error = endingOf(openaiFinishReasons, 'x'.repeat(5000), 'no room')
    expect(error).toMatchObject({ code: 'x'.repeat(100) })
    expect((error as Error).message).toEndWith(': no room')
  })
})

test('calls turn a plain stop into their reason, but no cut and no filter', () => {
  expect([withCalls('stop', true), withCalls('stop', false)]).toEqual(['tool-calls', 'stop'])
  expect([withCalls('length', true), withCalls('content-filter', true)]).toEqual(['length', 'content-filter'])
})

test("Gemini's default value is no finish reason", () => {
  expect(geminiFinishReason({ finishReason: 'FINISH_REASON_UNSPECIFIED' })).toBe('')
  expect(geminiFinishReason({})).toBe('')
  expect(geminiFinishReason({ finishReason: 'NO_IMAGE' })).toBe('NO_IMAGE')
})

test('a failure is told by its word, and by what the upstream says beside it', () => {
  expect(endingOf(openaiFinishReasons, 'abort')).toMatchObject({
    message: 'the upstream broke off its answer (abort)',
    kind: 'upstream-failed',
  })
  expect(endingOf(openaiFinishReasons, 'sleepy')).toMatchObject({
    message: 'the upstream ended its answer for a reason that is not known here (sleepy)',
  })
  expect(endingOf(openaiFinishReasons, 'abort', 'too many requests')).toMatchObject({
    message: 'the upstream broke off its answer (abort): too many requests',
    code: 'abort',
  })
  expect(endingOf(cohereFinishReasons, 'TIMEOUT')).toMatchObject({ kind: 'upstream-timeout' })
  expect(endingOf(geminiFinishReasons, 'PUP_LIMITED_DISABLED', 'x')).toMatchObject({ kind: 'upstream-credentials' })
})
