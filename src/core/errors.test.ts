import { expect, test } from 'bun:test'
import { GatewayError, unprocessable } from './errors.ts'

test("an upstream's refusal is called as its status is; its other words stay", () => {
  const name = (status: number) => new GatewayError('upstream-refused', 'no', { status }).publicName
  expect([400, 405, 409, 415, 418, 422].map(name)).toEqual([
    'BadRequestError',
    'MethodNotAllowedError',
    'ConflictError',
    'UnsupportedMediaTypeError',
    'BadRequestError',
    'UnprocessableEntityError',
  ])
  expect(new GatewayError('upstream-broken', 'no', { status: 422 }).publicName).toBe('BadGatewayError')
})

test('a 422 names its first field, wherever it stands', () => {
  const error = (...loc: (string | number)[]) => {
    const { message, param } = unprocessable([{ loc, msg: 'must be 1', type: 'invalid' }])
    return [message, param]
  }
  expect(error('body', 'messages', 0, 'role')).toEqual(['messages.0.role: must be 1', 'messages.0.role'])
  expect(error('query', 'size')).toEqual(['size: must be 1', 'size'])
  // A field may have the name of a place.
  expect(error('body', 'body')).toEqual(['body: must be 1', 'body'])
  expect(error('body')).toEqual(['the body: must be 1', null])
  expect(unprocessable([]).message).toBe('the request: invalid request')
  expect(
    unprocessable([
      { loc: ['body', 'a'], msg: 'x', type: 'y' },
      { loc: ['body', 'b'], msg: 'x', type: 'y' },
    ]).message,
  ).toBe('a: x (and 1 more)')
})

test('a field is named once in a message, whether the problem names it or not', () => {
  const said = (loc: (string | number)[], msg: string) =>
    unprocessable([{ loc: ['body', ...loc], msg, type: 'invalid' }]).message
  expect(said(['n'], '`n` must be 1')).toBe('`n` must be 1')
  expect(said(['messages', 0, 'role'], '`messages[0].role` must be "user"')).toBe('`messages[0].role` must be "user"')
  expect(said(['n'], '`m` must be 1')).toBe('n: `m` must be 1')
  expect(said(['n'], 'must be 1')).toBe('n: must be 1')
})
