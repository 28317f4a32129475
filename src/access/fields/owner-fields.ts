/** The team or the organization of a customer or a tag: alone its keys may name it. */
import type { NameOwner } from '../../core/tenancy/tenancy.ts'
import { noNameOwner } from '../../core/tenancy/tenancy.ts'
import { changesOf, keyName } from './spending-fields.ts'
import { lazy } from '../../lib/lazy.ts'

/** Fields of the owner, as requests have them. */
export const ownerFields = lazy(() => ({
  team_id: keyName().nullable().optional().describe('Its team: only keys of this team may name it in calls.'),
  organization_id: keyName()
    .nullable()
    .optional()
    .describe('Its organization: only keys of it and of its teams may name it in calls.'),
}))

type SentOwner = {
  readonly team_id?: string | null | undefined
  readonly organization_id?: string | null | undefined
}

/** What `hasOneOwner` demands. */
export const oneOwnerOnly = 'set `team_id` or `organization_id`, not both'

/** Not both are named. */
export const hasOneOwner = (sent: SentOwner): boolean => sent.team_id == null || sent.organization_id == null

/** The change of the owner, if one was sent; one takes the place of the other. */
export function ownerChanges(sent: SentOwner): Partial<NameOwner> {
  const changes = changesOf(sent, { team_id: 'teamId', organization_id: 'organizationId' }, noNameOwner)
  return sent.team_id != null || sent.organization_id != null ? { ...noNameOwner, ...changes } : changes
}

/** The owner as the API shows it. */
export const shownOwner = ({ teamId, organizationId }: NameOwner) => ({
  team_id: teamId,
  organization_id: organizationId,
})
