/** Users: made, changed, deleted, read and listed. */
import { randomUUIDv7 } from 'bun'
import { z } from 'zod'
import { actorOf } from '../../access/actor.ts'
import { mintKey, readDuration } from '../../access/key.ts'
import { newKey } from '../../access/fields/key-bounds.ts'
import type { KeyFields } from '../../access/fields/key-fields.ts'
import { callRoutes, restrictionOf } from '../../access/key-grants.ts'
import { administersOrganization, groupsOf, mayReadAll, maySeeTeam, organizationsOf } from '../../access/rights.ts'
import { keyName } from '../../access/fields/checks.ts'
import {
  newUser,
  selfFields,
  shownUser,
  userBody,
  userChanges,
  userUpdateBody,
} from '../../access/fields/user-fields.ts'
import { isAdministrator } from '../../core/caller.ts'
import type { Caller } from '../../core/caller.ts'
import type { Endpoint, EndpointContext, Services } from '../../core/endpoint.ts'
import { GatewayError } from '../../core/errors.ts'
import { userFields } from '../../core/tenancy/field-tables.ts'
import type { KeyQuery } from '../../core/tenancy/keys.ts'
import { userRoles } from '../../core/tenancy/fields.ts'
import { unlimited } from '../../core/tenancy/tenancy.ts'
import type { Team, User } from '../../core/tenancy/tenancy.ts'
import type { TenancyReader, TenancyTransaction } from '../../core/tenancy/tenancy-store.ts'
import { spendingStateFields, spendingStateOf } from './common/budget-states.ts'
import {
  absent,
  checkedSpending,
  pageQueryFields,
  forbidden,
  keySchema,
  pageFields,
  pageFieldSchemas,
  pageOf,
  shownKeys,
  spendSchema,
  spentBy,
} from '../common/answers.ts'
import { withBody, withQuery } from '../common/json-endpoint.ts'
import {
  administeredTeam,
  allowFields,
  checkMetadata,
  checkToolGrants,
  checkNoAdministrator,
  findUser,
  sharesGroup,
} from './common/access.ts'
import { lazy } from '../../lib/lazy.ts'
import { fieldSchemas } from '../openapi/field-schemas.ts'
import { boolean, described, integer, listOf, mapOf, named, nullable, shape, text } from '../openapi/schema.ts'
import type { ValueOf } from '../openapi/schema.ts'

const shownUserFields = () => ({ ...fieldSchemas(userFields), spend: spendSchema, teams: listOf(text) })
const userSchema = named('User', () => shape(shownUserFields()))
const newUserSchema = named('NewUser', () =>
  shape({
    key: described('The key that was made, shown this once; empty = none was.', text),
    token: nullable(text),
    token_id: nullable(text),
    team_id: described('The team that the key belongs to, whose models and budget bind it.', nullable(text)),
    ...shownUserFields(),
  }),
)
const userInfoSchema = named('UserInfo', () =>
  shape({
    user_id: text,
    user_info: userSchema,
    ...spendingStateFields,
    keys: listOf(keySchema),
    keys_total: integer,
    teams: listOf(shape({ team_id: text, team_alias: nullable(text) })),
  }),
)
const bulkUserUpdateSchema = named('BulkUserUpdate', () =>
  shape({
    results: listOf(shape({ user_id: text, success: boolean, error: nullable(text), user_email: nullable(text) })),
    total_requested: integer,
    successful_updates: integer,
    failed_updates: integer,
  }),
)

const about = { tag: 'Users', answer: userSchema }
const keysShownMax = 100
/** The models of users whom admins of organizations make. */
const teamModelsOnly: readonly string[] = ['no-default-models']

/** Of the teams of a user those that the caller may see; of its own all. */
async function userRows(
  services: Services,
  caller: Caller,
  users: readonly User[],
): Promise<ValueOf<typeof userSchema>[]> {
  const ids = users.map(user => user.id)
  const spent = await spentBy(services, 'user', ids)
  const teams = await Promise.all(ids.map(userId => visibleTeams(services.tenancy, caller, userId)))
  return users.map((user, at) => {
    const own = teams[at]!.map(team => team.id)
    return shownUser(user, own, spent(user.id))
  })
}

async function visibleTeams(tenancy: TenancyReader, caller: Caller, userId: string): Promise<Team[]> {
  const teamMemberships = (await tenancy.memberships({ userId })).filter(one => one.kind === 'team')
  const teams = await tenancy.findAll(
    'team',
    teamMemberships.map(one => one.groupId),
  )
  return userId === caller.key.userId ? teams : teams.filter(team => maySeeTeam(caller, team))
}

/**
 * Administrators make any user; admins of organizations make users of these, under ids that are made here: an id of
 * their choice would show which ids are taken. Such users call models with keys of teams alone, which the models and
 * the budget of the organization bind. Who a user is at the identity provider they do not say: they would wait with a
 * key for the person who signs in. Throws 403.
 */
function checkMaker(caller: Caller, body: z.infer<ReturnType<typeof userBody>>): void {
  checkNoAdministrator(caller, body.user_role)
  if (isAdministrator(caller)) return
  const organizations = body.organizations ?? []
  if (organizations.length === 0 || !organizations.every(id => administersOrganization(caller, id)))
    throw forbidden('name organizations that you administer', 'organizations')
  if (body.user_id != null) throw forbidden('only administrators choose the id of a user', 'user_id')
  if (body.sso_user_id != null)
    throw forbidden('only administrators say who a user is at the identity provider', 'sso_user_id')
  if (body.user_role?.startsWith('proxy_admin')) throw forbidden('only administrators make administrators', 'user_role')
  if (body.models != null && body.models.join() !== teamModelsOnly.join())
    throw forbidden('only administrators give users models of their own: give them to a team', 'models')
  checkToolGrants(body.object_permission, [])
  checkMetadata(body.metadata)
  const restriction = body.auto_create_key ? restrictionOf(caller.key) : undefined
  if (restriction) throw forbidden(`this key has a restriction of its own (${restriction}), so that it makes no keys`)
}

const userNew = withBody(userBody, {
  ...about,
  answer: newUserSchema,
  paths: ['/user/new'],
  auth: 'manager',
  operationId: 'createUser',
  summary: 'Make a user, and a key in its first team unless `auto_create_key` is false',
  failures: [404, 409],
  async handle(body, { services, caller }) {
    const { user_id: id, teams, team_id: teamId, organizations, auto_create_key: withKey, ...fields } = body
    const groups = {
      teams: [...(teams ?? []), ...(teamId == null ? [] : [teamId])],
      organizations: organizations ?? [],
    }
    checkMaker(caller, body)
    checkedSpending(userChanges(fields))
    const key = withKey ? keyOfNewUser(services, caller, body) : undefined
    const made = await services.tenancy.change(actorOf(caller), async tx => {
      if (!isAdministrator(caller)) await checkAddress(tx, fields.user_email)
      const made = newUser(id ?? randomUUIDv7(), fields, services.current.settings.newUsers)
      const user = await tx.insert('user', isAdministrator(caller) ? made : { ...made, models: teamModelsOnly })
      await addMemberships({ tx, caller, userId: user.id }, groups.teams, groups.organizations)
      return { user, key: key && (await tx.insertKey({ ...key.record, userId: user.id })) }
    })
    const [row] = await userRows(services, caller, [made.user])
    const { hash: token = null, id: tokenId = null, teamId: team = null } = made.key ?? {}
    return { key: key?.text ?? '', token, token_id: tokenId, team_id: team, ...row! }
  },
})

/** An address that two users have names none of them: its owner could not sign in with it any more. Throws 409. */
async function checkAddress(tx: TenancyTransaction, email: string | null | undefined): Promise<void> {
  if (email == null || (await tx.usersByEmail(email)).length === 0) return
  throw new GatewayError('conflict', 'another user has this address; ask an administrator, or leave it out', {
    param: 'user_email',
  })
}

/**
 * In a team of the user, with what the file says of keys. Of admins of organizations without the file's team, which
 * they do not administer, and for calls alone: a key acts as its user, whom a claim may make an administrator later.
 * Throws 422.
 */
function keyOfNewUser(services: Services, caller: Caller, body: z.infer<ReturnType<typeof userBody>>) {
  const text = mintKey()
  const team_id = teamOfKey(body)
  const { key_alias, aliases, allowed_cache_controls, guardrails } = body
  const lifetime = body.duration == null ? undefined : readDuration(body.duration)
  const duration = lifetime && 'ms' in lifetime ? lifetime.ms : null
  const fields: Partial<KeyFields> = {
    key_alias,
    team_id: team_id ?? undefined,
    duration,
    aliases,
    allowed_cache_controls,
    guardrails,
  }
  const made = newKey({
    id: randomUUIDv7(),
    keyText: text,
    fields,
    nowMs: services.clock.epochMs(),
    settings: services.current.settings.newKeys,
  })
  const own = isAdministrator(caller) ? made : { ...made, teamId: team_id }
  const isOwnRight = isAdministrator(caller) && !restrictionOf(caller.key)
  return {
    text,
    record: { ...own, ...(!isOwnRight && { allowedRoutes: callRoutes }), hash: services.hashKey(text) },
  }
}

/** The first team of the user, unless one is named for the key: a key of no team would be bound by no team's budget. */
function teamOfKey({ team_id: named, teams }: z.infer<ReturnType<typeof userBody>>): string | null {
  const first = teams?.[0]
  return named ?? (typeof first === 'object' ? first.team_id : first) ?? null
}

/** Throws 404 for a team or an organization that does not exist. */
async function addMemberships(
  { tx, caller, userId }: { tx: TenancyTransaction; caller: Caller; userId: string },
  teams: NonNullable<z.infer<ReturnType<typeof userBody>>['teams']>,
  organizations: readonly string[],
): Promise<void> {
  for (const one of teams) {
    const membership = typeof one === 'string' ? { team_id: one, user_role: 'user' as const } : one
    const { team_id: groupId, user_role: role } = membership
    await administeredTeam(tx, caller, groupId)
    const maxBudgetNanoUsd = ('max_budget_in_team' in membership && membership.max_budget_in_team) || null
    await tx.putMembership({ ...unlimited, maxBudgetNanoUsd, kind: 'team', groupId, userId, role })
  }
  for (const groupId of organizations) {
    if (!(await tx.find('organization', groupId))) throw absent('organization', 'organizations')
    await tx.putMembership({ ...unlimited, kind: 'organization', groupId, userId, role: 'internal_user' })
  }
}

/** Users may change their name and metadata; the rest is for administrators. */
const userUpdate = withBody(userUpdateBody, {
  ...about,
  answer: named('ChangedUser', () => shape({ user_id: text, data: userSchema })),
  paths: ['/user/update'],
  auth: 'manager',
  operationId: 'updateUser',
  summary: 'Change a user; only the fields sent change; for administrators one that is not there is made',
  failures: [404, 409],
  async handle(body, { services, caller }) {
    const { user_id: id, version, ...fields } = body
    const user = await services.tenancy.change(actorOf(caller), async tx => {
      const named = { user_id: id, user_email: id === undefined ? (fields.user_email ?? undefined) : undefined }
      const before = await findUser(tx, named)
      if (!before && isAdministrator(caller)) return insertUser({ tx, services, caller }, id, fields)
      if (!before || !(isAdministrator(caller) || before.id === caller.user?.id)) throw absent('user', 'user_id')
      if (!isAdministrator(caller)) checkSelf(body)
      const changes = userChanges(fields)
      for (const { role } of [before, changes]) checkNoAdministrator(caller, role)
      checkedSpending({ ...before, ...changes }, before)
      return tx.update('user', before.id, changes, version)
    })
    const [data] = await userRows(services, caller, [user])
    return { user_id: user.id, data: data! }
  },
})

type UserChange = Omit<z.infer<ReturnType<typeof userUpdateBody>>, 'user_id' | 'version'>

/** As LiteLLM does: clients that keep users in step with a directory send the same for those that are new. */
function insertUser(
  { tx, services, caller }: Pick<EndpointContext, 'services' | 'caller'> & { readonly tx: TenancyTransaction },
  id: string | undefined,
  fields: UserChange,
): Promise<User> {
  checkNoAdministrator(caller, fields.user_role)
  checkedSpending(userChanges(fields))
  return tx.insert('user', newUser(id ?? randomUUIDv7(), fields, services.current.settings.newUsers))
}

function checkSelf(body: z.infer<ReturnType<typeof userUpdateBody>>): void {
  allowFields(body, selfFields, 'users')
  checkMetadata(body.metadata)
}

const userDelete = withBody(() => z.strictObject({ user_ids: z.array(keyName()).min(1).max(100) }), {
  ...about,
  answer: named('DeletedUsers', () => shape({ deleted_users: integer })),
  paths: ['/user/delete'],
  auth: 'admin',
  operationId: 'deleteUsers',
  summary: 'Delete users with their keys and memberships, all or none',
  failures: [404, 409],
  async handle({ user_ids: ids }, { services, caller }) {
    const wanted = [...new Set(ids)]
    await services.tenancy.change(actorOf(caller), async tx => {
      for (const id of wanted) await tx.delete('user', id)
    })
    return { deleted_users: wanted.length }
  },
})

/** Own user, users in teams and organizations that the caller administers, or all. The same 404 for others. */
async function visibleUser(reader: TenancyReader, caller: Caller, id: string | undefined): Promise<User> {
  const wanted = id ?? caller.key.userId
  const user = wanted === null ? undefined : await reader.find('user', wanted)
  if (user && (mayReadAll(caller) || user.id === caller.key.userId)) return user
  if (user && (await sharesGroup(reader, caller, user))) return user
  throw absent('user', 'user_id')
}

/** Of another's keys those in teams and organizations that the caller administers; undefined = all. */
function visibleTo(caller: Caller): KeyQuery['visible'] {
  if (mayReadAll(caller)) return undefined
  return {
    userId: caller.key.userId,
    teamIds: groupsOf(caller, 'team', 'admin'),
    organizationIds: organizationsOf(caller),
  }
}

const infoQuery = lazy(() =>
  z.strictObject({ user_id: keyName().optional().describe('Whom it is about; absent = the caller.') }),
)

const userInfo = withQuery(infoQuery, {
  ...about,
  answer: userInfoSchema,
  paths: ['/user/info'],
  auth: 'key',
  operationId: 'getUser',
  summary: 'One user with its teams and the first 100 of its keys',
  failures: [404],
  async handle({ user_id: id }, { services, caller }) {
    const { tenancy, keys } = services
    const user = await visibleUser(tenancy, caller, id)
    const teams = await visibleTeams(tenancy, caller, user.id)
    const own = await keys.list({ userId: user.id, visible: visibleTo(caller), limit: keysShownMax, offset: 0 })
    return {
      user_id: user.id,
      user_info: (await userRows(services, caller, [user]))[0]!,
      ...(await spendingStateOf(services, 'user', user)),
      keys: await shownKeys(services, own.keys),
      keys_total: own.total,
      teams: teams.map(team => ({ team_id: team.id, team_alias: team.alias })),
    }
  },
})

const userInfoLight = withQuery(infoQuery, {
  ...about,
  paths: ['/v2/user/info'],
  auth: 'key',
  operationId: 'getUserAlone',
  summary: 'One user without its keys',
  failures: [404],
  async handle({ user_id: id }, { services, caller }) {
    return (await userRows(services, caller, [await visibleUser(services.tenancy, caller, id)]))[0]!
  },
})

const listQuery = lazy(() =>
  z.strictObject({
    ...pageQueryFields({ most: 100, usual: 25 }),
    role: z.enum(userRoles).optional(),
    user_ids: z.string().max(10_000).optional().describe('These are ids with commas between.'),
    sso_user_ids: z.string().max(10_000).optional().describe('These are ids with commas between.'),
    user_email: keyName().optional().describe('The address contains this part.'),
    search: keyName()
      .optional()
      .describe('The name or the address contains this part, in any case, or it is the whole id.'),
    team: keyName().optional().describe('Only members of this team are listed.'),
    sort_by: z.enum(['created_at']).optional(),
    sort_order: z.enum(['asc', 'desc']).default('desc'),
  }),
)
const ids = (text: string | undefined) => text?.split(',', 1000).map(one => one.trim())

/** Admins of teams and organizations list the users of one of them at a time: `team` is required then. */
const userList = withQuery(listQuery, {
  ...about,
  answer: named('UserList', () => shape({ users: listOf(userSchema), ...pageFieldSchemas })),
  paths: ['/user/list'],
  auth: 'key',
  operationId: 'listUsers',
  summary: 'Users, in pages or by cursor; admins of a team name it',
  failures: [404],
  async handle(query, { services, caller }) {
    const { page, page_size: size, cursor, team } = query
    if (!mayReadAll(caller)) {
      if (team === undefined) throw forbidden('name one of your teams with `team`', 'team')
      await administeredTeam(services.tenancy, caller, team)
    }
    const filter = {
      role: query.role,
      ids: ids(query.user_ids),
      ssoUserIds: ids(query.sso_user_ids),
      email: query.user_email,
      person: query.search,
      teamId: team,
    }
    const paging = { ...pageOf(page, size, cursor), ascending: query.sort_order === 'asc' }
    const { items, total } = await services.tenancy.list('user', filter, paging)
    return {
      users: await userRows(services, caller, items),
      ...pageFields({ items, total }, page, size),
    }
  },
})

const roleDescriptions: Readonly<Record<User['role'], string>> = {
  proxy_admin: 'May do everything.',
  proxy_admin_viewer: 'May read everything and change nothing.',
  internal_user: 'May call models, make keys of its own, and read what it spent.',
  internal_user_viewer: 'May call models and read what it spent.',
}

const availableRoles = withQuery(() => z.strictObject({}), {
  ...about,
  answer: named('UserRoles', () => mapOf(shape({ description: text, ui_label: text }))),
  paths: ['/user/available_roles'],
  auth: 'key',
  operationId: 'listUserRoles',
  summary: 'The roles that a user may have',
  async handle() {
    const label = (role: string) =>
      role
        .split('_')
        .map(word => word[0]!.toUpperCase() + word.slice(1))
        .join(' ')
    return Object.fromEntries(
      Object.entries(roleDescriptions).map(([role, description]) => [role, { description, ui_label: label(role) }]),
    )
  },
})

const bulkBody = lazy(() => z.strictObject({ users: z.array(userUpdateBody()).min(1).max(500) }))
const userBulk = withBody(bulkBody, {
  ...about,
  answer: bulkUserUpdateSchema,
  paths: ['/user/bulk_update'],
  auth: 'admin',
  operationId: 'updateUsers',
  summary: 'Change up to 500 users, all or none',
  failures: [404, 409],
  async handle({ users }, { services, caller }) {
    const changed = await services.tenancy.change(actorOf(caller), async tx => {
      const done: User[] = []
      for (const { user_id: id, version, ...fields } of users) {
        const before = await findUser(tx, { user_id: id, user_email: fields.user_email ?? undefined })
        if (!before)
          throw new GatewayError('not-found', `there is no user '${id ?? fields.user_email}'`, { param: 'users' })
        const changes = userChanges(fields)
        for (const { role } of [before, changes]) checkNoAdministrator(caller, role)
        done.push(await tx.update('user', before.id, changes, version))
      }
      return done
    })
    return {
      results: changed.map(user => ({ user_id: user.id, user_email: user.email, success: true, error: null })),
      total_requested: users.length,
      successful_updates: changed.length,
      failed_updates: 0,
    }
  },
})

/** Everything under `/user`. */
export const userEndpoints: readonly Endpoint[] = [
  userNew,
  userUpdate,
  userBulk,
  userDelete,
  userInfo,
  userInfoLight,
  userList,
  availableRoles,
]
