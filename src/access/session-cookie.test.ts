/** Which pages may change something with a session. */
import { describe, expect, test } from 'bun:test'
import {
  checkNotForeign,
  checkOwnPage,
  checkSameOrigin,
  sessionCookie,
  setCookie,
  shownCookie,
  shownSession,
} from './session-cookie.ts'

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

describe('the cookie of a session', () => {
  const [secureName, plainName] = ['__Host-modelgate_session', 'modelgate_session']
  const shown = (headers: Record<string, string>, baseUrl: string | null = null) =>
    shownSession(new Headers(headers), baseUrl)
  const local = { host: 'localhost:4000' }

  test('is read by its name over https, and by the plain one on this machine or where the address is http', () => {
    expect(shown({})).toBeUndefined()
    expect(shown({ cookie: `a=1; ${secureName}=s1; b=2` })).toEqual({ secret: 's1', secure: true })
    expect(shown({ cookie: `${plainName}=s2` })).toBeUndefined()
    expect(shown({ cookie: `${plainName}=s2`, host: 'gateway.example.com' })).toBeUndefined()
    expect(shown({ cookie: `${plainName}=s2`, ...local })).toEqual({ secret: 's2', secure: false })
    expect(shown({ cookie: `${plainName}=s2` }, 'http://gateway.example.com')).toEqual({ secret: 's2', secure: false })
    expect(shown({ cookie: `${plainName}=s2` }, 'https://gateway.example.com')).toBeUndefined()
    expect(shown({ cookie: `${plainName}=s2; ${secureName}=s1`, ...local })!.secret).toBe('s1')
  })

  test('that is empty or there with several values is none', () => {
    expect(shown({ cookie: `${secureName}=` })).toBeUndefined()
    expect(shown({ cookie: `${secureName}=s1; ${secureName}=s2` })).toBeUndefined()
    expect(shown({ cookie: `${secureName}=s1; ${secureName}=s1` })!.secret).toBe('s1')
    expect(shown({ cookie: secureName })).toBeUndefined()
    expect(shown({ cookie: `${plainName}=`, ...local })).toBeUndefined()
  })

  test('is set for https, or for plain http where that is allowed', () => {
    const set = (headers: Record<string, string>, baseUrl: string | null = null, secret = 's') =>
      sessionCookie(secret, new Headers(headers), baseUrl)
    const https = `${secureName}=s; Path=/; HttpOnly; SameSite=Lax; Secure`
    const plain = `${plainName}=s; Path=/; HttpOnly; SameSite=Lax`
    expect(set({}, 'https://gateway.example.com')).toBe(https)
    expect(set({ origin: 'https://gateway.example.com' })).toBe(https)
    expect(set({ 'x-forwarded-proto': 'HTTPS, http' })).toBe(https)
    expect(set({ 'sec-fetch-site': 'none', host: 'gateway.example.com' })).toBe(https)
    expect(set({ 'sec-fetch-site': 'none', ...local })).toBe(plain)
    expect(set({ origin: 'https://gateway.example.com' }, 'http://gateway.example.com')).toBe(plain)
    expect(() => set({ host: 'gateway.example.com' })).toThrow('signing in over plain http')
    expect(set(local, null, '')).toBe(`${plainName}=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0`)
    const options = { secureName: 'a', plainName: 'b', value: 'v', sameSite: 'Strict', maxAgeSeconds: 60 } as const
    expect(setCookie(new Headers(local), null, options)).toBe('b=v; Path=/; HttpOnly; SameSite=Strict; Max-Age=60')
    expect(shownCookie(new Headers({ ...local, cookie: 'b=v' }), null, options)).toBe('v')
    expect(shownCookie(new Headers({ cookie: 'b=v' }), null, options)).toBeUndefined()
    expect(shownCookie(new Headers({ cookie: 'a=w; b=v' }), null, options)).toBe('w')
    expect(shownCookie(new Headers(local), null, options)).toBeUndefined()
  })
})

test('changes need a body of JSON, or none, from the very origin', () => {
  const own = { host: 'gateway.example.com', origin: 'https://gateway.example.com' }
  const isAllowed = (more: Record<string, string>, baseUrl: string | null = null, secure = true): boolean => {
    try {
      check({ ...own, ...more }, baseUrl, secure)
      return true
    } catch {
      return false
    }
  }
  expect(isAllowed({})).toBe(true)
  expect(isAllowed({ 'content-length': '0' })).toBe(true)
  expect(isAllowed({ 'content-length': '5' })).toBe(false)
  expect(isAllowed({ 'transfer-encoding': 'chunked' })).toBe(false)
  expect(isAllowed({ 'content-type': 'Application/JSON; charset=utf-8', 'content-length': '5' })).toBe(true)
  expect(isAllowed({ origin: 'HTTPS://Gateway.example.com' })).toBe(true)
  expect(isAllowed({ origin: 'http://gateway.example.com' })).toBe(false)
  expect(isAllowed({ origin: 'http://gateway.example.com' }, null, false)).toBe(true)
  expect(isAllowed({ origin: 'https://other.example.com' }, 'https://other.example.com/base')).toBe(true)
})

test('what is read with a session is not asked for by the page of another site', () => {
  const isForeign = (headers: Record<string, string>): boolean => {
    try {
      checkNotForeign(new Headers({ host: 'gateway.example.com', ...headers }), null, true)
      return false
    } catch {
      return true
    }
  }
  expect(['same-origin', 'none', 'same-site', 'cross-site'].map(site => isForeign({ 'sec-fetch-site': site }))).toEqual(
    [false, false, true, true],
  )
  expect(isForeign({})).toBe(false)
  expect(isForeign({ origin: 'https://gateway.example.com' })).toBe(false)
  expect(isForeign({ origin: 'https://evil.example' })).toBe(true)
  expect(() => checkOwnPage(new Headers())).toThrow('sec-fetch-site')
  checkOwnPage(new Headers({ 'sec-fetch-site': 'same-origin' }))
  checkOwnPage(new Headers({ 'x-requested-with': 'fetch' }))
})
