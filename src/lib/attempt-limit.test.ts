import { expect, test } from 'bun:test'
import { AttemptLimit, clientNetwork } from './attempt-limit.ts'

test('a name has its attempts at once, then one after another, and hears how long it has to wait', () => {
  let nowMs = 0
  const limit = new AttemptLimit({ max: 2, refillMs: 1000, namesMax: 10, clock: { monotonicMs: () => nowMs } })
  expect([limit.take('a'), limit.take('a')]).toEqual([0, 0])
  nowMs = 400
  expect([limit.take('a'), limit.take('b')]).toEqual([600, 0])
  nowMs = 1000
  expect([limit.take('a'), limit.take('a')]).toEqual([0, 1000])
  nowMs = 60_000
  expect([limit.take('a'), limit.take('a'), limit.take('a')]).toEqual([0, 0, 1000])
})

test('an attempt that is given back is there again, and never more than all', () => {
  const limit = new AttemptLimit({ max: 1, refillMs: 1000, namesMax: 10, clock: { monotonicMs: () => 0 } })
  limit.giveBack('a')
  expect([limit.take('a'), limit.take('a')]).toEqual([0, 1000])
  limit.giveBack('a')
  expect([limit.take('a'), limit.take('a')]).toEqual([0, 1000])
})

test('names beyond the limit of names push out the oldest, so that memory is bounded', () => {
  const limit = new AttemptLimit({ max: 1, refillMs: 1000, namesMax: 2, clock: { monotonicMs: () => 0 } })
  for (const name of ['a', 'b', 'c']) expect(limit.take(name)).toBe(0)
  expect([limit.take('c'), limit.take('b'), limit.take('a')]).toEqual([1000, 1000, 0])
})

test('all addresses of one IPv6 network count as one client, those of IPv4 each as its own', () => {
  const names = ['2001:db8:0:12::1', '2001:DB8:0:12:ffff::9', '2001:0db8:0000:0012:1:2:3:4', '2001:db8:0:12::%eth0']
  expect(new Set(names.map(clientNetwork))).toEqual(new Set(['2001:db8:0:12::/64']))
  expect(clientNetwork('2001:db8:0:13::1')).toBe('2001:db8:0:13::/64')
  expect(['10.0.0.1', '::ffff:10.0.0.1', '::1', '::'].map(clientNetwork)).toEqual([
    '10.0.0.1',
    '10.0.0.1',
    '0:0:0:0::/64',
    '0:0:0:0::/64',
  ])
})
