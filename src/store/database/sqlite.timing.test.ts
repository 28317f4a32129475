import { afterAll, expect, test } from 'bun:test'
import { GatewayError } from '../../core/errors.ts'
import { whileAvailable } from './open.ts'
import { holdLock, refusal, sqliteRig, watchLoop } from './sqlite-fixture.ts'

const cleanups: (() => Promise<void> | void)[] = []

afterAll(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

const rig = () => sqliteRig(cleanups)

test('locked for a while by another process: writes wait, the thread does not, reads go on', async () => {
  const here = await rig()
  const { released } = await holdLock(here.path, 1200)
  const loop = watchLoop()
  const from = performance.now()
  const writes = Promise.all([here.put('a'), here.put('b'), here.putInTransaction('c'), here.putInTransaction('d')])
  let reads = 0
  let done = false
  void writes.finally(() => (done = true)).catch(() => {})
  while (!done) {
    await here.names()
    reads++
    await Bun.sleep(10)
  }
  await writes
  expect(performance.now() - from).toBeGreaterThan(900)
  expect(reads).toBeGreaterThan(30)
  expect(loop.stop()).toBeLessThan(250)
  expect(await here.names()).toEqual(['a', 'b', 'c', 'd'])
  await released
})

test('hundreds of writers that wait for the lock do not hold up the thread together', async () => {
  const here = await rig()
  const { released } = await holdLock(here.path, 1000)
  const writes = Promise.all(Array.from({ length: 300 }, (_, at) => here.put(`n${at}`)))
  const loop = watchLoop()
  await Bun.sleep(700)
  expect(loop.stop()).toBeLessThan(150)
  await writes
  expect(await here.names()).toHaveLength(300)
  await released
})

test('locked for long: 503 before callers give up, with Retry-After, and nothing is written later', async () => {
  const here = await rig()
  const { released } = await holdLock(here.path, 5200)
  const loop = watchLoop()
  const from = performance.now()
  const [plain, whole] = await Promise.all([
    refusal(whileAvailable({}, 'keys', () => here.put('a'))),
    refusal(whileAvailable({}, 'keys', () => here.putInTransaction('b'))),
  ])
  expect(performance.now() - from).toBeLessThan(5000)
  expect(loop.stop()).toBeLessThan(250)
  for (const error of [plain, whole]) {
    expect(error).toBeInstanceOf(GatewayError)
    expect(error).toMatchObject({
      kind: 'overloaded',
      status: 503,
      retryAfterMs: 1000,
      message: expect.stringContaining('stayed locked for 4.5 seconds'),
    })
  }
  await released
  await Bun.sleep(200)
  expect(await here.names()).toEqual([])
  await here.put('c')
  expect(await here.names()).toEqual(['c'])
}, 15_000)
