/** From SQLite to Postgres while a gateway serves: no row lost, none twice, the same money. */
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SQL } from 'bun'
import { runCommand } from '../../src/cli/cli-fixture.ts'
import type { CopiedTable } from '../../src/store/database/copy-database.ts'
import { standardConfig, startGateway } from './harness.ts'

const { TEST_DATABASE_URL: postgres } = process.env
if (!postgres) console.log('skipped: copies to Postgres (set TEST_DATABASE_URL)')
/** More of them: COPY_ROWS=1000000. */
const rowsOfThePast = Number(process.env.COPY_ROWS ?? 20_000)

describe.if(postgres !== undefined)('db copy', () => {
  const name = `copy_${Date.now()}`
  let admin: SQL
  let target: string
  let folder: string
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'modelgate-copy-'))
    admin = new SQL(postgres!, { max: 1 })
    await admin.unsafe(`create database ${name}`)
    const address = new URL(postgres!)
    address.pathname = `/${name}`
    target = address.href
  })
  afterAll(async () => {
    await admin.unsafe(`drop database ${name} with (force)`)
    await admin.close()
    rmSync(folder, { recursive: true, force: true })
  })

  /** Rows as a gateway has written them, at other times, under other ids. */
  function addPast(file: string): void {
    const database = new Database(file)
    const columns = (database.query("select name from pragma_table_info('ledger')").all() as { name: string }[])
      .map(one => one.name)
      .filter(one => one !== 'request_id' && one !== 'started_at_ms')
    database.run('pragma busy_timeout = 20000')
    database.run(
      `insert into ledger (request_id, started_at_ms, ${columns.join(', ')})
       with recursive number(n) as (select 1 union all select n + 1 from number where n < ${rowsOfThePast})
       select 'past-' || n, started_at_ms - n * 60000, ${columns.join(', ')}
       from number, (select * from ledger limit 1)`,
    )
    database.close()
  }

  test('a serving gateway is copied, then what came since; keys work, sums agree, nothing is there twice', async () => {
    const gateway = await startGateway({ config: standardConfig })
    const directory = gateway.dataDirectory
    const file = join(directory, 'modelgate.sqlite')
    const run = (...words: string[]) =>
      runCommand(['db', 'copy', '--to', target, '--data-dir', directory, ...words], {})
    const tableOf = (out: string, wanted: string) =>
      (JSON.parse(out) as { tables: CopiedTable[] }).tables.find(one => one.name === wanted)!
    const key = await gateway.key({ key_alias: 'copied', max_budget: 5 })
    const call = async () => {
      const body = JSON.stringify({ model: 'chat-model', messages: [{ role: 'user', content: 'hi' }] })
      const headers = { authorization: `Bearer ${key}` }
      return (await fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', headers, body })).text()
    }
    const stored = () => {
      const database = new Database(file, { readonly: true })
      const { total } = database.query('select count(*) as total from ledger').get() as { total: number }
      database.close()
      return total
    }
    await call()
    while (stored() < 1) await Bun.sleep(20)
    addPast(file)
    let isCalling = true
    const calling = (async () => {
      while (isCalling) {
        await call()
        await Bun.sleep(5)
      }
    })()
    const first = await run('--json')
    expect([first.code, first.error]).toEqual([0, expect.stringContaining('goes on serving on SQLite')])
    expect((JSON.parse(first.out) as { serving: boolean }).serving).toBe(true)
    expect(tableOf(first.out, 'ledger').rows).toBeGreaterThan(rowsOfThePast)
    isCalling = false
    await calling
    const before = tableOf(first.out, 'ledger').rows
    await gateway.server.stop()
    writeFileSync(join(directory, 'encryption-key'), 'the key of stored secrets of this test\n')
    const last = await run('--json')
    expect([last.code, last.error]).toEqual([0, expect.stringContaining('start the gateway with DATABASE_URL')])
    expect(last.error).toContain('MODELGATE_ENCRYPTION_KEY')
    const ledger = tableOf(last.out, 'ledger')
    expect(ledger.rows).toBe(stored())
    expect(ledger.rows).toBeGreaterThanOrEqual(before)
    // Of the past the rows of the present hours alone are written again.
    expect(ledger.written).toBeLessThan(ledger.rows - rowsOfThePast + 200)
    const sql = new SQL(target, { max: 1 })
    const [sums] = (await sql`
      select count(*) as total, count(distinct request_id) as ids, sum(cost_nano_usd) as nano from ledger`) as [
      Record<string, unknown>,
    ]
    await sql.close()
    const database = new Database(file, { readonly: true, safeIntegers: true })
    const { nano } = database.query('select sum(cost_nano_usd) as nano from ledger').get() as { nano: bigint }
    database.close()
    expect([Number(sums.total), Number(sums.ids), String(sums.nano)]).toEqual([stored(), stored(), String(nano)])
    const again = await run()
    expect([again.code, again.out]).toEqual([0, expect.stringMatching(/\nledger +\d+ +0\n/)])
    const backend = { name: 'the target', open: async () => ({ databaseUrl: target, close: async () => {} }) }
    const moved = await startGateway({ config: standardConfig, backend })
    try {
      const headers = { authorization: `Bearer ${key}` }
      expect((await fetch(`${moved.url}/v1/models`, { headers })).status).toBe(200)
      const refused = await run()
      expect([refused.code, refused.error]).toEqual([1, expect.stringContaining('stop every gateway on it first')])
    } finally {
      await moved.stop()
    }
  }, 300_000)

  test('a database of another installation, and wrong addresses, are refused', async () => {
    const other = await startGateway({ config: standardConfig })
    try {
      const words = ['db', 'copy', '--data-dir', other.dataDirectory]
      for (let turn = 0; turn < 100; turn++) {
        const { error } = await runCommand([...words, '--to', target], {})
        if (error.includes('another installation')) break
        // Connections of the gateway before end a moment later.
        expect(error).toContain('in use by')
        await Bun.sleep(50)
      }
      expect((await runCommand(words, {})).error).toContain('--to names the database: postgres://...')
      const mysql = await runCommand([...words, '--to', 'mysql://u:secret@h/x'], {})
      expect([mysql.code, mysql.error.includes('secret')]).toEqual([2, false])
      const none = await runCommand(['db', 'copy', '--data-dir', join(folder, 'none'), '--to', target], {})
      expect(none.error).toContain('there is no database at')
    } finally {
      await other.stop()
    }
  }, 60_000)
})
