/** What keys, teams, users and organizations of rows are called now. */
import type { LedgerRow } from '../../../core/ledger/ledger-columns.ts'
import type { OwnerNames } from '../../../core/ledger/shown-call.ts'
import type { LedgerSource } from '../ledger-database.ts'

/** Asks once for each kind that the rows have; throws what the database throws. */
export async function ownerNames(
  source: LedgerSource,
  rows: readonly LedgerRow[],
): Promise<(row: LedgerRow) => OwnerNames> {
  const named = (column: 'key_id' | 'team_id' | 'user_id' | 'organization_id', of: NamedTable) =>
    namesOf(source, of, new Set(rows.map(row => row[column])))
  const [hashes, teams, users, organizations] = [
    await named('key_id', { table: 'virtual_keys', name: 'hash', condition: 'deleted_at_ms is null and ' }),
    await named('team_id', { table: 'teams', name: 'alias' }),
    await named('user_id', { table: 'users', name: 'email' }),
    await named('organization_id', { table: 'organizations', name: 'alias' }),
  ]
  const nameIn = (names: ReadonlyMap<string, string>, id: string | null) => (id && names.get(id)) || null
  return row => ({
    keyHash: hashes.get(row.key_id) ?? row.key_id,
    teamAlias: nameIn(teams, row.team_id),
    userEmail: nameIn(users, row.user_id),
    organizationAlias: nameIn(organizations, row.organization_id),
  })
}

interface NamedTable {
  readonly table: string
  readonly name: string
  readonly condition?: string
}

/** By id, of those that have a name. */
async function namesOf(
  source: LedgerSource,
  { table, name, condition = '' }: NamedTable,
  all: ReadonlySet<string | null>,
): Promise<ReadonlyMap<string, string>> {
  const ids = [...all].filter(id => id !== null && id !== '') as string[]
  if (ids.length === 0) return new Map()
  const found = await source.select({
    text: `select id, ${name} as name from ${table}
      where ${condition}id in (${ids.map((_, at) => `$${at + 1}`).join(', ')})`,
    values: ids,
  })
  return new Map(found.flatMap(row => (row.name === null ? [] : [[String(row.id), String(row.name)] as const])))
}
