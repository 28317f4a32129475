/** What keys, teams, users and organizations are called now. */
import type { LedgerRow } from '../../../core/ledger/ledger-columns.ts'
import type { OwnerNames } from '../../../core/ledger/shown-call.ts'
import type { LedgerSource } from '../ledger-database.ts'

/** Of the owners of rows: asks once for each kind that the rows have; throws what the database throws. */
export async function ownerNames(
  source: LedgerSource,
  rows: readonly LedgerRow[],
): Promise<(row: LedgerRow) => OwnerNames> {
  const named = (column: OwnerColumn, name?: 'hash') =>
    namesById(source, column, { ids: rows.map(one => one[column]), name })
  const [hashes, teams, users, organizations] = [
    await named('key_id', 'hash'),
    await named('team_id'),
    await named('user_id'),
    await named('organization_id'),
  ]
  const nameIn = (names: ReadonlyMap<string, string>, id: string | null) => (id && names.get(id)) || null
  return row => ({
    keyHash: hashes.get(row.key_id) ?? row.key_id,
    teamAlias: nameIn(teams, row.team_id),
    userEmail: nameIn(users, row.user_id),
    organizationAlias: nameIn(organizations, row.organization_id),
  })
}

/** The columns that say whose a call is. */
export type OwnerColumn = 'key_id' | 'team_id' | 'user_id' | 'organization_id'

/** Where the names are. The hash is that of keys that are not deleted. */
const named: Readonly<Record<OwnerColumn, readonly [table: string, name: string]>> = {
  key_id: ['virtual_keys', 'alias'],
  team_id: ['teams', 'alias'],
  user_id: ['users', 'email'],
  organization_id: ['organizations', 'alias'],
}

/** Ids that are asked for at once. */
const askedMax = 1000

interface NamedIds {
  readonly ids: readonly (string | null)[]
  /** Instead of what people call it. */
  readonly name?: 'hash' | undefined
}

/** The names of these owners, by id, of those that have one. Throws what the database throws. */
export async function namesById(
  source: LedgerSource,
  of: OwnerColumn,
  { ids, name: other }: NamedIds,
): Promise<ReadonlyMap<string, string>> {
  const wanted = [...new Set(ids)].filter(id => id !== null && id !== '') as string[]
  const [table, name] = named[of]
  const condition = other === 'hash' ? 'deleted_at_ms is null and ' : ''
  const found = new Map<string, string>()
  for (let at = 0; at < wanted.length; at += askedMax) {
    const part = wanted.slice(at, at + askedMax)
    const rows = await source.select({
      text: `select id, ${other ?? name} as name from ${table}
        where ${condition}id in (${part.map((_, place) => `$${place + 1}`).join(', ')})`,
      values: part,
    })
    for (const row of rows) if (row.name !== null) found.set(String(row.id), String(row.name))
  }
  return found
}
