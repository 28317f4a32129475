/** Teams: made, changed, blocked, deleted, read and listed. */
import { randomUUIDv7 } from 'bun'
import { z } from 'zod'
import { actorOf } from '../../access/actor.ts'
import { administersTeam, groupsOf, mayReadAll, organizationsOf } from '../../access/rights.ts'
import { keyName } from '../../access/fields/checks.ts'
import {
  newTeam,
  shownTeam,
  shownTeamMembership,
  teamAdminFields,
  teamBody,
  teamChanges,
  teamUpdateBody,
} from '../../access/fields/team-fields.ts'
import { isAdministrator } from '../../core/caller.ts'
import type { Caller } from '../../core/caller.ts'
import type { Endpoint, EndpointContext, Services } from '../../core/endpoint.ts'
import { memberPermissions } from '../../core/tenancy/fields.ts'
import { unlimited } from '../../core/tenancy/tenancy.ts'
import { teamActions } from '../../core/tenancy/actions.ts'
import { teamFields } from '../../core/tenancy/field-tables.ts'
import type { Team } from '../../core/tenancy/tenancy.ts'
import type { TenancyReader, TenancyTransaction, TenantFilter } from '../../core/tenancy/tenancy-store.ts'
import { allowedOfTeam, isAboveTeam, maySchema } from './common/allowed-actions.ts'
import { blockingEndpoints } from './common/blocking-endpoints.ts'
import { spendingStateFields, spendingStateOf } from './common/budget-states.ts'
import { memberNameSchemas, membershipFieldSchemas, namedMemberships } from './common/named-memberships.ts'
import {
  checkedSpending,
  pageQueryFields,
  keySchema,
  pageFields,
  pageFieldSchemas,
  pageOf,
  shownKeys,
  spendSchema,
  spentBy,
  wrongField,
} from '../common/answers.ts'
import { withBody, withQuery } from '../common/json-endpoint.ts'
import {
  administeredTeam,
  allowFields,
  checkGivenTags,
  checkMetadata,
  checkToolGrants,
  checkOrganization,
  userForMembership,
  visibleTeam,
} from './common/access.ts'
import { lazy } from '../../lib/lazy.ts'
import { fieldSchemas } from '../openapi/field-schemas.ts'
import { integer, listOf, named, shape, text } from '../openapi/schema.ts'
import type { ValueOf } from '../openapi/schema.ts'

/** A team as the API shows it: the properties of a schema. */
export const shownTeamFields = () => ({
  ...fieldSchemas(teamFields),
  spend: spendSchema,
  admins: listOf(text),
  members: listOf(text),
  members_with_roles: listOf(shape({ user_id: text, role: text })),
})
/** The schema allows a team with its members and what it has spent. */
export const teamSchema = named('Team', () => shape(shownTeamFields()))
/** A user's membership of a team as the API shows it: the properties of a schema. */
export const teamMembershipFields = () => ({ ...membershipFieldSchemas(), team_id: text, role: text })
const teamInfoSchema = named('TeamInfo', () =>
  shape({
    team_id: text,
    may: maySchema(teamActions),
    team_info: teamSchema,
    ...spendingStateFields,
    keys: listOf(keySchema),
    keys_total: integer,
    team_memberships: listOf(shape({ ...teamMembershipFields(), ...memberNameSchemas })),
  }),
)
const permissionsSchema = named('TeamPermissions', () =>
  shape({ team_id: text, team_member_permissions: listOf(text), all_available_permissions: listOf(text) }),
)

const about = { tag: 'Teams', answer: teamSchema }
const oneTeam = lazy(() => z.strictObject({ team_id: keyName() }))
const modelsBody = lazy(() => z.strictObject({ team_id: keyName(), models: z.array(keyName()).max(1000) }))
const keysShownMax = 100
const listMax = 1000

/** The row of a team with its members and what was spent. */
export async function teamRow(services: Services, team: Team): Promise<ValueOf<typeof teamSchema>> {
  return (await teamRows(services, [team]))[0]!
}

async function teamRows(services: Services, teams: readonly Team[]): Promise<ValueOf<typeof teamSchema>[]> {
  const ids = teams.map(team => team.id)
  const members = Map.groupBy(await services.tenancy.memberships({ kind: 'team', groupIds: ids }), one => one.groupId)
  const spent = await spentBy(services, 'team', ids)
  return teams.map(team => shownTeam(team, members.get(team.id) ?? [], spent(team.id)))
}

/** 403 unless the caller administers the organization; 409 for an id that is taken. */
const teamNew = withBody(teamBody, {
  ...about,
  paths: ['/team/new'],
  auth: 'manager',
  operationId: 'createTeam',
  summary: 'Make a team; its maker becomes its admin, unless it is an administrator',
  failures: [404, 409],
  async handle({ team_id: id, members_with_roles: named, admins, members, ...fields }, { services, caller }) {
    const team = await services.tenancy.change(actorOf(caller), async tx => {
      await checkOrganization(tx, caller, fields.organization_id ?? null)
      const record = checkedSpending(newTeam(id ?? randomUUIDv7(), fields, services.current.settings.newTeams))
      if (!isAdministrator(caller)) {
        checkMetadata(fields.metadata)
        checkToolGrants(record.objectPermission, [await organizationOf(tx, record)])
        await checkGivenTags(tx, { teamId: record.id, organizationId: record.organizationId }, record.tags)
      }
      const made = await tx.insert('team', record)
      const users = [
        ...(named ?? []),
        ...(members ?? []).map(one => ({ user_id: one, role: 'user' as const })),
        ...(admins ?? []).map(one => ({ user_id: one, role: 'admin' as const })),
        ...(isAdministrator(caller) ? [] : [{ user_id: caller.user!.id, role: 'admin' as const }]),
      ]
      for (const one of users) {
        const { id: userId } = await userForMembership(
          tx,
          { caller, defaults: services.current.settings.newUsers },
          one,
        )
        await tx.putMembership({ ...unlimited, kind: 'team', groupId: made.id, userId, role: one.role })
      }
      return made
    })
    return teamRow(services, team)
  },
})

const organizationOf = async (tx: TenancyReader, { organizationId }: Pick<Team, 'organizationId'>) =>
  organizationId === null ? undefined : tx.find('organization', organizationId)

/** Runs a change of a team that the caller administers; resolves with its row. */
async function changeTeam(
  { services, caller }: EndpointContext,
  id: string,
  work: (tx: TenancyTransaction, team: Team) => Promise<Team>,
): Promise<ValueOf<typeof teamSchema>> {
  const team = await services.tenancy.change(actorOf(caller), async tx =>
    work(tx, await administeredTeam(tx, caller, id)),
  )
  return teamRow(services, team)
}

/** 403 for fields that are not the caller's to write, 404 for an unknown team, 409 for another version. */
const teamUpdate = withBody(teamUpdateBody, {
  ...about,
  answer: named('ChangedTeam', () => shape({ team_id: text, data: teamSchema })),
  paths: ['/team/update'],
  auth: 'manager',
  operationId: 'updateTeam',
  summary: 'Change a team; only the fields sent change',
  failures: [404, 409],
  async handle(body, context) {
    const { team_id: id, version, ...fields } = body
    const data = await changeTeam(context, id, async (tx, before) => {
      if (!isAboveTeam(context.caller, before)) allowFields(body, teamAdminFields, 'admins of a team')
      if (!isAdministrator(context.caller)) checkMetadata(fields.metadata)
      const changes = teamChanges(fields)
      if (changes.organizationId !== undefined && changes.organizationId !== before.organizationId)
        await checkOrganization(tx, context.caller, changes.organizationId)
      checkedSpending({ ...before, ...changes }, before)
      if (!isAdministrator(context.caller)) {
        const after = { ...before, ...changes }
        if (changes.objectPermission !== undefined || changes.organizationId !== undefined)
          checkToolGrants(after.objectPermission, [await organizationOf(tx, after)])
      }
      if (changes.tags && !isAdministrator(context.caller)) {
        const { organizationId } = { ...before, ...changes }
        const newTags = changes.tags.filter(one => !before.tags.includes(one))
        await checkGivenTags(tx, { teamId: id, organizationId }, newTags)
      }
      return tx.update('team', id, changes, version)
    })
    return { team_id: id, data }
  },
})

/** All or none. Deletes their keys and memberships, too: 409 for a team with more than 1000 keys. */
const teamDelete = withBody(() => z.strictObject({ team_ids: z.array(keyName()).min(1).max(100) }), {
  ...about,
  answer: named('DeletedTeams', () => shape({ deleted_teams: listOf(teamSchema) })),
  paths: ['/team/delete'],
  auth: 'manager',
  operationId: 'deleteTeams',
  summary: 'Delete teams with their keys',
  failures: [404, 409],
  async handle({ team_ids: ids }, { services, caller }) {
    const teams = await services.tenancy.change(actorOf(caller), async tx => {
      const deleted: Team[] = []
      for (const id of new Set(ids)) {
        await administeredTeam(tx, caller, id)
        deleted.push(await tx.delete('team', id))
      }
      return deleted
    })
    return { deleted_teams: teams.map(team => shownTeam(team, [], 0)) }
  },
})

const teamBlocking = blockingEndpoints(oneTeam, {
  ...about,
  auth: 'admin',
  block: { paths: ['/team/block'], operationId: 'blockTeam', summary: 'Refuse all keys of a team at once' },
  unblock: { paths: ['/team/unblock'], operationId: 'unblockTeam', summary: 'Let the keys of a team work again' },
  setBlocked: (blocked, { team_id: id }, context) => changeTeam(context, id, tx => tx.update('team', id, { blocked })),
})

/** `change` makes a team's list of models from it and the models of the request. */
const modelListEndpoint = (
  own: Pick<Parameters<typeof withBody>[1], 'paths' | 'operationId' | 'summary'>,
  change: (models: readonly string[], given: readonly string[]) => string[],
) =>
  withBody(modelsBody, {
    ...about,
    ...own,
    auth: 'admin',
    failures: [404, 409],
    handle: ({ team_id: id, models }, context) =>
      changeTeam(context, id, (tx, team) => {
        const left = change(team.models, models)
        // An empty list would allow every model.
        if (left.length === 0 && team.models.length > 0)
          throw wrongField('models', 'are all that are left; an empty list would allow every model')
        return tx.update('team', id, { models: left })
      }),
  })

const modelAdd = modelListEndpoint(
  { paths: ['/team/model/add'], operationId: 'addTeamModels', summary: "Add to a team's list of models" },
  (models, added) => [...new Set([...models, ...added])],
)
const modelDelete = modelListEndpoint(
  { paths: ['/team/model/delete'], operationId: 'deleteTeamModels', summary: "Take from a team's list of models" },
  (models, gone) => models.filter(one => !gone.includes(one)),
)

/** Members see the team, its admins also its keys, the first 100 of them. */
const teamInfo = withQuery(oneTeam, {
  ...about,
  answer: teamInfoSchema,
  paths: ['/team/info'],
  auth: 'key',
  operationId: 'getTeam',
  summary: 'One team with its members and keys',
  failures: [404],
  async handle({ team_id: id }, { services, caller }) {
    const team = await visibleTeam(services.tenancy, caller, id)
    const mayList = mayReadAll(caller) || administersTeam(caller, team)
    const keys = mayList
      ? await services.keys.list({ teamId: id, limit: keysShownMax, offset: 0 })
      : { keys: [], total: 0 }
    const members = await services.tenancy.memberships({ kind: 'team', groupId: id })
    return {
      team_id: id,
      may: allowedOfTeam(caller, team),
      team_info: await teamRow(services, team),
      ...(await spendingStateOf(services, 'team', team)),
      keys: await shownKeys(services, keys.keys),
      keys_total: keys.total,
      team_memberships: await namedMemberships(services.tenancy, members, {
        row: shownTeamMembership,
        shows: mayList ? 'names-and-addresses' : 'names',
      }),
    }
  },
})

/** What a caller may list; undefined = everything. */
function visibleTo(caller: Caller): TenantFilter['visible'] {
  if (mayReadAll(caller)) return undefined
  const own = caller.key.teamId === null ? [] : [caller.key.teamId]
  return { ids: [...groupsOf(caller, 'team'), ...own], organizationIds: organizationsOf(caller) }
}

const teamList = withQuery(
  () => z.strictObject({ user_id: keyName().optional(), organization_id: keyName().optional() }),
  {
    ...about,
    answer: named('TeamList', () => listOf(teamSchema)),
    paths: ['/team/list'],
    auth: 'key',
    operationId: 'listTeams',
    summary: 'The newest 1000 teams that the caller may see; /v2/team/list has pages',
    async handle({ user_id: memberId, organization_id: organizationId }, { services, caller }) {
      const filter = { memberId, organizationId, visible: visibleTo(caller) }
      const { items } = await services.tenancy.list('team', filter, { limit: listMax })
      return teamRows(services, items)
    },
  },
)

/** For a caller without a user, such as the master key, all that may be joined. */
const teamAvailable = withQuery(() => z.strictObject({}), {
  ...about,
  answer: named('AvailableTeams', () => listOf(teamSchema)),
  paths: ['/team/available'],
  auth: 'key',
  operationId: 'listAvailableTeams',
  summary: 'The teams that the user may join by POST /team/member_add, and is no member of',
  async handle(_query, { services, caller }) {
    const { availableTeams } = services.current.settings
    const joined = groupsOf(caller, 'team')
    const teams = await services.tenancy.findAll(
      'team',
      availableTeams.filter(id => !joined.includes(id)),
    )
    return teamRows(
      services,
      teams.filter(team => !team.blocked),
    )
  },
})

const pagedQuery = lazy(() =>
  z.strictObject({
    ...pageQueryFields({ most: 100, usual: 10 }),
    user_id: keyName().optional(),
    organization_id: keyName().optional(),
    team_id: keyName().optional(),
    team_alias: keyName().optional(),
    sort_by: z.enum(['created_at']).optional(),
    sort_order: z.enum(['asc', 'desc']).default('desc'),
  }),
)
const teamPages = withQuery(pagedQuery, {
  ...about,
  answer: named('TeamPage', () => shape({ teams: listOf(teamSchema), ...pageFieldSchemas })),
  paths: ['/v2/team/list'],
  auth: 'key',
  operationId: 'listTeamPages',
  summary: 'Teams that the caller may see, in pages or by cursor',
  async handle(query, { services, caller }) {
    const { page, page_size: size, cursor } = query
    const filter: TenantFilter = {
      ids: query.team_id === undefined ? undefined : [query.team_id],
      alias: query.team_alias,
      organizationId: query.organization_id,
      memberId: query.user_id,
      visible: visibleTo(caller),
    }
    const paging = { ...pageOf(page, size, cursor), ascending: query.sort_order === 'asc' }
    const { items, total } = await services.tenancy.list('team', filter, paging)
    return {
      teams: await teamRows(services, items),
      ...pageFields({ items, total }, page, size),
    }
  },
})

const permissionsList = withQuery(oneTeam, {
  ...about,
  answer: permissionsSchema,
  paths: ['/team/permissions_list'],
  auth: 'key',
  operationId: 'getTeamPermissions',
  summary: 'What members of a team may do',
  failures: [404],
  async handle({ team_id: id }, { services, caller }) {
    return permissionsOf(await visibleTeam(services.tenancy, caller, id))
  },
})

const permissionsOf = ({ id, memberPermissions: own }: Team) => ({
  team_id: id,
  team_member_permissions: own,
  all_available_permissions: memberPermissions,
})

const permissionsUpdate = withBody(
  () => z.strictObject({ team_id: keyName(), team_member_permissions: z.array(z.enum(memberPermissions)) }),
  {
    ...about,
    answer: permissionsSchema,
    paths: ['/team/permissions_update'],
    auth: 'manager',
    operationId: 'updateTeamPermissions',
    summary: 'Say what members of a team may do',
    failures: [404],
    async handle({ team_id: id, team_member_permissions: permissions }, { services, caller }) {
      const team = await services.tenancy.change(actorOf(caller), async tx => {
        await administeredTeam(tx, caller, id)
        return tx.update('team', id, { memberPermissions: permissions })
      })
      return permissionsOf(team)
    },
  },
)

/** Everything under `/team` but its members. */
export const teamEndpoints: readonly Endpoint[] = [
  teamNew,
  teamUpdate,
  teamDelete,
  ...teamBlocking,
  modelAdd,
  modelDelete,
  teamInfo,
  teamList,
  teamAvailable,
  teamPages,
  permissionsList,
  permissionsUpdate,
]
