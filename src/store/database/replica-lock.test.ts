/** The claim of the only replica outlives its connection; when it is lost that is reported. See also open.test.ts. */
import { afterEach, describe, expect, test } from 'bun:test'
import { SQL } from 'bun'
import { testServers } from './database-fixture.ts'
import { claimSingleReplica } from './replica-lock.ts'
import { until } from '../../../tests/support/until.ts'

const postgres = testServers('the claim of replicas').find(server => server.name === 'Postgres')
const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function open() {
  const made = await postgres!.create()
  cleanups.push(() => made.remove())
  const reported: boolean[] = []
  const claim = (await claimSingleReplica(made.url, { reportHeld: held => reported.push(held) }))!
  cleanups.push(() => claim.release())
  const admin = new SQL(made.url, { max: 1 })
  cleanups.push(() => admin.close())
  const sessions = async () =>
    (await admin`
      select pid, application_name as name from pg_stat_activity
      where datname = current_database() and application_name like 'modelgate-replica%'`) as {
      pid: number
      name: string
    }[]
  return {
    url: made.url,
    claim,
    reported,
    admin,
    sessions,
    /** Sessions that hold the lock. */
    locking: async () => {
      const rows = (await admin`select pid from pg_locks where locktype = 'advisory' and granted
        and database = (select oid from pg_database where datname = current_database())`) as { pid: number }[]
      return rows.map(({ pid }) => pid)
    },
    end: (pid: number) => admin`select pg_terminate_backend(${pid})`,
  }
}

/** Another replica's start; undefined = refused. */
const other = (url: string) => claimSingleReplica(url).catch(() => undefined)

describe.skipIf(!postgres)('Postgres', () => {
  test('a claim whose connection was ended is taken again, and no other replica gets it', async () => {
    const { url, claim, reported, sessions, locking, end } = await open()
    const [first] = await sessions()
    await end(first!.pid)
    await until(async () => (await locking()).some(pid => pid !== first!.pid), 'a new session has it')
    expect(await other(url)).toBeUndefined()
    expect([claim.held, reported]).toEqual([true, []])
  })

  test('when another was faster it is reported; when that one ends, the claim comes back', async () => {
    const { url, claim, reported, sessions, end } = await open()
    const [first] = await sessions()
    await end(first!.pid)
    let faster: Awaited<ReturnType<typeof other>>
    await until(async () => (faster = await other(url)), 'another starts')
    await until(() => reported.length > 0, 'it is reported')
    expect([claim.held, reported]).toEqual([false, [false]])
    // The replica that has it keeps it: only sessions of our own are terminated.
    await Bun.sleep(1200)
    expect([claim.held, faster!.held]).toEqual([false, true])
    await faster!.release()
    await until(() => claim.held, 'it is ours again')
    expect(reported).toEqual([false, true])
    expect(await other(url)).toBeUndefined()
  })

  test('a session of our own that the server believes alive does not keep us out', async () => {
    const { url, claim, reported, sessions, end } = await open()
    const [first] = await sessions()
    await end(first!.pid)
    // As after a cut of the network: the server still has a session by our name, with the lock.
    const stale = new SQL(url, { max: 1, connection: { application_name: first!.name } })
    cleanups.push(() => stale.close())
    const [row] = (await stale`select pg_advisory_lock(7203612) as locked, pg_backend_pid() as pid`) as {
      pid: number
    }[]
    await until(async () => (await sessions()).every(one => one.pid !== row!.pid), 'it was ended')
    await Bun.sleep(2500)
    expect([claim.held, reported]).toEqual([true, []])
    expect(await other(url)).toBeUndefined()
  })
})
