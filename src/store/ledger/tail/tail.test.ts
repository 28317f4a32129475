/**
 * Calls are given to those who follow them, in memory and between replicas: bounds, gaps, and Redis that goes and
 * comes.
 */
import { afterEach, expect, test } from 'bun:test'
import type { TailFollower, TailPiece } from '../../../core/ledger/ledger-tail.ts'
import { KeyRing } from '../../../lib/encryption.ts'
import { Secret } from '../../../lib/secret.ts'
import { startTcpProxy } from '../../../../tests/support/network/tcp-proxy.ts'
import { exampleRow } from '../ledger-fixture.ts'
import { RedisTail } from './redis-tail.ts'
import { MemoryTail } from './tail.ts'
import { until } from '../../../../tests/support/until.ts'

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

interface Follower extends TailFollower {
  readonly pieces: TailPiece[]
  isEnded: boolean
  ids(): string[]
}

function followerOf(owner = 'key'): Follower {
  const pieces: TailPiece[] = []
  return {
    owner,
    pieces,
    isEnded: false,
    rows: () => ({}),
    piece: piece => void pieces.push(piece),
    ended() {
      this.isEnded = true
    },
    ids: () => pieces.flatMap(({ rows }) => rows.map(row => row.request_id)),
  }
}

function openTail(...[exchange]: ConstructorParameters<typeof MemoryTail>): MemoryTail {
  const tail = new MemoryTail(exchange)
  cleanups.push(() => tail.close())
  return tail
}

const settle = (tail: MemoryTail, from: number, count: number): void => {
  for (let at = from; at < from + count; at++) tail.settled(exampleRow({ request_id: `r${at}` }))
}

/** Follows, and has been told where it begins. */
async function following(tail: MemoryTail, position?: string): Promise<Follower> {
  const follower = followerOf()
  tail.follow(follower, position)
  await until(() => follower.pieces.length > 0)
  return follower
}

test('a piece has a hundred rows, the newest ones; that others were left out is a gap', async () => {
  const tail = openTail()
  const follower = await following(tail)
  expect(follower.pieces.splice(0).map(one => one.hasGap)).toEqual([true])
  settle(tail, 0, 100)
  await until(() => follower.pieces.length > 0)
  expect(follower.pieces.splice(0).map(one => [one.rows.length, one.hasGap])).toEqual([[100, false]])
  settle(tail, 100, 101)
  await until(() => follower.pieces.length > 0)
  const [piece] = follower.pieces
  expect([piece!.rows.length, piece!.rows[0]!.request_id, piece!.hasGap]).toEqual([100, 'r101', true])
})

test('followers of the same rows get one object, which is written once; others their own', async () => {
  const tail = openTail()
  const [first, second] = [await following(tail), await following(tail)]
  const narrow: Follower = { ...followerOf(), rows: () => ({ model: 'other' }) }
  tail.follow(narrow)
  await until(() => narrow.pieces.length > 0)
  for (const one of [first, narrow, second]) one.pieces.length = 0
  settle(tail, 0, 3)
  tail.settled(exampleRow({ request_id: 'of-other', model: 'other' }))
  await until(() => narrow.pieces.length > 0)
  expect(first.pieces[0]!.rows).toHaveLength(4)
  expect(second.pieces[0]).toBe(first.pieces[0]!)
  expect(narrow.ids()).toEqual(['of-other'])
})

test('a storm of calls between two pieces is a gap, and memory stays bounded', async () => {
  const tail = openTail()
  const follower = await following(tail)
  follower.pieces.length = 0
  settle(tail, 0, 5000)
  await until(() => follower.pieces.length > 0)
  const [piece] = follower.pieces
  expect([piece!.rows.length, piece!.rows.at(-1)!.request_id, piece!.hasGap]).toEqual([100, 'r4999', true])
})

test('a follower that comes back gets what it missed, and a gap where that is not kept any more', async () => {
  const tail = openTail()
  const first = await following(tail)
  const start = first.pieces[0]!.position
  settle(tail, 0, 10)
  await until(() => first.ids().length === 10)
  const again = await following(tail, start)
  expect(again.pieces.map(one => [one.rows.length, one.hasGap])).toEqual([[10, false]])
  for (let at = 10; at < 4000; at += 900) {
    settle(tail, at, 900)
    await until(() => first.ids().includes(`r${at + 899}`))
  }
  expect((await following(tail, start)).pieces[0]!.hasGap).toBe(true)
  expect((await following(tail, 'another-7')).pieces[0]!.hasGap).toBe(true)
})

test('an owner follows ten times, and all together two hundred times; who leaves makes room', () => {
  const tail = openTail()
  const leaves = Array.from({ length: 10 }, () => tail.follow(followerOf('one')))
  expect(() => tail.follow(followerOf('one'))).toThrow('10 times already')
  leaves.pop()!()
  tail.follow(followerOf('one'))
  for (let at = 10; at < 200; at++) tail.follow(followerOf(`key-${Math.floor(at / 10)}`))
  expect(() => tail.follow(followerOf('late'))).toThrow('200 pages follow')
  leaves.pop()!()
  tail.follow(followerOf('late'))
})

test('when the process stops all followers are told, and no further one is taken', async () => {
  const tail = openTail()
  const followers = [await following(tail), await following(tail)]
  tail.close()
  expect(followers.map(one => one.isEnded)).toEqual([true, true])
  expect(() => tail.follow(followerOf())).toThrow('is stopping')
})

const redisUrl = process.env.TEST_REDIS_URL

/** Two replicas, of which the own one reaches Redis over the wire. */
async function tailsOfTwo(answerMs?: number) {
  const near = new URL(redisUrl!)
  const wire = await startTcpProxy(near.hostname, Number(near.port || 6379))
  cleanups.push(() => wire.close())
  near.host = `127.0.0.1:${wire.port}`
  const keys = new KeyRing([new Secret('k'.repeat(40))])
  const [own, other] = [near.href, redisUrl!].map(url => {
    const exchange = new RedisTail({ url, keys, ...(answerMs !== undefined && { answerMs }) })
    cleanups.push(() => exchange.stop())
    return openTail(exchange)
  }) as [MemoryTail, MemoryTail]
  return { wire, own, other }
}

test.skipIf(!redisUrl)(
  'while Redis is away own calls come; when it is back there is a gap, and those of others come again',
  async () => {
    const { wire, own, other } = await tailsOfTwo()
    const follower = await following(own)
    let sent = 0
    /** Calls of the other replica, until one comes: it may still have to learn that it is followed. */
    const otherComes = async () => {
      const before = sent
      while (!follower.ids().some(id => id.startsWith('other-') && Number(id.slice(6)) > before)) {
        other.settled(exampleRow({ request_id: `other-${++sent}` }))
        await Bun.sleep(50)
      }
    }
    await otherComes()
    follower.pieces.length = 0
    wire.cut()
    own.settled(exampleRow({ request_id: 'own' }))
    await until(() => follower.ids().includes('own'))
    wire.restore()
    await until(() => follower.pieces.some(one => one.hasGap))
    await otherComes()
    expect(new Set(follower.ids()).size).toBe(follower.ids().length)
  },
)

test.skipIf(!redisUrl)(
  'connections to Redis that fall silent are replaced: calls go on in both directions, behind a gap',
  async () => {
    const { wire, own, other } = await tailsOfTwo(300)
    const [here, far] = await Promise.all([following(own), following(other)])
    wire.mute()
    let sent = 0
    const hears = () => {
      own.settled(exampleRow({ request_id: `own-${++sent}` }))
      other.settled(exampleRow({ request_id: `other-${sent}` }))
      return far.ids().some(id => id.startsWith('own-')) && here.ids().some(id => id.startsWith('other-'))
    }
    await until(hears)
    expect(here.pieces.filter(one => one.hasGap).length).toBeGreaterThan(1)
  },
)
