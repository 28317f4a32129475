import { expect, test } from 'bun:test'
import { Redactor } from './redact.ts'

const redactor = new Redactor(['canary-1', 'canary-1-longer', 'a/b+c=', '', 'abc'])

test('secrets vanish wherever they stand, the longest first', () => {
  expect(redactor.text('x canary-1-longer y canary-1 z')).toBe('x [redacted] y [redacted] z')
  expect(redactor.text('a%2Fb%2Bc%3D and a/b+c=')).toBe('[redacted] and [redacted]')
  // An empty or tiny secret hides nothing: it would hide everything.
  expect(redactor.text('abc')).toBe('abc')
  expect(redactor.json({ a: ['canary-1', 1, null, { 'canary-1': true }] })).toEqual({
    a: ['[redacted]', 1, null, { '[redacted]': true }],
  })
})

test('headers that hold credentials say only that they are there', () => {
  const headers = {
    authorization: 'Bearer unknown-token',
    'x-api-key': 'k',
    'api-key': 'k',
    'x-goog-api-key': 'k',
    Cookie: 'a=b',
    'x-amz-security-token': 't',
    'x-custom': 'the operator wrote this',
    'content-type': 'application/json',
    'anthropic-version': '2023-06-01',
    'x-note': 'has canary-1 inside',
    'x-monkey': 'no key',
    'x-goog-user-project': 'p',
  }
  expect(redactor.headers(headers, new Set(['x-custom']))).toEqual({
    authorization: 'Bearer [redacted]',
    'x-api-key': '[redacted]',
    'api-key': '[redacted]',
    'x-goog-api-key': '[redacted]',
    Cookie: '[redacted]',
    'x-amz-security-token': '[redacted]',
    'x-custom': '[redacted]',
    'content-type': 'application/json',
    'anthropic-version': '2023-06-01',
    'x-note': 'has [redacted] inside',
    'x-monkey': 'no key',
    'x-goog-user-project': 'p',
  })
})

test('addresses keep what is no secret', () => {
  expect(redactor.url('https://host/v1/m:generate?alt=sse&key=abc&api-version=1')).toBe(
    'https://host/v1/m:generate?alt=sse&key=[redacted]&api-version=1',
  )
  expect(redactor.url('https://user:password@host/canary-1/v1')).toBe('https://[redacted]@host/[redacted]/v1')
  expect(redactor.url('https://user:p@ssw@rd@host/v1/a@b')).toBe('https://[redacted]@host/v1/a@b')
  expect(redactor.url('local:chat')).toBe('local:chat')
})
