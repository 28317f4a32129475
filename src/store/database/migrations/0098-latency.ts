import { createLatencyText } from '../../ledger/sums/latency-table.ts'
import { latencyFromDayMark } from '../../ledger/ledger-retention.ts'
import type { Migration } from '../migration.ts'
import { dayMs } from '../../../lib/clock.ts'

/**
 * How long calls took, by hour and day. Counts begin with the upgrade: `ledger verify` compares from the day after it,
 * and `ledger rebuild` makes those of earlier days where they are wanted. To make them here would hold calls up.
 */
export const ninetyEighth: Migration = {
  id: 98,
  name: 'latency',
  async up(sql, kind) {
    await sql.unsafe(createLatencyText(kind))
    const [last] = (await sql`select max(started_at_ms) as ms from ledger`) as { ms: unknown }[]
    if (last?.ms != null)
      await sql`insert into installation (name, value)
        values (${latencyFromDayMark}, ${String(Math.floor(Number(last.ms) / dayMs) + 1)})`
  },
}
