/** Whose request it is behind proxies. */
import { expect, test } from 'bun:test'
import { readSignInSettings } from '../../config/sections/sign-in.ts'
import { clientAddressOf } from './client-address.ts'

test('the address of a client is the last one that no trusted proxy has', () => {
  const { settings } = readSignInSettings({ trusted_proxies: ['10.0.0.0/8', '2001:db8::/32'] }, {})
  const of = (forwarded: string, peerAddress = '10.0.0.1') =>
    clientAddressOf({ headers: new Headers({ 'x-forwarded-for': forwarded }), peerAddress }, settings.isTrustedProxy)
  expect(of('192.0.2.1')).toBe('192.0.2.1')
  // What the client wrote itself stands before it.
  expect(of('198.51.100.1, 192.0.2.1, 10.1.1.1')).toBe('192.0.2.1')
  expect(of('192.0.2.1:4711')).toBe('192.0.2.1')
  expect(of('[2001:db9::1]:4711, 2001:db8::1')).toBe('2001:db9::1')
  expect(of('192.0.2.1', '203.0.113.1')).toBe('203.0.113.1')
  expect(of('')).toBe('10.0.0.1')
  expect(of('192.0.2.1, not an address')).toBe('10.0.0.1')
  expect(of('10.0.0.3, 10.0.0.2')).toBe('10.0.0.3')
})
