import { expect, test } from 'bun:test'
import { brokenAnswer, brokenProtocol, faults, GatewayError, toGatewayError, unprocessable } from './errors.ts'
import type { FaultKind } from './errors.ts'

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

/** What clients are promised (docs/api.md, "When things fail"), by status. */
const kindsByStatus: Readonly<Record<number, readonly FaultKind[]>> = {
  400: ['invalid-request', 'context-too-long', 'content-policy', 'upstream-refused'],
  401: ['unauthenticated'],
  403: ['forbidden', 'model-forbidden', 'model-blocked', 'tool-forbidden'],
  404: ['not-found', 'model-not-found', 'upstream-model-missing'],
  405: ['method-not-allowed'],
  408: ['body-timeout', 'upstream-timeout'],
  409: ['conflict'],
  413: ['too-large'],
  415: ['unsupported-media'],
  422: ['unprocessable'],
  426: ['upgrade-required'],
  429: ['rate-limited', 'budget-exceeded', 'quota-exceeded', 'upstream-rate-limited'],
  499: ['client-closed'],
  500: ['schema-mismatch', 'internal', 'upstream-failed'],
  502: ['upstream-credentials', 'upstream-broken'],
  503: ['overloaded', 'upstream-unreachable', 'upstream-closed', 'upstream-overloaded'],
}

test('each kind of failure has the status that clients are promised', () => {
  for (const [status, kinds] of Object.entries(kindsByStatus))
    for (const kind of kinds) expect([kind, new GatewayError(kind, 'no').status]).toEqual([kind, Number(status)])
  expect(Object.values(kindsByStatus).flat().sort()).toEqual(Object.keys(faults).sort() as FaultKind[])
})

test('another deployment is asked after failures of an upstream but its refusals, and where a model is blocked', () => {
  const elsewhere = Object.keys(faults).filter(
    kind => new GatewayError(kind as FaultKind, 'no').retry === 'other-target',
  )
  const ofUpstreams = Object.keys(faults).filter(kind => kind.startsWith('upstream-') && kind !== 'upstream-refused')
  expect(elsewhere.sort()).toEqual(['model-blocked', ...ofUpstreams].sort())
})

test('an error has the type and code of its kind, unless it was given its own', () => {
  const plain = new GatewayError('rate-limited', 'no')
  expect([plain.type, plain.code, plain.param]).toEqual(['rate_limit_error', 'rate_limit_exceeded', null])
  expect(new GatewayError('rate-limited', 'no', { code: 'x' }).code).toBe('x')
  expect(new GatewayError('rate-limited', 'no', { code: null }).code).toBeNull()
  expect(new GatewayError('upstream-refused', 'no', { status: 418 }).status).toBe(418)
  expect(plain.isRequests).toBe(false)
})

test('an overloaded gateway asks for a second of patience, another failure for none of its own', () => {
  expect(new GatewayError('overloaded', 'no').retryAfterMs).toBe(1000)
  expect(new GatewayError('overloaded', 'no', { retryAfterMs: 5 }).retryAfterMs).toBe(5)
  expect(new GatewayError('rate-limited', 'no').retryAfterMs).toBeUndefined()
  expect(new GatewayError('rate-limited', 'no', { retryAfterMs: 7 }).retryAfterMs).toBe(7)
})

test('the cause is there for the log where there is one', () => {
  const cause = new Error('why')
  expect(new GatewayError('internal', 'no', { cause }).cause).toBe(cause)
  expect('cause' in new GatewayError('internal', 'no')).toBe(false)
  expect(brokenAnswer('it is empty', cause)).toMatchObject({ kind: 'upstream-broken', message: 'it is empty', cause })
  expect(brokenProtocol('no choices', cause)).toMatchObject({
    kind: 'upstream-broken',
    message: "the upstream's answer does not follow its protocol: no choices",
    cause,
  })
})

test('what was thrown is an error for clients: itself, or one that says nothing of its cause', () => {
  const own = new GatewayError('conflict', 'no')
  expect(toGatewayError(own)).toBe(own)
  const cause = new Error('secret')
  expect(toGatewayError(cause)).toMatchObject({
    kind: 'internal',
    message: 'the gateway failed on this request; its log has the details',
    cause,
  })
})

test('an error carries what the upstream reports of its answer', () => {
  const error = new GatewayError('upstream-broken', 'no')
  const usage = { inputTokens: 1, outputTokens: 2 }
  expect(error.withUsage(usage)).toBe(error)
  expect(error.usage).toEqual(usage)
})
