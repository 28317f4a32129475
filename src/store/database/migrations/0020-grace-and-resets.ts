import type { Migration } from '../migration.ts'

/** Everything with a budget. */
const tables = [
  'virtual_keys',
  'organizations',
  'teams',
  'users',
  'customers',
  'tags',
  'budgets',
  'memberships',
] as const

/** The text of a key before the present one, valid for a while, and what was spent set anew by an operator. */
export const twentieth: Migration = {
  id: 20,
  name: 'grace-and-resets',
  async up(sql) {
    for (const table of tables) {
      await sql.unsafe(`alter table ${table} add column spend_reset_at_ms bigint`)
      await sql.unsafe(`alter table ${table} add column spend_offset_nano_usd text`)
    }
    await sql.unsafe(`alter table virtual_keys add column former_hash text`)
    await sql.unsafe(`alter table virtual_keys add column former_end_ms bigint`)
    await sql.unsafe(`create index virtual_keys_former on virtual_keys (former_hash) where former_hash is not null`)
  },
}
