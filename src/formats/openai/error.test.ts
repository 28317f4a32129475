import { expect, test } from 'bun:test'
import { faults, GatewayError, unprocessable } from '../../core/errors.ts'
import type { FaultKind } from '../../core/errors.ts'
import { openaiErrorBody, openaiErrorEvent } from './error.ts'

test("an error body has OpenAI's four keys and the specification's name, and never the cause", () => {
  const error = new GatewayError('upstream-timeout', 'too slow', { cause: new Error('secret host') })
  expect(openaiErrorBody(error)).toEqual({
    error: {
      message: 'too slow',
      type: 'timeout_error',
      param: null,
      code: 'upstream_timeout',
      name: 'Timeout',
    },
  })
})

test('a refused body lists its problems under detail, as 422 answers do', () => {
  const problem = { loc: ['body', 'messages', 0, 'role'], msg: 'is missing', type: 'missing' }
  expect(openaiErrorBody(unprocessable([problem]))).toMatchObject({
    error: { param: 'messages.0.role', name: 'UnprocessableEntityError' },
    detail: [problem],
  })
})

test('every kind of fault becomes one event on one line', () => {
  for (const kind of Object.keys(faults) as FaultKind[]) {
    const event = openaiErrorEvent(new GatewayError(kind, 'line\nline\r\n\r\n"\u2028'))
    expect(event).toMatch(/^data: \{[^\n\r]*\}\n\n$/)
    expect(JSON.parse(event.slice(6)).error).toMatchObject({
      type: faults[kind].type,
      name: faults[kind].name,
    })
  }
})
