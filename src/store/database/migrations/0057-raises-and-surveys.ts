import type { Migration } from '../migration.ts'

/** Everything with a budget. */
const tables = ['virtual_keys', 'organizations', 'teams', 'users', 'customers', 'tags', 'memberships'] as const

/**
 * Why a budget was raised for a while, and all budgets without reading all keys and users: also those of single models,
 * and those of members. The condition is that of `Where.budgeted` (store/tenancy/where.ts), word for word: SQLite
 * compares the texts. The indexes of migration 30 serve the version before.
 */
export const fiftySeventh: Migration = {
  id: 57,
  name: 'raises-and-surveys',
  async up(sql) {
    for (const table of [...tables, 'budgets'])
      await sql.unsafe(`alter table ${table} add column budget_increase_reason text`)
    const own = "max_budget_nano_usd is not null or soft_budget_nano_usd is not null or model_max_budget <> '{}'"
    for (const table of tables) {
      const order = table === 'memberships' ? 'created_at_ms, user_id' : 'created_at_ms, id'
      await sql.unsafe(`create index ${table}_surveyed on ${table} (${order}) where (${own} or budget_id is not null)`)
    }
    await sql.unsafe(`create index teams_member_budget on teams (id) where member_max_budget_nano_usd is not null`)
  },
}
