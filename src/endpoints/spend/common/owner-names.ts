import type { Services } from '../../../core/endpoint.ts'
import type { LedgerRow } from '../../../core/ledger/ledger-columns.ts'
import type { UsageDimensionName } from '../../../core/ledger/usage-dimensions.ts'
import type { OwnerNames } from '../../../core/ledger/shown-call.ts'
import { keysById } from './access.ts'

/** What keys, users, teams or organizations are called, by their ids; of anything else nothing is. */
export async function namesOfOwners(
  services: Services,
  kind: UsageDimensionName,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const wanted = [...new Set(ids)].filter(id => id !== '').slice(0, namedMax)
  const found = await ownersOf(services, kind, wanted)
  return new Map(found.flatMap(({ id, name }) => (name === null ? [] : [[id, name] as const])))
}

async function ownersOf(
  { keys, tenancy }: Services,
  kind: UsageDimensionName,
  ids: readonly string[],
): Promise<readonly { readonly id: string; readonly name: string | null }[]> {
  if (ids.length === 0) return []
  switch (kind) {
    case 'key':
      return (await keys.findAll(ids)).map(({ id, alias }) => ({ id, name: alias }))
    case 'user':
      return (await tenancy.findAll('user', ids)).map(({ id, email, alias }) => ({ id, name: email ?? alias }))
    case 'team':
    case 'organization':
    case 'customer':
      return (await tenancy.findAll(kind, ids)).map(({ id, alias }) => ({ id, name: alias }))
    default:
      return []
  }
}

/** Objects of a kind that are looked up for one answer; further ones have no name in it. */
const namedMax = 1000

/** What the owners of rows are called that are not read from the database: as `store/ledger/reads/owner-names.ts`. */
export async function ownerNamesOf(
  services: Services,
  rows: readonly LedgerRow[],
): Promise<(row: LedgerRow) => OwnerNames> {
  const { tenancy } = services
  const idsOf = (column: 'team_id' | 'user_id' | 'organization_id') =>
    [...new Set(rows.map(row => row[column]))].filter(id => id !== null && id !== '').slice(0, namedMax) as string[]
  const found = async <Kind extends 'team' | 'user' | 'organization'>(kind: Kind, ids: readonly string[]) =>
    new Map((ids.length === 0 ? [] : await tenancy.findAll(kind, ids)).map(one => [one.id, one]))
  const [keys, teams, users, organizations] = await Promise.all([
    keysById(
      services,
      rows.map(row => row.key_id),
    ),
    found('team', idsOf('team_id')),
    found('user', idsOf('user_id')),
    found('organization', idsOf('organization_id')),
  ])
  return row => ({
    keyHash: keys.get(row.key_id)?.hash ?? row.key_id,
    teamAlias: teams.get(row.team_id ?? '')?.alias ?? null,
    userEmail: users.get(row.user_id ?? '')?.email ?? null,
    organizationAlias: organizations.get(row.organization_id ?? '')?.alias ?? null,
  })
}
