/** Replicas that have the same trouble: one tells of it, over Redis, and of Redis itself over the database. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { testServers } from '../database/database-fixture.ts'
import type { TestDatabase } from '../database/database-fixture.ts'
import { openDatabase } from '../database/open.ts'
import type { Database } from '../database/open.ts'
import { createTroubleClaims } from './trouble-claims.ts'

const redisUrl = process.env.TEST_REDIS_URL

for (const server of testServers('who tells of a trouble'))
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
      const began = await Promise.all(all.map(one => one.began(trouble)))
      expect(began.filter(Boolean)).toHaveLength(1)
      for (const one of all) await one.lasts(trouble)
      expect(await a.began(trouble)).toBe(false)
      expect(await a.ended(trouble)).toBe(false)
      const ended = await Promise.all([b.ended(trouble), c.ended(trouble)])
      expect(ended.filter(Boolean)).toHaveLength(1)
      expect(await a.ended(trouble)).toBe(false)
      // It comes back.
      expect(await b.began(trouble)).toBe(true)
      expect(await b.ended(trouble)).toBe(true)
      for (const one of all) one.close()
    })

    test('a replica that died with its trouble keeps no other from telling', async () => {
      const [dead, living] = [open('x'), open('x')]
      expect(await dead.began('redis')).toBe(true)
      nowMs += 30_000
      await dead.lasts('redis')
      expect(await living.began('redis')).toBe(false)
      nowMs += 45_000
      await living.lasts('redis')
      nowMs += 45_000
      expect(await living.ended('redis')).toBe(true)
      expect(await dead.began('redis')).toBe(true)
      nowMs += 60_001
      expect(await living.began('redis')).toBe(true)
      for (const one of [dead, living]) one.close()
    })
  })
