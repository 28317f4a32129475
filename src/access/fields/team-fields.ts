/** Fields of teams and their members as LiteLLM names them (https://docs.litellm.ai/docs/proxy/users, 2026-11-23). */
import { z } from 'zod'
import { spendingFields, teamFields } from '../../core/tenancy/field-tables.ts'
import { blankRecord, written } from '../../core/tenancy/fields.ts'
import type { Membership, Team } from '../../core/tenancy/tenancy.ts'
import type { NewTenant, TenantChanges } from '../../core/tenancy/tenancy-store.ts'
import { lazy } from '../../lib/lazy.ts'
import { shownFields } from './answers.ts'
import { changesOf, keyName, selfServiceFields, version, writtenFields } from './checks.ts'
import { createsMissingUsers, isNamed, memberReference, oneOfBoth } from './member-reference.ts'

const fields = lazy(() => ({
  ...writtenFields(teamFields),
}))

/** A user of a team, by id or by address. */
const member = lazy(() =>
  z.strictObject({ role: z.enum(['admin', 'user']).default('user'), ...memberReference() }).refine(isNamed, oneOfBoth),
)
/** A user who is to become a member of a team, as the client names it. */
export type NamedMember = z.infer<ReturnType<typeof member>>

/** The body of `/team/new`. */
export const teamBody = lazy(() =>
  z.strictObject({
    team_id: keyName().nullable().optional().describe('Its id; one is made where it is absent.'),
    ...fields(),
    members_with_roles: z.array(member()).max(500).nullable().optional(),
    admins: z.array(keyName()).max(500).nullable().optional(),
    members: z.array(keyName()).max(500).nullable().optional(),
  }),
)
/** The body of `/team/update`. */
export const teamUpdateBody = lazy(() => z.strictObject({ team_id: keyName(), ...fields(), version: version() }))
/** What the team's own admins may change; the rest is for admins of its organization and of the gateway. */
export const teamAdminFields = selfServiceFields(teamFields, 'team_id', 'version')

/** What may be sent of a member's limits and budget. */
const shareFields = {
  maxBudgetNanoUsd: written('dollars', 'max_budget_in_team', 'Dollars that each may spend; null = as the team says.'),
  budgetDuration: spendingFields.budgetDuration,
  tokensPerMinute: spendingFields.tokensPerMinute,
  requestsPerMinute: spendingFields.requestsPerMinute,
}
const share = lazy(() => writtenFields(shareFields))
/** The body of `/team/member_add`. */
export const memberAddBody = lazy(() =>
  z.strictObject({
    team_id: keyName(),
    member: z.union([member(), z.array(member()).min(1).max(500)]),
    create_missing_users: createsMissingUsers(),
    ...share(),
  }),
)
/** The body of `/team/bulk_member_add`. */
export const bulkMemberAddBody = lazy(() =>
  z.strictObject({
    team_id: keyName(),
    members: z.array(member()).min(1).max(500),
    create_missing_users: createsMissingUsers(),
    ...share(),
  }),
)
/** The body of `/team/member_update`. */
export const memberUpdateBody = lazy(() =>
  z
    .strictObject({
      team_id: keyName(),
      ...memberReference(),
      role: z.enum(['admin', 'user']).nullable().optional(),
      ...share(),
    })
    .refine(isNamed, oneOfBoth),
)
/** The body of `/team/member_delete`. */
export const memberDeleteBody = lazy(() =>
  z.strictObject({ team_id: keyName(), ...memberReference() }).refine(isNamed, oneOfBoth),
)

/** The limits and the budget of a member, as far as they were sent. */
export const shareChanges = (sent: z.infer<z.ZodObject<ReturnType<typeof share>>>): Partial<Membership> =>
  changesOf(shareFields, sent)

type TeamInput = Partial<z.infer<z.ZodObject<ReturnType<typeof fields>>>>

/** The changes of a team, as far as they were sent. */
export const teamChanges = (sent: TeamInput): TenantChanges<'team'> => ({
  ...changesOf(teamFields, sent),
  // An administrator has decided: the directory does not lift it.
  ...(sent.blocked !== undefined && { blockedByDirectory: false }),
})

/** The team that is made of what was sent; null says no more than a field that is left out. */
export const newTeam = (id: string, sent: TeamInput, defaults: Partial<Team>): NewTenant<'team'> => {
  const given = Object.entries(teamChanges(sent)).filter(([, value]) => value !== null)
  return { ...blankRecord(teamFields), ...defaults, id, ...(Object.fromEntries(given) as TenantChanges<'team'>) }
}

/** A team as the API shows it. `spend` in dollars. */
export const shownTeam = (team: Team, members: readonly Membership[], spend: number) => ({
  ...shownFields(teamFields, team),
  spend,
  admins: members.filter(one => one.role === 'admin').map(one => one.userId),
  members: members.map(one => one.userId),
  members_with_roles: members.map(one => ({ user_id: one.userId, role: one.role })),
})

/** A user's membership of a team, as the API shows it. */
export const shownTeamMembership = (one: Membership) => ({
  user_id: one.userId,
  team_id: one.groupId,
  role: one.role,
  ...membershipParts(one),
})

/** A user's membership of an organization, as the API shows it. */
export const shownOrganizationMembership = (one: Membership) => ({
  user_id: one.userId,
  organization_id: one.groupId,
  user_role: one.role,
  ...membershipParts(one),
})

const membershipParts = (one: Membership) => ({
  created_at: new Date(one.createdAtMs).toISOString(),
  litellm_budget_table: shownFields(spendingFields, one),
})
