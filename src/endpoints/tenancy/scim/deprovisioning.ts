/** What ends when a directory deletes a user or a team, in steps that do not hold up other changes. */
import type { MembershipQuery } from '../../../core/tenancy/tenancy-store.ts'
import { changing } from './answers.ts'
import type { ScimRequest } from './answers.ts'

type ScimContext = Pick<ScimRequest, 'services' | 'actor'>
const keysAtOnce = 200
const membersAtOnce = 100

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

/** Deletes all memberships of a user, or of a team. */
export async function endMemberships(context: ScimContext, of: MembershipQuery): Promise<void> {
  const all = await context.services.tenancy.memberships(of)
  for (let from = 0; from < all.length; from += membersAtOnce)
    await changing(context, async tx => {
      for (const one of all.slice(from, from + membersAtOnce)) await tx.deleteMembership(one)
    })
}
