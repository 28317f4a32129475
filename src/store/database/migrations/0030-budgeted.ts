import type { Migration } from '../migration.ts'

/**
 * Lists of what has a budget, newest first, and of what uses a named one, without reading all keys and users. The
 * condition is that of `Where.budgeted` (store/tenancy/where.ts), word for word: SQLite compares the texts.
 */
export const thirtieth: Migration = {
  id: 30,
  name: 'budgeted',
  async up(sql) {
    const budgeted = '(max_budget_nano_usd is not null or soft_budget_nano_usd is not null or budget_id is not null)'
    for (const table of ['virtual_keys', 'organizations', 'teams', 'users', 'customers', 'tags']) {
      await sql.unsafe(`create index ${table}_budgeted on ${table} (created_at_ms, id) where ${budgeted}`)
      await sql.unsafe(`create index ${table}_budget on ${table} (budget_id) where budget_id is not null`)
    }
  },
}
