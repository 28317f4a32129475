/** The members of a team: added, changed, removed by its admins. */
import type { z } from 'zod'
import { actorOf } from '../../access/actor.ts'
import { dollarsOf } from '../../access/fields/money.ts'
import {
  bulkMemberAddBody,
  memberAddBody,
  memberDeleteBody,
  memberUpdateBody,
  shareChanges,
  shownTeamMembership,
} from '../../access/fields/team-fields.ts'
import type { NamedMember } from '../../access/fields/team-fields.ts'
import type { Endpoint, Services } from '../../core/endpoint.ts'
import type { Caller } from '../../core/caller.ts'
import { unlimited } from '../../core/tenancy/tenancy.ts'
import type { Membership } from '../../core/tenancy/tenancy.ts'
import { shownTeamFields, teamMembershipFields, teamRow, teamSchema } from './teams.ts'
import { withBody } from '../common/json-endpoint.ts'
import { administeredTeam, memberOf, userForMembership, visibleTeam } from './common/access.ts'
import { boolean, integer, listOf, named, nullable, number, shape, text } from '../openapi/schema.ts'

const about = { tag: 'Teams', auth: 'manager' as const, failures: [404, 409] }

type Share = Omit<z.infer<ReturnType<typeof memberAddBody>>, 'member'>

/** A user who does not exist yet is made, unless the body says otherwise. All members or none. */
function addMembers(
  services: Services,
  caller: Caller,
  named: readonly NamedMember[],
  { team_id: id, create_missing_users: creates, ...share }: Share,
) {
  const defaults = creates ? services.current.settings.newUsers : null
  return services.tenancy.change(actorOf(caller), async tx => {
    await administeredTeam(tx, caller, id)
    const added: Membership[] = []
    for (const { role, ...one } of named) {
      const { id: userId } = await userForMembership(tx, { caller, defaults }, one)
      added.push(
        await tx.putMembership({ ...unlimited, ...shareChanges(share), kind: 'team', groupId: id, userId, role }),
      )
    }
    return added
  })
}

const memberAdd = withBody(memberAddBody, {
  ...about,
  answer: named('TeamWithMembers', () =>
    shape({
      ...shownTeamFields(),
      updated_users: listOf(shape({ user_id: text })),
      updated_team_memberships: listOf(shape(teamMembershipFields())),
    }),
  ),
  paths: ['/team/member_add'],
  operationId: 'addTeamMembers',
  summary: 'Add members to a team; for administrators users who do not exist are made',
  async handle({ member, ...share }, { services, caller }) {
    const added = await addMembers(services, caller, [member].flat(), share)
    return {
      ...(await teamRow(services, await visibleTeam(services.tenancy, caller, share.team_id))),
      updated_users: added.map(one => ({ user_id: one.userId })),
      updated_team_memberships: added.map(shownTeamMembership),
    }
  },
})

const bulkAdd = withBody(bulkMemberAddBody, {
  ...about,
  answer: named('BulkTeamMembers', () =>
    shape({
      team_id: text,
      results: listOf(shape({ user_id: text, success: boolean, error: nullable(text) })),
      total_requested: integer,
      successful_additions: integer,
      failed_additions: integer,
    }),
  ),
  paths: ['/team/bulk_member_add'],
  operationId: 'addManyTeamMembers',
  summary: 'Add up to 500 members to a team, all or none',
  async handle({ members, ...share }, { services, caller }) {
    const added = await addMembers(services, caller, members, share)
    return {
      team_id: share.team_id,
      results: added.map(one => ({ user_id: one.userId, success: true, error: null })),
      total_requested: members.length,
      successful_additions: added.length,
      failed_additions: 0,
    }
  },
})

const memberUpdate = withBody(memberUpdateBody, {
  ...about,
  answer: named('TeamMember', () =>
    shape({
      team_id: text,
      user_id: text,
      user_email: nullable(text),
      role: text,
      max_budget_in_team: nullable(number),
      tpm_limit: nullable(integer),
      rpm_limit: nullable(integer),
    }),
  ),
  paths: ['/team/member_update'],
  operationId: 'updateTeamMember',
  summary: "Change a member's role, limits or budget",
  async handle({ team_id: id, user_id, user_email, role, ...share }, { services, caller }) {
    const changed = await services.tenancy.change(actorOf(caller), async tx => {
      await administeredTeam(tx, caller, id)
      const before = await memberOf(tx, { kind: 'team', groupId: id }, { user_id, user_email })
      return tx.putMembership({ ...before, ...shareChanges(share), role: role ?? before.role })
    })
    return {
      team_id: id,
      user_id: changed.userId,
      user_email: user_email ?? null,
      role: changed.role,
      max_budget_in_team: dollarsOf(changed.maxBudgetNanoUsd),
      tpm_limit: changed.tokensPerMinute,
      rpm_limit: changed.requestsPerMinute,
    }
  },
})

const memberDelete = withBody(memberDeleteBody, {
  ...about,
  answer: teamSchema,
  paths: ['/team/member_delete'],
  operationId: 'deleteTeamMember',
  summary: "Remove a member from a team, with the member's keys in it",
  async handle({ team_id: id, ...named }, { services, caller }) {
    const team = await services.tenancy.change(actorOf(caller), async tx => {
      const administered = await administeredTeam(tx, caller, id)
      await tx.deleteMembership(await memberOf(tx, { kind: 'team', groupId: id }, named))
      return administered
    })
    return teamRow(services, team)
  },
})

/** Everything about members. */
export const teamMemberEndpoints: readonly Endpoint[] = [memberAdd, bulkAdd, memberUpdate, memberDelete]
