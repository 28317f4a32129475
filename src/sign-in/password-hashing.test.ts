/** Whose password is checked first when many wait. */
import { expect, test } from 'bun:test'
import type { WaitingForPassword } from '../core/sign-in/sign-in.ts'
import { createPasswordHashing } from './password-hashing.ts'
import { PasswordQueue } from './password-queue.ts'

const password = 'correct horse battery'

test('passwords are right, wrong, or of no user, in the same way for known browsers and strangers', async () => {
  const hashing = createPasswordHashing()
  const hash = await hashing.hash(password)
  for (const turn of ['known', 'first-try'] as const) {
    const waiting: WaitingForPassword = { turn, network: '192.0.2.1' }
    const verify = (tried: string, stored: string | undefined) => hashing.verify(tried, waiting, async () => stored)
    expect([turn, await verify(password, hash)]).toEqual([turn, true])
    expect([turn, await verify(`${password}.`, hash)]).toEqual([turn, false])
    expect([turn, await verify(password, undefined)]).toEqual([turn, false])
    expect(await verify(password, 'no hash').catch(() => 'no hash')).toBe('no hash')
    // What failed keeps no other waiting.
    expect([turn, await verify(password, hash)]).toEqual([turn, true])
  }
})

/** A line whose only place is taken, until the function that is returned with it is called. */
function busyLine() {
  const line = new PasswordQueue({ runningMax: 1, turns: ['returning', 'first-try', 'other'], rest: 0 })
  let free: () => void = () => {}
  const taken = line.run({ turn: 'other', network: '' }, () => new Promise<void>(done => (free = done)))
  const order: string[] = []
  const refused: string[] = []
  const arrive = (name: string, waiting: WaitingForPassword) =>
    line.run(waiting, async () => void order.push(name)).catch(() => void refused.push(name))
  return { order, refused, arrive, free: () => (free(), taken) }
}

test('those who come again go first, then those who have not failed, and each part of the net in turn', async () => {
  const { order, arrive, free } = busyLine()
  const all = [
    arrive('failed before', { turn: 'other', network: '192.0.2.1' }),
    ...[1, 2, 3].map(at => arrive(`flood ${at}`, { turn: 'first-try', network: `198.51.0.${at}` })),
    arrive('elsewhere', { turn: 'first-try', network: '203.0.113.1' }),
    arrive('IPv6', { turn: 'first-try', network: '2001:db8:1:2::/64' }),
    arrive('again', { turn: 'returning', network: '198.51.0.9' }),
  ]
  await free()
  await Promise.all(all)
  expect(order).toEqual(['again', 'flood 1', 'elsewhere', 'IPv6', 'flood 2', 'flood 3', 'failed before'])
})

test('a flood from one part of the net leaves places to others, and what is too much is refused at once', async () => {
  const { order, refused, arrive, free } = busyLine()
  const flood = Array.from({ length: 500 }, (_, at) =>
    arrive('flood', { turn: 'first-try', network: `198.51.${at >> 8}.${at & 255}` }),
  )
  await Promise.resolve()
  await Promise.resolve()
  const refusedAtOnce = refused.length
  const person = arrive('person', { turn: 'first-try', network: '192.0.2.1' })
  await free()
  await Promise.all([...flood, person])
  expect(refusedAtOnce).toBe(500 - 32)
  expect(order.indexOf('person')).toBe(1)
  expect(order).toHaveLength(33)
})

test('for clients that have left nothing is checked', async () => {
  const { order, refused, arrive, free } = busyLine()
  const left = arrive('left', { turn: 'first-try', network: '192.0.2.1', isLeft: () => true })
  const stays = arrive('stays', { turn: 'first-try', network: '192.0.2.1', isLeft: () => false })
  await free()
  await Promise.all([left, stays])
  expect([order, refused]).toEqual([['stays'], ['left']])
})

test('after a check of a stranger its place rests as long as the check took', async () => {
  const line = new PasswordQueue({ runningMax: 1, turns: ['first-try'], rest: 1 })
  const waiting: WaitingForPassword = { turn: 'first-try', network: '192.0.2.1' }
  const work = async () => {
    const startedMs = performance.now()
    await Bun.sleep(50)
    return { startedMs, endedMs: performance.now() }
  }
  const [first, second] = await Promise.all([line.run(waiting, work), line.run(waiting, work)])
  expect(second!.startedMs - first!.endedMs).toBeGreaterThanOrEqual(49)
})
