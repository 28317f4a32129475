/** Connections that will never answer are given up, and no others. */
import { expect, test } from 'bun:test'
import { startTcpProxy } from '../../../tests/support/network/tcp-proxy.ts'
import { until } from '../../../tests/support/until.ts'
import { openPool } from './postgres.ts'

const url = process.env.TEST_DATABASE_URL
if (!url) console.log('skipped: connections to Postgres (set TEST_DATABASE_URL)')

async function start(silentMs: number) {
  const there = new URL(url!)
  const wire = await startTcpProxy(there.hostname, Number(there.port || 5432))
  there.hostname = '127.0.0.1'
  there.port = String(wire.port)
  const { sql, close } = openPool(there.href, 2, silentMs)
  const backend = async () => ((await sql`select pg_backend_pid() as pid`) as { pid: number }[])[0]!.pid
  return { wire, sql, backend, close: () => Promise.all([close(0), wire.close()]) }
}

test.skipIf(!url)('a server that vanished without a word is asked over new connections, helpers included', async () => {
  const { wire, sql, close } = await start(300)
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
    const { wire, sql, backend, close } = await start(300)
    const pids = new Set(await Promise.all([backend(), backend()]))
    await sql.begin(async tx => {
      await tx`select 1`
      await Bun.sleep(600)
      return tx`select 1`
    })
    wire.hold()
    const held = backend()
    await Bun.sleep(600)
    wire.restore()
    pids.add(await held)
    pids.add(await backend())
    expect(pids.size).toBeLessThan(3)
    await close()
  },
)
