/** Connections that will never answer are given up, and no others. */
import { expect, test } from 'bun:test'
import { startTcpProxy } from '../../../tests/support/network/tcp-proxy.ts'
import { until } from '../../../tests/support/until.ts'
import { unlessSilent } from './open.ts'
import { openPool } from './postgres.ts'
import type { PoolTimes } from './postgres.ts'

const url = process.env.TEST_DATABASE_URL
if (!url) console.log('skipped: connections to Postgres (set TEST_DATABASE_URL)')

async function start(times: Partial<PoolTimes>) {
  const there = new URL(url!)
  const wire = await startTcpProxy(there.hostname, Number(there.port || 5432))
  there.hostname = '127.0.0.1'
  there.port = String(wire.port)
  const { sql, isSilent, close } = openPool(there.href, 2, { replaceMs: 300, doubtMs: 60_000, probeMs: 3000, ...times })
  const backend = async () => ((await sql`select pg_backend_pid() as pid`) as { pid: number }[])[0]!.pid
  return { wire, sql, isSilent, backend, close: () => Promise.all([close(0), wire.close()]) }
}

test.skipIf(!url)('a server that vanished without a word is asked over new connections, helpers included', async () => {
  const { wire, sql, close } = await start({})
  await Promise.all([sql`select pg_sleep(0.05)`, sql`select pg_sleep(0.05)`])
  wire.mute()
  const hung = Promise.allSettled([sql`select 1`, sql.unsafe('select 1'), sql.begin(tx => tx`select 1`)])
  const answers = () =>
    Promise.race([sql`select 1 where 1 in ${sql([1])}`.then(() => true), Bun.sleep(100).then(() => false)])
  await until(answers, 'it answers')
  expect(await sql.begin(async tx => (await tx`select 2 as two`)[0])).toEqual({ two: 2 })
  await close()
  void hung
})

test.skipIf(!url)(
  'connections stay where the server is slow, stands still for all, or a transaction lasts',
  async () => {
    // Shorter, and a busy machine that takes as long to begin a connection is taken for a server without an answer.
    const { wire, sql, backend, close } = await start({ replaceMs: 1000 })
    const pids = new Set(await Promise.all([backend(), backend()]))
    await sql.begin(async tx => {
      await tx`select 1`
      await Bun.sleep(1200)
      return tx`select 1`
    })
    wire.hold()
    const held = backend()
    await Bun.sleep(1200)
    wire.restore()
    pids.add(await held)
    pids.add(await backend())
    expect(pids.size).toBeLessThan(3)
    await close()
  },
)

/** Looks every 2.5 ms. */
const impatient = { replaceMs: 60, doubtMs: 20, probeMs: 150 }

test.skipIf(!url)('a server that stands still is silent until it answers, and requests ask it nothing', async () => {
  const { wire, sql, isSilent, close } = await start(impatient)
  await sql`select 1`
  const fromMs = performance.now()
  expect(isSilent(fromMs)).toBe(false)
  wire.hold()
  // Insists, as ledger and leases do.
  const insisting = sql`select 1 as one`
  await until(() => isSilent(), 'it is silent')
  let asked = 0
  const ask = () => unlessSilent({ isSilent }, () => Promise.resolve(++asked))
  await expect(ask()).rejects.toThrow('the database does not answer')
  expect(asked).toBe(0)
  wire.restore()
  expect((await insisting)[0]).toEqual({ one: 1 })
  await until(() => !isSilent(), 'it answers')
  expect(await ask()).toBe(1)
  expect([isSilent(fromMs), isSilent(performance.now())]).toEqual([true, false])
  await close()
})

test.skipIf(!url)(
  'a host whose packets are dropped is silent until a new connection answers, asked by none',
  async () => {
    const { wire, sql, isSilent, close } = await start(impatient)
    await sql`select 1`
    wire.stall()
    const lost = Promise.allSettled([sql`select 1`])
    await until(() => isSilent(), 'it is silent')
    wire.restore()
    // The statement was closed with its connection: the probe alone asks.
    await lost
    await until(() => !isSilent(), 'it answers')
    await close()
  },
)

test.skipIf(!url)('a server with a slow statement is not silent', async () => {
  const { sql, isSilent, close } = await start({ ...impatient, probeMs: 3000 })
  const seen = new Set<boolean>()
  const timer = setInterval(() => seen.add(isSilent()), 5)
  await sql`select pg_sleep(0.09)`
  clearInterval(timer)
  expect([...seen]).toEqual([false])
  await close()
})
