/** Memberships as `/team/info` and `/organization/info` show them: with names, which people know in place of ids. */
import { shownMembership } from '../../../access/fields/team-fields.ts'
import type { Membership, User } from '../../../core/tenancy/tenancy.ts'
import type { TenancyReader } from '../../../core/tenancy/tenancy-store.ts'

/** What `TenancyReader.findAll` takes at once. */
const usersAtOnce = 1000

/** Those who do not administer the group are shown the names of its members, not their addresses. */
export async function namedMemberships(
  reader: TenancyReader,
  members: readonly Membership[],
  shows: 'names' | 'names-and-addresses',
): Promise<Record<string, unknown>[]> {
  const users = new Map<string, User>()
  for (let from = 0; from < members.length; from += usersAtOnce) {
    const ids = members.slice(from, from + usersAtOnce).map(one => one.userId)
    for (const user of await reader.findAll('user', ids)) users.set(user.id, user)
  }
  return members.map(one => {
    const user = users.get(one.userId)
    return {
      ...shownMembership(one),
      user_alias: user?.alias ?? null,
      user_email: shows === 'names' ? null : (user?.email ?? null),
    }
  })
}
