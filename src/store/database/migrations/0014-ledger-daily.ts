import { createRollupTexts } from '../../ledger/sums/rollup-table.ts'
import type { Migration } from '../migration.ts'
import { dayMs } from '../../../lib/clock.ts'

/**
 * Daily sums of the ledger. The days of rows that are there already are noted as pending: the ledger's worker sums them
 * one by one, because a long ledger would hold the migration's lock for minutes.
 */
export const fourteenth: Migration = {
  id: 14,
  name: 'ledger-daily',
  async up(sql, kind) {
    for (const text of createRollupTexts(kind)) await sql.unsafe(text)
    const [span] = (await sql`select min(started_at_ms) as first, max(started_at_ms) as last from ledger`) as {
      first: unknown
      last: unknown
    }[]
    if (span?.first != null)
      for (let day = dayOf(span.first); day <= dayOf(span.last); day++)
        await sql`insert into ledger_daily_pending (day)
          select ${day} where exists (select 1 from ledger
            where started_at_ms >= ${day * dayMs} and started_at_ms < ${(day + 1) * dayMs})`
    // For searches of one team, and of one customer.
    await sql`create index ledger_team on ledger (team_id, started_at_ms) where team_id is not null`
    await sql`create index ledger_customer on ledger (end_user, started_at_ms) where end_user is not null`
  },
}

const dayOf = (ms: unknown): number => Math.floor(Number(ms) / dayMs)
