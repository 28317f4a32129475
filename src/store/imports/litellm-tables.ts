/** Reads the tables of a LiteLLM database. Nothing is written to it. */
import type { SQL } from 'bun'
import type { LitellmRow } from '../../access/imports/litellm-rows.ts'

const tables = {
  budgets: 'LiteLLM_BudgetTable',
  organizations: 'LiteLLM_OrganizationTable',
  organizationMembers: 'LiteLLM_OrganizationMembership',
  teams: 'LiteLLM_TeamTable',
  teamMembers: 'LiteLLM_TeamMembership',
  teamAliases: 'LiteLLM_ModelTable',
  users: 'LiteLLM_UserTable',
  customers: 'LiteLLM_EndUserTable',
  tags: 'LiteLLM_TagTable',
  keys: 'LiteLLM_VerificationToken',
  credentials: 'LiteLLM_CredentialsTable',
  models: 'LiteLLM_ProxyModelTable',
} as const

/** The rows of each table; of one that an older version lacks none. */
export type LitellmTables = Readonly<Record<keyof typeof tables, readonly LitellmRow[]>>

/** In one state of the database. Throws where it has none of the tables. */
export function readLitellmTables(sql: SQL): Promise<LitellmTables> {
  return sql.begin('isolation level repeatable read read only', async tx => {
    const names = Object.values(tables)
    const found = (await tx`select table_name from information_schema.tables where table_name in ${tx(names)}`) as {
      table_name: string
    }[]
    const present = new Set(found.map(one => one.table_name))
    if (!present.has(tables.keys))
      throw new Error(`the database has no table "${tables.keys}": it is not one of LiteLLM`)
    const read: Record<string, LitellmRow[]> = {}
    for (const [name, table] of Object.entries(tables)) {
      const rows = present.has(table)
        ? ((await tx.unsafe(`select to_jsonb(t) as row from "${table}" t`)) as unknown[])
        : []
      read[name] = rows.map(one => objectOf((one as { row: unknown }).row))
    }
    return read as unknown as LitellmTables
  })
}

const objectOf = (row: unknown): LitellmRow => (typeof row === 'string' ? JSON.parse(row) : row) as LitellmRow
