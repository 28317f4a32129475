/** How often passwords may be tried, by a clock that the test sets. */
import { beforeEach, expect, test } from 'bun:test'
import { LoginAttempts } from './login-attempts.ts'

const clock = { nowMs: 0, monotonicMs: () => clock.nowMs }
let attempts: LoginAttempts
beforeEach(() => {
  clock.nowMs = 0
  attempts = new LoginAttempts(clock)
})

const from = (address: string, account: string | undefined = 'ann', device?: string) =>
  attempts.admit({ account, address, device })
/** Fails until it is refused; how often it was let in. */
function failures(address: string, account?: string, device?: string): number {
  for (let count = 0; ; count++) if (!from(address, account, device).admitted) return count
}

test('an address has five tries for an account, and one more every 30 seconds', () => {
  expect(failures('192.0.2.1')).toBe(5)
  expect(from('192.0.2.1')).toEqual({ admitted: false, retryAfterMs: 30_000, isFirst: false })
  clock.nowMs += 29_999
  expect(from('192.0.2.1').admitted).toBe(false)
  clock.nowMs += 1
  expect(failures('192.0.2.1')).toBe(1)
  clock.nowMs += 3_600_000
  expect(failures('192.0.2.1')).toBe(5)
})

test('an address has thirty tries for all accounts together', () => {
  let admitted = 0
  for (let at = 0; at < 100; at++) if (from('192.0.2.1', `user-${at}`).admitted) admitted++
  expect(admitted).toBe(30)
  expect(from('192.0.2.2', 'user-1').admitted).toBe(true)
  // Links cannot be guessed, and count for the address alone.
  const link = () => attempts.admit({ account: undefined, address: '192.0.2.3', device: undefined }).admitted
  expect(Array.from({ length: 40 }, link).filter(one => one)).toHaveLength(30)
  clock.nowMs += 10_000
  expect(from('192.0.2.1', 'another').admitted).toBe(true)
})

test('the right password gives its try back', () => {
  for (let at = 0; at < 1000; at++) {
    const admission = from('192.0.2.1')
    if (!admission.admitted) throw new Error(`refused at ${at}`)
    admission.succeeded()
  }
  expect(failures('192.0.2.1')).toBe(5)
})

test('however many addresses fail, one that has not failed has a try', () => {
  let admitted = 0
  for (let at = 0; at < 10_000; at++) if (from(`10.0.${at >> 8}.${at & 255}`).admitted) admitted++
  expect(admitted).toBe(10_000)
  // Each of them has failed, so that none has another one while the account is under attack.
  for (let at = 0; at < 100; at++) expect(from(`10.0.0.${at}`).admitted).toBe(false)
  expect(from('192.0.2.1').admitted).toBe(true)
  expect(from('192.0.2.1').admitted).toBe(false)
  clock.nowMs += 30_000
  expect(from('192.0.2.1').admitted).toBe(true)
})

test('a browser that has signed in before has tries of its own', () => {
  failures('192.0.2.1')
  for (let at = 0; at < 100; at++) from(`10.0.0.${at}`)
  expect(failures('192.0.2.1', 'ann', 'device-1')).toBe(10)
  expect(failures('192.0.2.1', 'ann', 'device-2')).toBe(10)
})

test('an IPv6 client is its network of 64 bits, an IPv4 client the same however it is written', () => {
  expect(failures('2001:db8::1')).toBe(5)
  for (const same of ['2001:db8::2', '2001:db8:0:0:ffff::1', '2001:0DB8:0:0::9', '2001:db8::1%eth0'])
    expect([same, from(same).admitted]).toEqual([same, false])
  expect(from('2001:db8:0:1::1').admitted).toBe(true)
  expect(failures('::ffff:192.0.2.9')).toBe(5)
  expect(from('192.0.2.9').admitted).toBe(false)
})

/** In which turn a try waits that was let in. */
const turnOf = (...who: Parameters<typeof from>) => {
  const admission = from(...who)
  return admission.admitted ? admission.turn : 'refused'
}

test('an address that has not failed lately comes before one that has, and one that signed in before both', () => {
  expect([turnOf('192.0.2.1'), turnOf('192.0.2.1', 'bob')]).toEqual(['first-try', 'other'])
  expect(turnOf('192.0.2.1', 'ann', 'device-1')).toBe('known')
  const right = from('192.0.2.2')
  if (right.admitted) right.succeeded()
  expect([turnOf('192.0.2.2'), turnOf('192.0.2.2', 'bob')]).toEqual(['known', 'other'])
  clock.nowMs += 20_000
  expect(turnOf('192.0.2.1')).toBe('first-try')
})

test('a flood at the account does not bind an address that has signed in to it before', () => {
  const right = from('192.0.2.2')
  if (right.admitted) right.succeeded()
  from('192.0.2.2')
  for (let at = 0; at < 100; at++) from(`10.0.0.${at}`)
  expect(turnOf('192.0.2.2')).toBe('known')
})

test('a try that could not be checked is no failure, and who comes again when asked to goes before others', () => {
  const notChecked = (address: string) => {
    const admission = from(address)
    if (!admission.admitted) throw new Error('refused')
    admission.notChecked()
    return admission.turn
  }
  for (let at = 0; at < 100; at++) expect([at, notChecked('192.0.2.1')]).toEqual([at, 'first-try'])
  clock.nowMs += 4000
  expect([notChecked('192.0.2.1'), notChecked('192.0.2.2')]).toEqual(['returning', 'first-try'])
  // Once for each time that it was asked to.
  clock.nowMs += 4000
  expect([turnOf('192.0.2.1'), turnOf('192.0.2.1')]).toEqual(['returning', 'other'])
})

test('the first refusal since a try is marked, and no other', () => {
  failures('192.0.2.1')
  expect(from('192.0.2.1')).toMatchObject({ isFirst: false })
  clock.nowMs += 30_000
  expect(from('192.0.2.1').admitted).toBe(true)
  expect(from('192.0.2.1')).toMatchObject({ admitted: false, isFirst: true })
  expect(from('192.0.2.1')).toMatchObject({ admitted: false, isFirst: false })
})
