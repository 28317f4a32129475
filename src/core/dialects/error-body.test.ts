/** What error bodies say: message, codes, field, status and wait, each where vendors write it. */
import { describe, expect, test } from 'bun:test'
import { isFrameworkError, readErrorBody, saysError } from './error-body.ts'

const messageOf = (body: unknown) => readErrorBody(body).message
const codesOf = (body: unknown) => readErrorBody(body).codes

describe('the message', () => {
  test('is a plain text itself, without the space around it; a page of HTML and other values have none', () => {
    expect(messageOf('  busy \n')).toBe('busy')
    for (const body of ['<html>no</html>', ' <!doctype html>', '<?xml version="1.0"?>', 5, null, undefined, true])
      expect(messageOf(body)).toBe('')
    expect(messageOf('< 5 tokens')).toBe('< 5 tokens')
  })

  test('is empty beside empty other values, where the body is no object', () => {
    expect(readErrorBody('busy')).toEqual({
      message: 'busy',
      code: undefined,
      param: undefined,
      codes: [],
      status: undefined,
      retryAfterMs: undefined,
    })
  })

  test('is the sentence that tells most: that of the error before that beside it, a name only where it is alone', () => {
    expect(messageOf({ error: { message: 'inner' }, message: 'outer' })).toBe('inner')
    expect(messageOf({ error: 'invalid_request', message: 'outer' })).toBe('outer')
    expect(messageOf({ error: 'invalid_request' })).toBe('invalid_request')
    expect(messageOf({ error: 'a sentence', message: 'outer' })).toBe('a sentence')
    expect(messageOf({})).toBe('')
  })

  test('is found five levels deep, and no deeper', () => {
    const below = (levels: number) => {
      let body: object = { message: 'deep' }
      for (let level = 0; level < levels; level++) body = { error: body }
      return messageOf(body)
    }
    expect([below(3), below(4), below(5)]).toEqual(['deep', 'deep', ''])
    expect(messageOf('x')).toBe('x')
  })

  test('is read from JSON in a text, and is the text itself where that is none', () => {
    expect(messageOf({ error: '{"message":"why"}' })).toBe('why')
    expect(messageOf({ error: ' [{"message":"why"}]' })).toBe('why')
    expect(messageOf({ error: '{broken' })).toBe('{broken')
    expect(messageOf({ error: '{"nothing":1}' })).toBe('{"nothing":1}')
  })

  test('lists five problems with their places at most, and none that say nothing', () => {
    const detail = [1, 2, 3, 4, 5, 6].map(at => ({ loc: ['body', `f${at}`], msg: 'wrong' }))
    expect(messageOf({ detail })).toBe('body.f1: wrong; body.f2: wrong; body.f3: wrong; body.f4: wrong; body.f5: wrong')
    expect(messageOf({ detail: [{ loc: ['x'] }, {}, { loc: 'y', msg: 'wrong' }, 'plain'] })).toBe(
      'x: invalid; wrong; plain',
    )
  })

  test("leaves out AWS's canonical request, which holds a session token", () => {
    const message = 'The signature does not match.\n\nThe Canonical String for this request should have been\nsecret'
    expect(messageOf({ message })).toBe('The signature does not match.')
  })

  test('of OpenRouter is followed by that of the host behind it', () => {
    const of = (message: string, raw: unknown) => messageOf({ error: { message, metadata: { raw } } })
    expect(of('Provider returned error', '{"error":{"message":"why"}}')).toBe('Provider returned error: why')
    expect(of('Provider returned error.', 'why')).toBe('Provider returned error: why')
    expect(of('Provider returned error', undefined)).toBe('Provider returned error')
    expect(of('Another error', 'why')).toBe('Another error')
  })

  test('of Azure is followed by the filters that refused, with how severe it was', () => {
    const of = (innererror: unknown) => messageOf({ error: { message: 'refused', innererror } })
    const hate = { filtered: true, severity: 'high' }
    expect(of({ content_filter_result: { hate, sexual: { filtered: false, severity: 'safe' } } })).toBe(
      'refused (filtered: hate (high))',
    )
    expect(of({ content_filter_results: { hate, jailbreak: { filtered: true }, other: 'x' } })).toBe(
      'refused (filtered: hate (high), jailbreak)',
    )
    expect(of({ content_filter_result: { hate: { filtered: false } } })).toBe('refused')
    expect([of({}), of('text'), of({ content_filter_result: 'text' })]).toEqual(['refused', 'refused', 'refused'])
  })
})

describe('the codes', () => {
  test('are types, codes and reasons of the error and around it, each once; numbers as text', () => {
    expect(codesOf({ error: { code: 429, type: 'slow_down', status: 'UNAVAILABLE' }, code: 'slow_down' })).toEqual([
      '429',
      'slow_down',
      'UNAVAILABLE',
    ])
    expect(codesOf({ error: { details: [{ reason: 'KEY' }, { other: 1 }] } })).toEqual(['KEY'])
    expect(codesOf({ error: { innererror: { code: 'Filter' }, code: 'x' } })).toEqual(['x', 'Filter'])
    expect(codesOf({ details: { error_code: 'FIRST' }, code: 'x' })).toEqual(['FIRST', 'x'])
    expect(codesOf({ error: 'invalid_request' })).toEqual(['invalid_request'])
  })

  test('are no sentences, no longer than 100 characters, and more than that something failed', () => {
    expect(codesOf({ code: 'two words', type: 'error', status: '', reason: true })).toEqual([])
    expect(codesOf({ code: 'x'.repeat(100) })).toEqual(['x'.repeat(100)])
    expect(codesOf({ code: 'x'.repeat(101) })).toEqual([])
  })

  test("are AWS's without their namespace and what follows them", () => {
    expect(codesOf({ __type: 'com.amazon.coral.service#ThrottlingException:http://x' })).toEqual([
      'ThrottlingException',
    ])
  })

  test('for the client are the first that is no status', () => {
    expect(readErrorBody({ error: { code: '429', type: 'slow_down' } }).code).toBe('slow_down')
    expect(readErrorBody({ error: { code: '1261' } }).code).toBe('1261')
    expect(readErrorBody({ error: { code: 429 } }).code).toBeUndefined()
  })

  test('of the host behind OpenRouter count too', () => {
    expect(codesOf({ error: { code: 400, metadata: { raw: '{"error":{"code":"too_long"}}' } } })).toEqual([
      '400',
      'too_long',
    ])
    expect(codesOf({ error: { code: 400, metadata: { raw: 'text' } } })).toEqual(['400'])
  })
})

test('the status is the first of the error that can be one of a failure', () => {
  const statusOf = (error: object) => readErrorBody({ error }).status
  expect(statusOf({ code: 400 })).toBe(400)
  expect(statusOf({ code: 599 })).toBe(599)
  expect(statusOf({ code: '422' })).toBe(422)
  expect(
    [{ code: 399 }, { code: 600 }, { code: 400.5 }, { code: '' }, { code: 'x' }, { code: true }].map(statusOf),
  ).toEqual(Array.from({ length: 6 }))
  expect(statusOf({ code: 'x', status: 503 })).toBe(503)
  expect(readErrorBody({ error: { code: 'x' }, status_code: 404 }).status).toBe(404)
})

test('the field at fault is told where it is a text', () => {
  expect(readErrorBody({ error: { param: 'n' } }).param).toBe('n')
  expect(readErrorBody({ error: { param: 5 } }).param).toBeUndefined()
})

test("the wait is that of Google's RetryInfo, rounded up to milliseconds", () => {
  const waitOf = (...delays: unknown[]) =>
    readErrorBody({ error: { details: delays.map(retryDelay => ({ retryDelay })) } }).retryAfterMs
  expect([waitOf('37s'), waitOf('0.5s'), waitOf('0.0001s'), waitOf(undefined, '2s')]).toEqual([37_000, 500, 1, 2000])
  expect([waitOf(), waitOf('soon'), waitOf(37), waitOf('1234567s')]).toEqual(Array.from({ length: 4 }))
})

test('the error is that of `error`, the first of `errors`, `base_resp`, `detail`, or the body itself', () => {
  for (const body of [
    { error: { code: 'x' } },
    { errors: [{ code: 'x' }, { code: 'y' }] },
    { base_resp: { code: 'x' } },
    { detail: { code: 'x' } },
    { code: 'x' },
    [{ code: 'x' }],
  ])
    expect(codesOf(body)).toEqual(['x'])
})

test('a body says that it is an error by its type, its `error`, or a status of `base_resp` other than 0', () => {
  for (const body of [{ error: 'x' }, { error: {} }, { object: 'error' }, { type: 'error' }])
    expect(saysError(body)).toBe(true)
  expect(saysError({ base_resp: { status_code: 1 } })).toBe(true)
  for (const base_resp of [{ status_code: 0 }, { status_code: '1' }, {}, 'x'])
    expect(saysError({ base_resp })).toBe(false)
  for (const body of [{}, { error: null }, { error: '' }, { object: 'list' }, { type: 'message' }])
    expect(saysError(body)).toBe(false)
})

test("an error of a web framework has a text or a list in the framework's place", () => {
  for (const body of [{ detail: 'x' }, { detail: [{}] }, { message: '' }, { msg: '' }, { errors: ['x'] }])
    expect(isFrameworkError(body)).toBe(true)
  for (const body of [{}, { detail: '' }, { message: 5 }, { msg: null }, { errors: [] }, { errors: 'x' }])
    expect(isFrameworkError(body)).toBe(false)
})
