/** Groups of a directory: teams and their members, sent and changed by SCIM. */
import { randomUUIDv7 } from 'bun'
import { fieldsOfTeam, removalOf, resourceOfTeam, returnOf } from '../../../access/directory/fields.ts'
import { checkReach } from '../../../access/directory/authority.ts'
import { memberChanges, memberIds, splitOperations } from '../../../access/directory/members.ts'
import type { MemberStep } from '../../../access/directory/members.ts'
import { groupType, userType } from '../../../access/directory/schemas.ts'
import { newTeam } from '../../../access/fields/team-fields.ts'
import type { Endpoint } from '../../../core/endpoint.ts'
import { unlimited } from '../../../core/tenancy/tenancy.ts'
import type { Team } from '../../../core/tenancy/tenancy.ts'
import type { TenancyReader, TenancyTransaction } from '../../../core/tenancy/tenancy-store.ts'
import { ScimError } from '../../../lib/scim/error.ts'
import { patched } from '../../../lib/scim/patch.ts'
import { readResource } from '../../../lib/scim/values.ts'
import type { Values } from '../../../lib/scim/schema.ts'
import { readQuery } from '../../common/checked-input.ts'
import {
  absentResource,
  changing,
  checkVersion,
  resourceList,
  listAnswer,
  listQuery,
  locationOf,
  resourceMeta,
  noContent,
  oneAnswer,
  patchBody,
  readOperations,
  readResourceBody,
  resourceFields,
  resourceBody,
  scim,
  shownQuery,
  shownResource,
} from './answers.ts'
import type { ScimRequest } from './answers.ts'
import { endMemberships, withinReach } from './deprovisioning.ts'
import { anyObject, listOf, named, open, shape, text } from '../../openapi/schema.ts'

const scimGroupSchema = named('ScimGroup', () =>
  open(
    shape(resourceFields, {
      externalId: text,
      displayName: text,
      members: listOf(anyObject),
      meta: resourceMeta('Group'),
    }),
  ),
)

const scimGroupListSchema = named('ScimGroupList', () => resourceList(scimGroupSchema))

/** Changes of members in one request: all of them, or none. */
const changesMax = 5000

/** Members are read only where they are shown. */
async function shownTeams(context: ScimRequest, teams: readonly Team[]): Promise<Values[]> {
  const { services } = context
  const ids = teams.map(team => team.id)
  const revisions = await services.tenancy.membersRevisions(ids)
  const members = new Map<string, object[]>()
  if (showsMembers(context))
    for (const { groupId, userId } of await services.tenancy.memberships({ kind: 'team', groupIds: ids })) {
      const list = members.get(groupId) ?? []
      list.push({ value: userId, $ref: locationOf(context, userType, userId), type: 'User' })
      members.set(groupId, list)
    }
  return teams.map(team => {
    const list = members.get(team.id)
    const resource = { ...resourceOfTeam(team), ...(list && { members: list }) }
    return shownResource(resource, { context, type: groupType, of: team, version: versionOf(team, revisions) })
  })
}

function showsMembers({ request }: ScimRequest): boolean {
  const { attributes, excludedAttributes } = readQuery(request, shownQuery())
  const isNamed = (list = '') => /(^|[,:\s])members\s*(,|$)/i.test(list)
  return attributes ? /members/i.test(attributes) : !isNamed(excludedAttributes)
}

const versionOf = ({ id, version }: Team, revisions: ReadonlyMap<string, number>): string =>
  `W/"${Math.max(version, revisions.get(id) ?? 0)}"`

async function oneTeam(context: ScimRequest, team: Team, status = 200) {
  const [resource] = await shownTeams(context, [team])
  return oneAnswer(groupType, context.request, resource!, status)
}

async function findTeam(reader: TenancyReader, id: string): Promise<Team> {
  const team = await reader.find('team', id)
  if (!team || team.removedAtMs !== null) throw absentResource(groupType, id)
  return team
}

/** Throws 412 where the request was made for another version. */
async function checkTeamVersion(tx: TenancyTransaction, { request }: ScimRequest, team: Team): Promise<void> {
  if (request.headers.has('if-match')) checkVersion(request, versionOf(team, await tx.membersRevisions([team.id])))
}

/**
 * Throws `uniqueness` where another group has the name or the id at the directory. The result is a group that was
 * deleted and comes back, by its id at the directory before its name.
 */
async function checkUnique(
  tx: TenancyTransaction,
  { alias, externalId }: ReturnType<typeof fieldsOfTeam>,
  ownId?: string,
): Promise<Team | undefined> {
  const named = await tx.search('team', { field: 'name', operator: 'eq', value: alias }, 100)
  const known =
    externalId === null ? [] : await tx.search('team', { field: 'externalId', operator: 'eq', value: externalId }, 10)
  const taken = [...named, ...known].find(one => one.removedAtMs === null && one.id !== ownId)
  if (!taken)
    return [
      ...known,
      ...named.filter(one => one.externalId === null || externalId === null || one.externalId === externalId),
    ].find(one => one.removedAtMs !== null)
  const field = named.includes(taken) ? `displayName '${alias}'` : `externalId '${externalId}'`
  throw new ScimError('uniqueness', `the group '${taken.id}' has the ${field} already; change that one, or remove it`)
}

/** Adds and removes members, all or none. Those who are there stay as they are: admins of the team, too. */
async function changeMembers(tx: TenancyTransaction, groupId: string, steps: readonly MemberStep[]): Promise<void> {
  if (steps.length === 0) return
  const present = await presentMembers(tx, groupId, steps)
  const { added, removed: left } = memberChanges(steps, present)
  const removed = await withinReach(tx, left)
  if (added.length + removed.length > changesMax)
    throw new ScimError('tooMany', `more than ${changesMax} members would change; send them in several requests`)
  await checkUsers(tx, added)
  for (const userId of removed) await tx.deleteMembership({ kind: 'team', groupId, userId })
  for (const userId of added) await tx.putMembership({ ...unlimited, kind: 'team', groupId, userId, role: 'user' })
}

/** Of a large group only the members that the steps name, where they name all that they change. */
async function presentMembers(
  tx: TenancyTransaction,
  groupId: string,
  steps: readonly MemberStep[],
): Promise<Set<string>> {
  const named = [...new Set(steps.flatMap(step => (step.kind === 'removeWhere' ? [] : step.userIds)))]
  const namesAll = named.length <= 1000 && steps.every(step => step.kind === 'add' || step.kind === 'remove')
  const memberships = await tx.memberships(namesAll ? { userIds: named } : { kind: 'team', groupId })
  return new Set(memberships.filter(one => one.kind === 'team' && one.groupId === groupId).map(one => one.userId))
}

/** Throws `invalidValue` for the first that is no user of the directory, and `forbidden` for one out of its reach. */
async function checkUsers(tx: TenancyTransaction, ids: readonly string[]): Promise<void> {
  const found = new Set<string>()
  for (let from = 0; from < ids.length; from += 1000)
    for (const user of await tx.findAll('user', ids.slice(from, from + 1000)))
      if (user.removedAtMs === null) {
        checkReach(user)
        found.add(user.id)
      }
  const missing = ids.find(id => !found.has(id))
  if (missing !== undefined)
    throw new ScimError('invalidValue', `members: there is no user '${missing.slice(0, 100)}'; make the user first`)
}

const create = scim({
  method: 'POST',
  paths: ['/Groups'],
  operationId: 'createScimGroup',
  summary: 'Make a team, or take back one that the directory has deleted',
  request: resourceBody,
  query: shownQuery,
  answer: scimGroupSchema,
  status: 201,
  failures: [409],
  headers: ['etag', 'location'],
  async handle(context) {
    const { request } = context
    const resource = readResource(groupType, await readResourceBody(request))
    const fields = fieldsOfTeam(resource)
    const userIds = memberIds(resource.members)
    const team = await changing(context, async tx => {
      const former = await checkUnique(tx, fields)
      const team = former
        ? await tx.update('team', former.id, { ...fields, ...returnOf(former) })
        : await tx.insert('team', {
            ...newTeam(randomUUIDv7(), {}, context.services.current.settings.newTeams),
            ...fields,
          })
      // What was left when its removal was cut off does not come back.
      await changeMembers(tx, team.id, [{ kind: 'set', userIds }])
      return team
    })
    return oneTeam(context, team, 201)
  },
})

const get = scim({
  method: 'GET',
  paths: ['/Groups/{id}'],
  operationId: 'getScimGroup',
  summary: 'One team',
  query: shownQuery,
  answer: scimGroupSchema,
  failures: [404],
  headers: ['etag'],
  handle: async context => oneTeam(context, await findTeam(context.services.tenancy, context.id)),
})

const list = scim({
  method: 'GET',
  paths: ['/Groups'],
  operationId: 'listScimGroups',
  summary: 'Teams, oldest first',
  query: listQuery,
  answer: scimGroupListSchema,
  handle: context =>
    listAnswer({
      type: groupType,
      request: context.request,
      list: (condition, page) => context.services.tenancy.list('team', { unremoved: true, condition }, page),
      show: teams => shownTeams(context, teams),
    }),
})

/** Changes a group in one transaction; `work` = what it becomes, from what it is. */
function change(context: ScimRequest, work: (before: Values) => Values, steps: readonly MemberStep[]): Promise<Team> {
  const { id } = context
  return changing(context, async tx => {
    const before = await findTeam(tx, id)
    await checkTeamVersion(tx, context, before)
    const fields = fieldsOfTeam(work(resourceOfTeam(before)))
    const isNamed = before.alias?.toLowerCase() === fields.alias?.toLowerCase()
    if (!isNamed || before.externalId !== fields.externalId) await checkUnique(tx, fields, id)
    const isSame = Object.entries(fields).every(([name, value]) => Bun.deepEquals(before[name as keyof Team], value))
    const team = isSame ? before : await tx.update('team', id, fields)
    await changeMembers(tx, id, steps)
    return team
  })
}

const replace = scim({
  method: 'PUT',
  paths: ['/Groups/{id}'],
  operationId: 'replaceScimGroup',
  summary: 'Replace the name and the members of a team',
  request: resourceBody,
  query: shownQuery,
  answer: scimGroupSchema,
  failures: [404, 409, 412],
  headers: ['etag'],
  async handle(context) {
    const resource = readResource(groupType, await readResourceBody(context.request))
    const team = await change(context, () => resource, [{ kind: 'set', userIds: memberIds(resource.members) }])
    return oneTeam(context, team)
  },
})

const patch = scim({
  method: 'PATCH',
  paths: ['/Groups/{id}'],
  operationId: 'patchScimGroup',
  summary: 'Change the name or the members of a team; the answer is empty',
  request: patchBody,
  failures: [404, 409, 412],
  headers: ['etag'],
  async handle(context) {
    const { steps, others } = splitOperations(await readOperations(context.request))
    const team = await change(context, before => patched(groupType, before, others), steps)
    const revisions = await context.services.tenancy.membersRevisions([team.id])
    return noContent({ etag: versionOf(team, revisions) })
  },
})

const remove = scim({
  method: 'DELETE',
  paths: ['/Groups/{id}'],
  operationId: 'deleteScimGroup',
  summary: 'Refuse a team for good and remove its members; what it has spent is kept',
  failures: [404, 412],
  async handle(context) {
    const { id } = context
    await changing(context, async tx => {
      const team = await findTeam(tx, id)
      await checkTeamVersion(tx, context, team)
      await tx.update('team', id, removalOf(team, tx.nowMs))
    })
    await endMemberships(context, { kind: 'team', groupId: id })
    return noContent()
  },
})

/** Everything under `/scim/v2/Groups`. */
export const scimGroupEndpoints: readonly Endpoint[] = [list, create, get, replace, patch, remove]
