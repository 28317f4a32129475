/** Which pages may change something with a session. */
import { expect, test } from 'bun:test'
import { checkSameOrigin } from './session-cookie.ts'

const form = { 'content-type': 'multipart/form-data; boundary=x' }
const check = (headers: Record<string, string>, baseUrl: string | null, secure: boolean) =>
  checkSameOrigin(new Headers(headers), baseUrl, secure)

test('a form of the gateway itself counts over plain http that is allowed, where browsers name no site', () => {
  const baseUrl = 'http://gateway.example.com:4000'
  check({ ...form, origin: baseUrl }, baseUrl, false)
  for (const origin of ['http://evil.example', 'http://gateway.example.com', 'null'])
    expect(() => check({ ...form, origin }, baseUrl, false)).toThrow('need the `Origin`')
  expect(() => check(form, baseUrl, false)).toThrow('need the `Origin`')
  for (const type of ['text/plain', 'application/x-www-form-urlencoded'])
    expect(() => check({ 'content-type': type, origin: baseUrl }, baseUrl, false)).toThrow('application/json')
  expect(() => check({ ...form, origin: baseUrl, 'sec-fetch-site': 'cross-site' }, baseUrl, false)).toThrow()
})

test('over https the browser has to name the site, too', () => {
  const baseUrl = 'https://gateway.example.com'
  check({ ...form, origin: baseUrl, 'sec-fetch-site': 'same-origin' }, baseUrl, true)
  expect(() => check({ ...form, origin: baseUrl }, baseUrl, true)).toThrow('application/json')
})
