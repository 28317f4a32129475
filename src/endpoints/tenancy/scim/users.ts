/** Users of a directory: sent, changed, deactivated and removed by SCIM. */
import { randomUUIDv7 } from 'bun'
import {
  activityOf,
  fieldsOfUser,
  nameOfTeam,
  removalOf,
  resourceOfUser,
  returnOf,
  shownResourceOfUser,
} from '../../../access/directory/fields.ts'
import { checkAddress, checkChange, checkReach, isPrivileged } from '../../../access/directory/authority.ts'
import { userType } from '../../../access/directory/schemas.ts'
import { newUser } from '../../../access/fields/user-fields.ts'
import type { Endpoint } from '../../../core/endpoint.ts'
import type { Team, User } from '../../../core/tenancy/tenancy.ts'
import type { TenancyReader, TenancyTransaction, TenantChanges } from '../../../core/tenancy/tenancy-store.ts'
import { ScimError } from '../../../lib/scim/error.ts'
import { patched } from '../../../lib/scim/patch.ts'
import { readResource } from '../../../lib/scim/values.ts'
import type { Values } from '../../../lib/scim/schema.ts'
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
import { endUser } from './deprovisioning.ts'
import { anyObject, boolean, listOf, named, open, shape, text } from '../../openapi/schema.ts'

const scimUserSchema = named('ScimUser', () =>
  open(
    shape(resourceFields, {
      externalId: text,
      userName: text,
      displayName: text,
      active: boolean,
      emails: listOf(anyObject),
      groups: listOf(anyObject),
      meta: resourceMeta('User'),
    }),
  ),
)

const scimUserListSchema = named('ScimUserList', () => resourceList(scimUserSchema))

/** The users as resources, with their teams. */
async function shownUsers(context: Pick<ScimRequest, 'services'>, users: readonly User[]): Promise<Values[]> {
  const teams = await teamsOf(
    context.services.tenancy,
    users.map(user => user.id),
  )
  return users.map(user => {
    const groups = (teams.get(user.id) ?? []).map(team => ({
      value: team.id,
      $ref: locationOf(context, { ...userType, endpoint: '/Groups' }, team.id),
      display: nameOfTeam(team),
    }))
    const resource = { ...shownResourceOfUser(user), ...(groups.length > 0 && { groups }) }
    return shownResource(resource, { context, type: userType, of: user, version: versionOf(user, teams) })
  })
}

async function teamsOf(reader: TenancyReader, userIds: readonly string[]): Promise<Map<string, Team[]>> {
  const teamMemberships = (await reader.memberships({ userIds })).filter(one => one.kind === 'team')
  const ids = [...new Set(teamMemberships.map(one => one.groupId))]
  const teams = new Map<string, Team>()
  for (let from = 0; from < ids.length; from += 1000)
    for (const team of await reader.findAll('team', ids.slice(from, from + 1000))) teams.set(team.id, team)
  const found = new Map<string, Team[]>()
  for (const { userId, groupId } of teamMemberships) {
    const team = teams.get(groupId)
    if (team && team.removedAtMs === null) found.set(userId, [...(found.get(userId) ?? []), team])
  }
  return found
}

/** Changes with the user and with its teams. */
function versionOf({ id, version }: User, teams: ReadonlyMap<string, readonly Team[]>): string {
  const groups = (teams.get(id) ?? []).map(team => `${team.id} ${nameOfTeam(team)}`)
  return `W/"${version}${groups.length > 0 ? `-${Bun.hash(groups.toSorted().join('\n')).toString(36)}` : ''}"`
}

async function oneUser(context: ScimRequest, user: User, status = 200) {
  const [resource] = await shownUsers(context, [user])
  return oneAnswer(userType, context.request, resource!, status)
}

/** Throws 404 also for users whom the directory has deleted. */
async function findUser(reader: TenancyReader, id: string): Promise<User> {
  const user = await reader.find('user', id)
  if (!user || user.removedAtMs !== null) throw absentResource(userType, id)
  return user
}

/**
 * Throws `uniqueness` where another user has the name or the id at the directory. Users who were deleted lose both, but
 * for `own`, who comes back: names are given to other persons.
 */
async function claimNames(
  tx: TenancyTransaction,
  { userName, externalId }: ReturnType<typeof fieldsOfUser>,
  ownId: string | undefined,
): Promise<User | undefined> {
  const named = await tx.search('user', { field: 'name', operator: 'eq', value: userName }, 10)
  const known =
    externalId === null ? [] : await tx.search('user', { field: 'externalId', operator: 'eq', value: externalId }, 10)
  const taken = [...named, ...known].find(one => one.removedAtMs === null && one.id !== ownId)
  if (taken) {
    const field = named.includes(taken) ? `userName '${userName}'` : `externalId '${externalId}'`
    throw new ScimError('uniqueness', `the user '${taken.id}' has the ${field} already; change that one, or remove it`)
  }
  const removed = new Map([...known, ...named].map(one => [one.id, one]))
  for (const id of removed.keys())
    if (id !== ownId) await tx.update('user', id, { userName: null, email: null, externalId: null })
  return ownId === undefined ? undefined : removed.get(ownId)
}

const create = scim({
  method: 'POST',
  paths: ['/Users'],
  operationId: 'createScimUser',
  summary: 'Make a user, or take back one that the directory has deleted',
  request: resourceBody,
  query: shownQuery,
  answer: scimUserSchema,
  status: 201,
  failures: [409],
  headers: ['etag', 'location'],
  async handle(context) {
    const { services, request } = context
    const resource = readResource(userType, await readResourceBody(request))
    const fields = fieldsOfUser(resource)
    const { newUsers } = services.current.settings
    const former = await findFormer(context, fields)
    // What was left when its removal was cut off must not come back with it.
    if (former) await endUser(context, former.id)
    const user = await changing(context, async tx => {
      const own = await claimNames(tx, fields, former?.id)
      await checkAddress(tx, fields.email)
      const changes = {
        ...fields,
        ...(own && { ...returnOf(own), ...identityOf(own, fields), ...rightsOf(own, newUsers) }),
      }
      if (own) return tx.update('user', own.id, { ...changes, ...activityOf({ ...own, ...changes }, resource.active) })
      const made = { ...newUser(randomUUIDv7(), {}, newUsers), ...fields }
      return tx.insert('user', { ...made, ...activityOf(made, resource.active) })
    })
    return oneUser(context, user, 201)
  },
})

/** By the name alone it may be another person who comes back: the identity provider has to say anew who it is. */
const identityOf = (own: User, { externalId }: ReturnType<typeof fieldsOfUser>): Pick<User, 'ssoUserId'> => ({
  ssoUserId: externalId !== null && own.externalId === externalId ? own.ssoUserId : null,
})

/** A user does not come back as an administrator: a sign-in or an administrator says who is one. */
const rightsOf = (own: User, newUsers: Partial<User>): Partial<Pick<User, 'role'>> =>
  isPrivileged(own) ? { role: newUser(own.id, {}, newUsers).role } : {}

/**
 * The user that was deleted and comes back: with the same id at the directory, or with its name where no ids say that
 * it is another person who got the name.
 */
async function findFormer(
  { services }: ScimRequest,
  { userName, externalId }: ReturnType<typeof fieldsOfUser>,
): Promise<User | undefined> {
  const { tenancy } = services
  const isRemoved = ({ removedAtMs }: User) => removedAtMs !== null
  const known =
    externalId === null
      ? []
      : await tenancy.search('user', { field: 'externalId', operator: 'eq', value: externalId }, 10)
  const named = await tenancy.search('user', { field: 'name', operator: 'eq', value: userName }, 10)
  return known.find(isRemoved) ?? named.find(one => isRemoved(one) && (one.externalId === null || externalId === null))
}

/** Changes the resource of a user in one transaction. Only what `active` says decides on `blocked`. */
async function change(context: ScimRequest, work: (before: Values) => Values) {
  const { request, id } = context
  const user = await changing(context, async tx => {
    const before = await findUser(tx, id)
    if (request.headers.has('if-match')) checkVersion(request, versionOf(before, await teamsOf(tx, [id])))
    const resource = work(resourceOfUser(before))
    const fields = fieldsOfUser(resource)
    const changes: TenantChanges<'user'> = { ...fields, ...activityOf(before, resource.active) }
    // A user whom no directory has sent yet belongs to it from now on, under the same name.
    const isNamed = before.userName?.toLowerCase() === fields.userName?.toLowerCase()
    if (!isNamed || before.externalId !== fields.externalId) await claimNames(tx, fields, id)
    if (isSame(before, changes)) return before
    await checkChange(tx, before, changes)
    return tx.update('user', id, changes)
  })
  return oneUser(context, user)
}

/** Directories repeat what they have sent: such a change leaves the version, and the callers, as they are. */
const isSame = (before: User, changes: TenantChanges<'user'>): boolean =>
  Object.entries(changes).every(([name, value]) => Bun.deepEquals(before[name as keyof User], value))

const get = scim({
  method: 'GET',
  paths: ['/Users/{id}'],
  operationId: 'getScimUser',
  summary: 'One user',
  query: shownQuery,
  answer: scimUserSchema,
  failures: [404],
  headers: ['etag'],
  handle: async context => oneUser(context, await findUser(context.services.tenancy, context.id)),
})

const list = scim({
  method: 'GET',
  paths: ['/Users'],
  operationId: 'listScimUsers',
  summary: 'Users, oldest first',
  query: listQuery,
  answer: scimUserListSchema,
  handle: context =>
    listAnswer({
      type: userType,
      request: context.request,
      list: (condition, page) => context.services.tenancy.list('user', { unremoved: true, condition }, page),
      show: users => shownUsers(context, users),
    }),
})

const replace = scim({
  method: 'PUT',
  paths: ['/Users/{id}'],
  operationId: 'replaceScimUser',
  summary: 'Replace what the directory says of a user; without `active` it stays as it is',
  request: resourceBody,
  query: shownQuery,
  answer: scimUserSchema,
  failures: [404, 409, 412],
  headers: ['etag'],
  async handle(context) {
    const resource = readResource(userType, await readResourceBody(context.request))
    return change(context, () => resource)
  },
})

const patch = scim({
  method: 'PATCH',
  paths: ['/Users/{id}'],
  operationId: 'patchScimUser',
  summary: 'Change a user; `active: false` refuses keys, sessions and tokens of the user within a second',
  request: patchBody,
  query: shownQuery,
  answer: scimUserSchema,
  failures: [404, 409, 412],
  headers: ['etag'],
  async handle(context) {
    const operations = await readOperations(context.request)
    return change(context, before => patched(userType, before, operations))
  },
})

const remove = scim({
  method: 'DELETE',
  paths: ['/Users/{id}'],
  operationId: 'deleteScimUser',
  summary: 'Refuse a user for good, with keys and memberships; what it has spent is kept',
  failures: [404, 412],
  async handle(context) {
    const { request, id } = context
    await changing(context, async tx => {
      const user = await findUser(tx, id)
      checkReach(user)
      if (request.headers.has('if-match')) checkVersion(request, versionOf(user, await teamsOf(tx, [id])))
      await tx.update('user', id, removalOf(user, tx.nowMs))
    })
    await endUser(context, id)
    return noContent()
  },
})

/** Everything under `/scim/v2/Users`. */
export const scimUserEndpoints: readonly Endpoint[] = [list, create, get, replace, patch, remove]
