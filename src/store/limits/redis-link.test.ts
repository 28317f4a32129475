/** A connection that Redis has accepted and does not answer any more. */
import { RedisClient } from 'bun'
import { expect, test } from 'bun:test'
import { startTcpProxy } from '../../../tests/support/network/tcp-proxy.ts'
import { redisDatabase } from '../../../tests/support/redis-replicas.ts'
import { until } from '../../../tests/support/until.ts'
import { RedisLink } from './redis-link.ts'

const url = redisDatabase('limiter')

test.skipIf(url === undefined)('mail comes again after its connection has fallen silent', async () => {
  const near = new URL(url!)
  const wire = await startTcpProxy(near.hostname, Number(near.port || 6379))
  near.host = `127.0.0.1:${wire.port}`
  const link = new RedisLink({
    url: near.href,
    reportReachable: () => {},
    waits: { answerMs: 100, mailWaitS: 0.2 },
  })
  const admin = new RedisClient(url!)
  const [key, mail] = [`mail-${crypto.randomUUID()}`, [] as string[]]
  const reading = link.readMail(
    () => key,
    counter => mail.push(counter),
  )
  try {
    await admin.rpush(key, 'before')
    await until(() => mail.includes('before'))
    wire.mute()
    // What Redis gives a dead connection is lost: mail is only a hint.
    await until(async () => {
      if (!mail.includes('after')) await admin.rpush(key, 'after')
      return mail.includes('after')
    })
    expect(mail[0]).toBe('before')
  } finally {
    link.close()
    await reading
    await admin.del(key)
    admin.close()
    await wire.close()
  }
})
