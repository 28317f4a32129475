import type { Migration } from '../migration.ts'

const sources = [
  ['user', 'key', 'user_id'],
  ['team', 'key', 'team_id'],
  ['tag', 'tag', 'entity'],
] as const

/**
 * What users, teams and tags have spent, by day. Filled from the daily sums, which may be older than the rows that are
 * kept; days whose sums are pending are added with them.
 */
export const sixtyFifth: Migration = {
  id: 65,
  name: 'daily-spend',
  async up(sql, kind) {
    const [integer, options] =
      kind === 'sqlite' ? ['integer', 'strict, without rowid'] : ['bigint', 'with (fillfactor = 80)']
    await sql.unsafe(`create table ledger_daily_spend (scope text not null, entity text not null, day integer not null,
      cost_nano_usd ${integer} not null, primary key (scope, entity, day)) ${options}`)
    await sql.unsafe('create index ledger_daily_spend_day on ledger_daily_spend (day)')
    for (const [scope, from, column] of sources)
      await sql.unsafe(`insert into ledger_daily_spend (scope, entity, day, cost_nano_usd)
        select '${scope}', ${column}, day, cast(sum(cost_nano_usd) as bigint) from ledger_daily
        where scope = '${from}' and ${column} <> '' group by ${column}, day`)
  },
}
