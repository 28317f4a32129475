/** How long limits on Redis hold up the end of a gateway. */
import { afterAll, describe, expect, test } from 'bun:test'
import { openReplica, redisDatabase } from '../../../tests/support/redis-replicas.ts'

const url = redisDatabase('limiter')
if (url === undefined) console.log('skipped: leaving replicas (set TEST_REDIS_URL)')

describe.if(url !== undefined)('on Redis', () => {
  const opened: { close(): unknown }[] = []
  afterAll(() => Promise.all(opened.map(one => one.close())))

  test('a replica that leaves waits for the answer to what it gives back, and no longer', async () => {
    const replica = await openReplica(opened, url!)()
    const limit = { id: `key:${crypto.randomUUID()}`, requestsPerMinute: 100, tokensPerMinute: null }
    const verdict = await replica.take([{ ...limit, parallelRequests: 5 }], 0)
    if (verdict.allowed) verdict.release(0)
    const fromMs = performance.now()
    await replica.limiter.close()
    expect(performance.now() - fromMs).toBeLessThan(500)
  })
})
