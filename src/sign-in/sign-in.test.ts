/** Small parts of signing in. */
import { expect, test } from 'bun:test'
import type { Session } from '../core/sign-in/session.ts'
import { deviceCookie, knownDevice } from './device-cookie.ts'
import { returnPath } from './return-path.ts'
import { createSessionGuard } from './session-guard.ts'
import { readSignInSettings } from '../config/sections/sign-in.ts'

const requestOf = (headers: Record<string, string>, clientAddress = '10.0.0.1') => ({
  headers: new Headers(headers),
  clientAddress,
})

test('the environment names the operator, and what cannot be used is said', () => {
  const { settings, mistakes } = readSignInSettings({}, { PROXY_BASE_URL: 'https://gateway.example/prefix/' })
  expect([settings.baseUrl, settings.operator, settings.operatorName, mistakes]).toEqual([
    'https://gateway.example/prefix',
    null,
    'admin',
    [],
  ])
  const weak = readSignInSettings({}, { UI_PASSWORD: 'admin', PROXY_BASE_URL: 'gateway.example' })
  expect(weak.mistakes).toEqual([
    expect.stringContaining('PROXY_BASE_URL must be the address'),
    expect.stringContaining('UI_PASSWORD has fewer than 8 characters'),
  ])
  const prefixed = (PROXY_BASE_URL: string) =>
    readSignInSettings({}, { PROXY_BASE_URL, SERVER_ROOT_PATH: '/gw' }).settings.baseUrl
  for (const given of ['https://gw', 'https://gw/', 'https://gw/gw', 'https://gw/gw/'])
    expect([given, prefixed(given)]).toEqual([given, 'https://gw/gw'])
  const named = readSignInSettings({}, { UI_USERNAME: 'root', UI_PASSWORD: 'long enough' }).settings
  expect([named.operatorName, named.operator?.name, String(named.operator?.password)]).toEqual([
    'root',
    'root',
    '[redacted]',
  ])
})

test('a device cookie counts for its account, by its signature', () => {
  const sign = (text: string) => Buffer.from(Bun.hash(text).toString(16).padStart(32, '0'))
  const made = deviceCookie(requestOf({ host: 'localhost' }), 'ann', sign, null)
  expect(made).toMatch(/^modelgate_device=[\w-]{22}\.[\w-]+; Path=\/; HttpOnly; SameSite=Strict; Max-Age=15552000$/)
  const cookie = made.split(';')[0]!
  const known = (shown: string, account: string) =>
    knownDevice(requestOf({ host: 'localhost', cookie: shown }), account, { sign, baseUrl: null })
  expect(known(cookie, 'ann')).toHaveLength(22)
  expect(known(cookie, 'bob')).toBeUndefined()
  expect(known(cookie.replace(/.$/, ''), 'ann')).toBeUndefined()
  expect(known('modelgate_device=x', 'ann')).toBeUndefined()
})

test('own paths are those that stay on the gateway in every browser', () => {
  for (const path of ['/', '/ui/', '/ui/keys?team=a%20b#top', '/a//b', '/@evil.example'])
    expect(returnPath(path)).toBe(path)
  const foreign = [
    '//e.example',
    '/\\e.example',
    '\\\\e.example',
    '/\t/e.example',
    '/ /e',
    'e.example',
    'https://e.example',
    'javascript:1',
    '/ü',
    '/a\\b',
    `/${'a'.repeat(2000)}`,
    '',
    null,
    undefined,
  ]
  for (const path of foreign) expect(returnPath(path)).toBeUndefined()
})

const session: Session = {
  id: 's',
  hash: 'h',
  userId: null,
  method: 'master-key',
  credential: 'mark-1',
  createdAtMs: 0,
  lastUsedAtMs: 0,
  idleEndMs: 1_000_000,
  endMs: 5_000_000,
  userAgent: '',
  clientAddress: '',
}

test('a session lives as long as it is used, up to its end, also where another process has seen the use', async () => {
  const clock = { nowMs: 0, epochMs: () => clock.nowMs }
  let stored: Session | undefined = { ...session }
  const touched: number[] = []
  const sessions = {
    find: async () => stored,
    touch: async (_: Session, nowMs: number) => void touched.push(nowMs),
  }
  let mark = 'mark-1'
  const guard = createSessionGuard({ sessions, clock, credentialOf: () => mark })
  const held = { ...session }
  for (const nowMs of [1, 59_999, 60_000, 60_001, 119_999, 120_000]) {
    clock.nowMs = nowMs
    expect(guard.check(held)).toBe(true)
  }
  // Written once a minute at most.
  expect(touched).toEqual([60_000, 120_000])
  // The clock jumps back: nothing is written, nothing ends.
  clock.nowMs = 10
  expect(guard.check(held)).toBe(true)
  expect(touched).toHaveLength(2)
  clock.nowMs = 1_119_999
  expect(guard.check(held)).toBe(true)
  clock.nowMs = 2_300_000
  stored = { ...session, lastUsedAtMs: 2_000_000, idleEndMs: 3_000_000 }
  expect(await guard.check(held)).toBe(true)
  clock.nowMs = 3_400_000
  stored = undefined
  expect(await guard.check(held)).toBe(false)
  clock.nowMs = 5_000_000
  stored = { ...session, lastUsedAtMs: 4_999_999, idleEndMs: 5_999_999 }
  expect(guard.check({ ...session, lastUsedAtMs: 4_999_999 })).toBe(false)
  clock.nowMs = 1
  mark = 'mark-2'
  expect(guard.check({ ...session })).toBe(false)
  expect(guard.check({ ...session, userId: 'ann', credential: null })).toBe(true)
})

test('a session goes on while the database is away', async () => {
  const clock = { nowMs: 100_000, epochMs: () => clock.nowMs }
  const away = async () => {
    throw new Error('away')
  }
  const guard = createSessionGuard({ sessions: { find: away, touch: away }, clock, credentialOf: () => 'mark-1' })
  const held = { ...session }
  expect(guard.check(held)).toBe(true)
  clock.nowMs += 999_999
  expect(guard.check(held)).toBe(true)
})
