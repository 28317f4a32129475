import { afterEach, describe, expect, test } from 'bun:test'
import { until } from '../../../tests/support/until.ts'
import type { SessionPin } from '../../core/session-pins.ts'
import { RedisPins } from './redis-pins.ts'

const redisUrl = process.env.TEST_REDIS_URL
if (redisUrl === undefined) console.log('skipped: pins of sessions across replicas (set TEST_REDIS_URL)')

describe.if(redisUrl !== undefined)('pins of sessions', () => {
  const opened: RedisPins[] = []
  afterEach(() => {
    for (const one of opened.splice(0)) one.close()
  })
  const open = (installation: string, url = redisUrl!) => {
    const made = new RedisPins({ redisUrl: url, installation })
    opened.push(made)
    return made
  }
  const followed = (pins: RedisPins) => {
    const heard: SessionPin[] = []
    pins.follow(pin => void heard.push(pin))
    return { heard, now: () => heard.map(({ key, deploymentId }) => [key, deploymentId]) }
  }

  test('come to every replica of the installation, also to one that starts later', async () => {
    const installation = crypto.randomUUID()
    const [one, two, other] = [open(installation), open(installation), open(crypto.randomUUID())]
    const [atTwo, elsewhere] = [followed(two), followed(other)]
    one.put(4_000_000_001, 'a', 60_000)
    one.put(7, 'b:c d', 60_000)
    const all = [
      [4_000_000_001, 'a'],
      [7, 'b:c d'],
    ]
    await until(() => atTwo.heard.length === 2)
    expect(atTwo.now()).toEqual(all)
    const late = followed(open(installation))
    await until(() => late.heard.length === 2)
    expect(late.now()).toEqual(all)
    for (const { ageMs } of late.heard) expect(ageMs).toBeWithin(0, 10_000)
    one.put(7, 'a', 60_000)
    await until(() => late.heard.length === 3)
    expect([late.now().at(-1), elsewhere.heard]).toEqual([[7, 'a'], []])
  })

  test('are read in pieces where there are many', async () => {
    const installation = crypto.randomUUID()
    const one = open(installation)
    for (let key = 0; key < 2500; key++) one.put(key, 'a', 60_000)
    const late = followed(open(installation))
    await until(() => late.heard.length === 2500)
    expect(late.heard.map(({ key }) => key)).toEqual(Array.from({ length: 2500 }, (_, at) => at))
  })

  test('are lost without an error while Redis is away', async () => {
    const away = open('x', 'redis://127.0.0.1:1')
    const { heard } = followed(away)
    away.put(1, 'a', 60_000)
    await away.read()
    expect(heard).toEqual([])
  })
})
