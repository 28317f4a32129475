import { createDerivedTexts, dailyCalls, dailySpend } from '../../ledger/sums/rollup-derived.ts'
import { createUnfilledText } from '../../ledger/sums/rollup-fill.ts'
import { sumNames } from '../../ledger/sums/rollup-table.ts'
import { createTopKeysText } from '../../ledger/sums/rollup-top.ts'
import type { Migration } from '../migration.ts'

/**
 * All sums of what users, teams and tags used by day, and by day and what was called. The days that there are already
 * are noted: the ledger's worker fills them one by one, and until then reports read the daily sums themselves.
 */
export const ninetieth: Migration = {
  id: 90,
  name: 'sums-of-entities',
  async up(sql, kind) {
    const integer = kind === 'sqlite' ? 'integer' : 'bigint'
    for (const sum of sumNames.filter(name => name !== 'cost_nano_usd'))
      await sql.unsafe(`alter table ${dailySpend.name} add column ${sum} ${integer} not null default 0`)
    for (const text of createDerivedTexts(kind, dailyCalls)) await sql.unsafe(text)
    await sql.unsafe(createTopKeysText(kind))
    await sql.unsafe(createUnfilledText)
    await sql.unsafe(`insert into ledger_daily_unfilled (day, parts)
      select distinct day, 0 from ledger_daily where scope = 'total'`)
  },
}
