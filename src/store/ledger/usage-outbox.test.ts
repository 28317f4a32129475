import { expect, test } from 'bun:test'
import { testServers } from '../database/database-fixture.ts'
import { openDatabase } from '../database/open.ts'
import { createUsageOutbox } from './usage-outbox.ts'
import { hourMs } from '../../lib/clock.ts'

for (const server of testServers('the usage outbox'))
  test(`${server.name}: what waits for a date that a clock has gone back from is due, after the rest`, async () => {
    const made = await server.createMigrated()
    const database = await openDatabase(made.url)
    const outbox = createUsageOutbox(database)
    await outbox.use(['webhook'])
    const nowMs = 1_000 * hourMs
    const due = { past: nowMs, soon: nowMs + hourMs, later: nowMs + 9000 * hourMs }
    for (const [id, dueAtMs] of Object.entries(due))
      await database.sql`insert into usage_outbox (destination, request_id, attempts, due_at_ms)
        values ('webhook', ${id}, 0, ${dueAtMs})`
    const lease = async (owner: string) => {
      const rows = await outbox.lease({ destination: 'webhook', owner, nowMs, leaseMs: 45_000, limit: 10 })
      return rows.map(one => one.id)
    }
    expect([await lease('a'), await lease('b'), await lease('c')]).toEqual([['past'], ['later'], []])
    await database.close()
    await made.remove()
  })
