/** Keys, users, teams and organizations by what people call them. */
import type { Services } from '../../../core/endpoint.ts'
import type { TenancyStore } from '../../../core/tenancy/tenancy-store.ts'
import type { Tenants } from '../../../core/tenancy/tenancy.ts'
import { keyIdsOf, presentKeyId } from './access.ts'

/** What a name stands for. */
export interface NamedIds {
  /** Where it stands for nothing that there is: the name, which may be the id of what was deleted. */
  readonly ids: readonly string[]
  readonly isFound: boolean
}

/** Objects that may hold a name as a part of theirs; further ones are not looked at. */
const holdersMax = 1000

/** Keys by id, hash or text, else by the alias that they have, or had when they were deleted. */
export async function keysNamed(services: Services, name: string, { isAlias = false } = {}): Promise<NamedIds> {
  if (!isAlias) {
    const id = await presentKeyId(services, name)
    if (id !== undefined) return { ids: [id], isFound: true }
  }
  const ids = await keyIdsOf(services, name)
  if (ids.length > 0) return { ids, isFound: true }
  return { ids: isAlias ? [] : [name], isFound: false }
}

/** Those with this id, else those with this name, or of users this address, in any case. */
export async function tenantsNamed(
  tenancy: TenancyStore,
  kind: 'user' | 'team' | 'organization',
  name: string,
): Promise<NamedIds> {
  const known = await tenancy.find(kind, name)
  if (known) return { ids: [known.id], isFound: true }
  const filter = kind === 'user' ? { person: name } : { named: name }
  const { items } = await tenancy.list(kind, filter, { limit: holdersMax })
  const wanted = name.toLowerCase()
  const ids = items.filter(one => namesOf(one).some(text => text?.toLowerCase() === wanted)).map(({ id }) => id)
  return ids.length > 0 ? { ids, isFound: true } : { ids: [name], isFound: false }
}

const namesOf = (one: Tenants['user'] | Tenants['team'] | Tenants['organization']): readonly (string | null)[] => [
  one.alias,
  'email' in one ? one.email : null,
]
