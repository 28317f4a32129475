/** The members of a team: added, changed, removed by its admins, or by themselves where it is open to all users. */
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
import type { Endpoint, EndpointContext, Services } from '../../core/endpoint.ts'
import { isAdministrator } from '../../core/caller.ts'
import type { Caller } from '../../core/caller.ts'
import { GatewayError } from '../../core/errors.ts'
import { unlimited } from '../../core/tenancy/tenancy.ts'
import type { Membership } from '../../core/tenancy/tenancy.ts'
import type { TenancyReader } from '../../core/tenancy/tenancy-store.ts'
import { shownTeamFields, teamMembershipFields, teamRow, teamSchema } from './teams.ts'
import { absent } from '../common/answers.ts'
import { withBody } from '../common/json-endpoint.ts'
import { administeredTeam, findUser, memberOf, userForMembership, visibleTeam } from './common/access.ts'
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
    if (await isJoin(tx, { services, caller }, { id, named, share })) await joinableTeam(tx, caller, id)
    else await administeredTeam(tx, caller, id)
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

/** Whether users who do not administer the team are adding themselves to one that is open to all, as plain members. */
async function isJoin(
  tx: TenancyReader,
  { services, caller }: Pick<EndpointContext, 'services' | 'caller'>,
  { id, named, share }: { id: string; named: readonly NamedMember[]; share: object },
): Promise<boolean> {
  if (!isOpenTo(services, caller, id)) return false
  const [one, second] = named
  const isPlain = second === undefined && one!.role === 'user' && Object.values(share).every(value => value == null)
  return isPlain && (await findUser(tx, one!))?.id === caller.user!.id
}

/** The team is open to all users, and this one does not administer it. */
const isOpenTo = ({ current: { settings } }: Services, caller: Caller, id: string): boolean =>
  caller.user !== undefined && settings.availableTeams.includes(id) && !isAdministrator(caller)

/** Throws 404 for a team that does not exist or is blocked, and 409 to its members: what they have there stays. */
async function joinableTeam(tx: TenancyReader, caller: Caller, id: string): Promise<void> {
  const team = await tx.find('team', id)
  if (!team || team.blocked) throw absent('team', 'team_id')
  const own = await tx.memberships({ userId: caller.user!.id })
  if (own.some(one => one.kind === 'team' && one.groupId === id))
    throw new GatewayError('conflict', 'you are a member of this team already', { param: 'team_id' })
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
    const team = await services.tenancy.find('team', share.team_id)
    if (!team) throw absent('team', 'team_id')
    return {
      ...(await teamRow(services, team)),
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
      const team = await visibleTeam(tx, caller, id)
      const leaves = isOpenTo(services, caller, id) && (await findUser(tx, named))?.id === caller.user!.id
      if (!leaves) await administeredTeam(tx, caller, id)
      await tx.deleteMembership(await memberOf(tx, { kind: 'team', groupId: id }, named))
      return team
    })
    return teamRow(services, team)
  },
})

/** Everything about members. */
export const teamMemberEndpoints: readonly Endpoint[] = [memberAdd, bulkAdd, memberUpdate, memberDelete]
