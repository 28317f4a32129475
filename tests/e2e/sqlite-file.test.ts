/**
 * The SQLite file is deleted, replaced by a backup, or locked by another process, while calls go on: each call is
 * answered and in the ledger once, keys are made or refused, never lost, and readiness tells.
 */
import { afterEach, expect, test } from 'bun:test'
import { Database } from 'bun:sqlite'
import { existsSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { backUp, holdLock } from '../../src/store/database/sqlite-fixture.ts'
import { startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'
import { until } from '../support/until.ts'

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function start() {
  const gateway = await startGateway()
  cleanups.push(() => gateway.stop())
  const path = join(gateway.dataDirectory, 'modelgate.sqlite')
  return { gateway, path, backup: join(gateway.dataDirectory, 'backup'), away: join(gateway.dataDirectory, 'away') }
}

const call = (gateway: Gateway, key: string) =>
  fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: 'chat-model', messages: [{ role: 'user', content: 'tokens: 4' }] }),
  })
const readiness = async (gateway: Gateway) => {
  const response = await fetch(`${gateway.url}/health/readiness`)
  return { ...((await response.json()) as Readiness), status: response.status }
}

interface Readiness {
  readonly db: string
  readonly ledger: string
  readonly ledger_backlog: { readonly records: number }
}

/** Waits for a readiness like this; says what it was last when it does not come. */
async function untilReadiness(gateway: Gateway, condition: (seen: Readiness) => boolean) {
  let seen: Readiness | undefined
  const isSo = async () => condition((seen = await readiness(gateway)))
  await until(isSo, 'the readiness').catch(() => {
    throw new Error(`readiness stays ${JSON.stringify(seen)}`)
  })
}

/** Four clients that call all the time. */
function load(gateway: Gateway, key: string) {
  const ids: string[] = []
  const wrong: string[] = []
  let running = true
  const client = async () => {
    while (running) {
      const response = await call(gateway, key)
      const text = await response.text()
      if (response.status === 200) ids.push(response.headers.get('x-request-id')!)
      else wrong.push(`${response.status} ${text.slice(0, 200)}`)
      await Bun.sleep(40)
    }
  }
  const done = Promise.all([client(), client(), client(), client()])
  const stop = async () => {
    running = false
    await done
  }
  cleanups.push(stop)
  return { ids, wrong, stop }
}

function column(file: string, statement: string): string[] {
  const database = new Database(file, { readwrite: true, create: false })
  const rows = database.query(statement).values() as [string][]
  database.close()
  return rows.map(([value]) => value)
}
const idsIn = (file: string) => column(file, `select request_id from ledger where route = '/v1/chat/completions'`)

for (const how of ['deleted', 'replaced'] as const)
  test(`${how} while calls go on: known keys work, rows wait, no key is made into nothing`, async () => {
    const { gateway, path, backup, away } = await start()
    const key = await gateway.key()
    expect((await call(gateway, key)).status).toBe(200)
    backUp(path, backup)
    const afterBackup = await gateway.key()
    expect((await call(gateway, afterBackup)).status).toBe(200)
    const clients = load(gateway, key)
    // A change of a key, so its making too, is read once more by the next poll (every 500 ms); after that it is known.
    await Bun.sleep(1200)
    await until(async () => clients.ids.length > 20, 'clients are answered')

    renameSync(path, away)
    if (how === 'replaced') renameSync(backup, path)
    const refused = await gateway.admin('/key/generate', { key_alias: 'lost' })
    expect(refused.status).toBe(503)
    expect(refused.headers.get('retry-after')).toBe('1')
    expect(await refused.text()).toContain('cannot be reached')
    // A replacement is taken after a second, which may be over before readiness is asked.
    if (how === 'deleted') {
      await untilReadiness(gateway, ({ db, ledger }) => db === 'disconnected' && ledger.includes('was deleted'))
      expect((await readiness(gateway)).status).toBe(200)
      await Bun.sleep(800)
      expect(existsSync(path)).toBe(false)
      renameSync(backup, path)
    }
    await untilReadiness(gateway, ({ db, ledger }) => db === 'connected' && ledger === 'ok')
    await until(
      async () => (await call(gateway, afterBackup)).status === 401,
      'a key that the backup has not is refused',
    )
    await untilReadiness(gateway, ({ db, ledger }) => db === 'connected' && ledger === 'ok')
    const made = await gateway.key({ key_alias: 'after' })
    expect((await call(gateway, made)).status).toBe(200)
    const back = clients.ids.length
    await until(() => clients.ids.length > back + 30, 'clients are answered after it')
    await clients.stop()
    expect(clients.wrong).toEqual([])
    await untilReadiness(gateway, ({ ledger, ledger_backlog: { records } }) => ledger === 'ok' && records === 0)
    const now = idsIn(path)
    const old = new Set(idsIn(away))
    expect(new Set(now).size).toBe(now.length)
    expect(clients.ids.filter(id => !old.has(id) && !now.includes(id))).toEqual([])
    expect(clients.ids.filter(id => now.includes(id)).length).toBeGreaterThan(50)
    const aliases = `select alias from virtual_keys where alias is not null order by alias`
    expect([column(path, aliases), column(away, aliases)]).toEqual([['after'], []])
  }, 120_000)

test('locked by another process while calls go on: the gateway is not blocked, a key waits for it', async () => {
  const { gateway, path } = await start()
  const key = await gateway.key()
  const strange = await gateway.key()
  const clients = load(gateway, key)
  await until(() => clients.ids.length > 20, 'clients are answered')
  const { released } = await holdLock(path, 2500)
  const from = performance.now()
  const before = clients.ids.length
  const [made, seen] = await Promise.all([gateway.admin('/key/generate', {}), call(gateway, strange)])
  expect([made.status, seen.status]).toEqual([200, 200])
  expect(performance.now() - from).toBeGreaterThan(1500)
  // Calls that write nothing went on while the lock was held.
  expect(clients.ids.length).toBeGreaterThan(before + 20)
  expect((await call(gateway, ((await made.json()) as { key: string }).key)).status).toBe(200)
  await released

  const long = await holdLock(path, 5500)
  const refused = await gateway.admin('/key/generate', {})
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
  expect(await refused.text()).toContain('stayed locked')
  await long.released
  await untilReadiness(gateway, ({ ledger }) => ledger === 'ok')
  await clients.stop()
  expect(clients.wrong).toEqual([])
  await untilReadiness(gateway, ({ ledger, ledger_backlog: { records } }) => ledger === 'ok' && records === 0)
  const rows = idsIn(path)
  expect(new Set(rows).size).toBe(rows.length)
  expect(clients.ids.filter(id => !rows.includes(id))).toEqual([])
}, 120_000)
