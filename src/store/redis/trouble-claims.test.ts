/** Replicas that have the same trouble: one reports it, over Redis, and of Redis itself over the database. */
import { RedisClient } from 'bun'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { testServers } from '../database/database-fixture.ts'
import type { TestDatabase } from '../database/database-fixture.ts'
import { openDatabase } from '../database/open.ts'
import type { Database } from '../database/open.ts'
import { createTroubleClaims } from './trouble-claims.ts'

const redisUrl = process.env.TEST_REDIS_URL

for (const server of testServers('who reports a trouble'))
  describe(server.name, () => {
    let made: TestDatabase
    let database: Database
    let nowMs = 1_000_000
    beforeAll(async () => {
      made = await server.createMigrated()
      database = await openDatabase(made.url)
    })
    afterAll(async () => {
      await database.close()
      await made.remove()
    })
    const open = (installation: string) =>
      createTroubleClaims({
        redisUrl: redisUrl ?? 'redis://127.0.0.1:1',
        installation,
        database,
        clock: { epochMs: () => nowMs },
      })

    test.each(redisUrl === undefined ? ['redis'] : ['redis', 'database'])('%s', async trouble => {
      const installation = crypto.randomUUID()
      const [a, b, c] = [open(installation), open(installation), open(installation)]
      const all = [a, b, c]
      const reported = { trouble, sinceMs: 7 }
      const began = await Promise.all(all.map(one => one.began(reported)))
      expect(began.filter(Boolean)).toHaveLength(1)
      for (const one of all) await one.lasts(trouble)
      expect(await a.began(reported)).toBe(false)
      expect(await a.ended(trouble)).toBe(false)
      const ended = await Promise.all([b.ended(trouble), c.ended(trouble)])
      expect(ended.filter(Boolean)).toHaveLength(1)
      expect(await a.ended(trouble)).toBe(false)
      // It comes back.
      expect(await b.began(reported)).toBe(true)
      expect(await b.ended(trouble)).toBe(true)
      for (const one of all) one.close()
    })

    test('a replica that died with its trouble keeps no other from telling', async () => {
      const [dead, living] = [open('x'), open('x')]
      const reported = { trouble: 'redis', sinceMs: nowMs }
      expect(await dead.began(reported)).toBe(true)
      nowMs += 30_000
      await dead.lasts('redis')
      expect(await living.began(reported)).toBe(false)
      nowMs += 45_000
      await living.lasts('redis')
      expect(await living.takeLeft()).toEqual([])
      nowMs += 45_000
      expect(await living.ended('redis')).toBe(true)
      for (const one of [dead, living]) one.close()
    })

    test('the end of what a dead replica has reported is reported by another one, once', async () => {
      const [dead, other, third] = [open('x'), open('x'), open('x')]
      const reported = { trouble: 'redis', sinceMs: nowMs }
      expect(await dead.began(reported)).toBe(true)
      // It is well again before the other one counts as dead.
      expect(await other.began(reported)).toBe(false)
      expect(await other.ended('redis')).toBe(false)
      nowMs += 59_000
      expect(await third.takeLeft()).toEqual([])
      nowMs += 2000
      const left = await Promise.all([other.takeLeft(), third.takeLeft()])
      expect(left.flat()).toEqual([reported])
      expect(await other.began(reported)).toBe(true)
      expect(await other.ended('redis')).toBe(true)
      for (const one of [dead, other, third]) one.close()
    })

    test.skipIf(redisUrl === undefined)('over Redis, too', async () => {
      const installation = crypto.randomUUID()
      const [dead, living] = [open(installation), open(installation)]
      const reported = { trouble: 'deployment:a', sinceMs: 5 }
      expect(await dead.began(reported)).toBe(true)
      expect(await living.takeLeft()).toEqual([])
      await living.lasts('deployment:a')
      const admin = new RedisClient(redisUrl!)
      const seen = `modelgate:troubles:{${installation}}:seen`
      const silence = async () => {
        for (const one of await admin.send('ZRANGE', [seen, '0', '-1'])) await admin.send('ZADD', [seen, '1', one])
      }
      await silence()
      await living.lasts('deployment:a')
      expect(await living.takeLeft()).toEqual([])
      await silence()
      expect(await living.takeLeft()).toEqual([reported])
      expect(await dead.takeLeft()).toEqual([])
      admin.close()
      for (const one of [dead, living]) one.close()
    })
  })
