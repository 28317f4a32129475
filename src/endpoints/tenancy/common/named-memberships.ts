/** Memberships as `/team/info` and `/organization/info` show them: with names, which people know in place of ids. */
import { spendingFields } from '../../../core/tenancy/field-tables.ts'
import type { Membership, User } from '../../../core/tenancy/tenancy.ts'
import type { TenancyReader } from '../../../core/tenancy/tenancy-store.ts'
import { fieldSchemas } from '../../openapi/field-schemas.ts'
import { dateTime, described, nullable, shape, text } from '../../openapi/schema.ts'

/** The properties of every schema of a membership. */
export const membershipFieldSchemas = () => ({
  user_id: text,
  created_at: dateTime,
  litellm_budget_table: shape(fieldSchemas(spendingFields)),
})
/** Whose membership it is: the properties of a schema. */
export const memberNameSchemas = {
  user_alias: described('The name that the user has.', nullable(text)),
  user_email: described('The address of the user; null also for callers who do not administer it.', nullable(text)),
}

/** What `TenancyReader.findAll` takes at once. */
const usersAtOnce = 1000

/** How a membership is shown beside its names, and what is shown of these. */
interface Showing<Row> {
  readonly row: (membership: Membership) => Row
  readonly shows: 'names' | 'names-and-addresses'
}

/** Those who do not administer the group are shown the names of its members, not their addresses. */
export async function namedMemberships<Row extends object>(
  reader: TenancyReader,
  members: readonly Membership[],
  { row, shows }: Showing<Row>,
): Promise<(Row & { readonly user_alias: string | null; readonly user_email: string | null })[]> {
  const users = new Map<string, User>()
  for (let from = 0; from < members.length; from += usersAtOnce) {
    const ids = members.slice(from, from + usersAtOnce).map(one => one.userId)
    for (const user of await reader.findAll('user', ids)) users.set(user.id, user)
  }
  return members.map(one => {
    const user = users.get(one.userId)
    return {
      ...row(one),
      user_alias: user?.alias ?? null,
      user_email: shows === 'names' ? null : (user?.email ?? null),
    }
  })
}
