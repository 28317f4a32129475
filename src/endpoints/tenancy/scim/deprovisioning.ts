/** What ends when a directory deletes a user or a team, in steps that do not hold up other changes. */
import { isOutOfReach } from '../../../access/directory/authority.ts'
import type { MembershipQuery, TenancyReader } from '../../../core/tenancy/tenancy-store.ts'
import { changing } from './answers.ts'
import type { ScimRequest } from './answers.ts'

type ScimContext = Pick<ScimRequest, 'services' | 'actor'>
const keysAtOnce = 200
const membersAtOnce = 100
const idsAtOnce = 1000

/** Deletes the keys and the memberships of a user who is blocked already. May be repeated. */
export async function endUser(context: ScimContext, userId: string): Promise<void> {
  for (;;) {
    const { keys } = await context.services.keys.list({ userId, limit: keysAtOnce, offset: 0 })
    if (keys.length === 0) break
    await changing(context, async tx => {
      // Another request may have been faster.
      for (const { id } of keys) if (await tx.findKey({ id })) await tx.deleteKey(id)
    })
  }
  await endMemberships(context, { userId })
}

/** Deletes all memberships of a user, or of a team: there administrators whom no directory has sent stay. */
export async function endMemberships(context: ScimContext, of: MembershipQuery): Promise<void> {
  const all = await context.services.tenancy.memberships(of)
  for (let from = 0; from < all.length; from += membersAtOnce)
    await changing(context, async tx => {
      const some = all.slice(from, from + membersAtOnce)
      const ended = new Set(
        await withinReach(
          tx,
          some.map(one => one.userId),
        ),
      )
      for (const one of some) if (ended.has(one.userId)) await tx.deleteMembership(one)
    })
}

/** Those of the users whom a directory may change. */
export async function withinReach(tx: TenancyReader, userIds: readonly string[]): Promise<string[]> {
  const outside = new Set<string>()
  const asked = [...new Set(userIds)]
  for (let from = 0; from < asked.length; from += idsAtOnce)
    for (const user of await tx.findAll('user', asked.slice(from, from + idsAtOnce)))
      if (isOutOfReach(user)) outside.add(user.id)
  return asked.filter(id => !outside.has(id))
}
