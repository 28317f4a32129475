/** Teams, organizations and users as a caller may see and change them, read within the transaction of a change. */
import { namesServers } from '../../../access/tools/tool-rights.ts'
import type { ToolPermission } from '../../../core/tenancy/tool-permission.ts'
import { randomUUIDv7 } from 'bun'
import { reservedName, restrictionOf } from '../../../access/key-grants.ts'
import { limitsCalls } from '../../../access/limits/named-owners.ts'
import { newUser } from '../../../access/fields/user-fields.ts'
import {
  administersOrganization,
  administersTeam,
  maySeeTeam,
  membershipIn,
  organizationsOf,
} from '../../../access/rights.ts'
import { isAdministrator } from '../../../core/caller.ts'
import type { Caller } from '../../../core/caller.ts'
import { GatewayError } from '../../../core/errors.ts'
import type { Membership, NameOwner, Organization, Team, User } from '../../../core/tenancy/tenancy.ts'
import type { TenancyReader, TenancyTransaction } from '../../../core/tenancy/tenancy-store.ts'
import { absent, forbidden, wrongField } from '../../common/answers.ts'

/** The team, if the caller may read it. Throws the same 404 for one that does not exist and for a foreign one. */
export async function visibleTeam(reader: TenancyReader, caller: Caller, id: string): Promise<Team> {
  const team = await reader.find('team', id)
  if (team && maySeeTeam(caller, team)) return team
  throw absent('team', 'team_id')
}

/** The team, if the caller administers it. Throws 404 as `visibleTeam`, and 403 to members. */
export async function administeredTeam(reader: TenancyReader, caller: Caller, id: string): Promise<Team> {
  const team = await visibleTeam(reader, caller, id)
  if (administersTeam(caller, team)) return team
  throw forbidden('only admins of the team may do this', 'team_id')
}

/** The organization, if the caller administers it. Throws the same 404 for one that does not exist. */
export async function administeredOrganization(
  reader: TenancyReader,
  caller: Caller,
  id: string,
): Promise<Organization> {
  const organization = await reader.find('organization', id)
  if (organization && administersOrganization(caller, id)) return organization
  throw absent('organization', 'organization_id')
}

/** Throws 403 for the first field that is not among those that the caller may write. */
export function allowFields(sent: object, allowed: ReadonlySet<string>, who: string): void {
  const refused = Object.entries(sent).find(([name, value]) => value !== undefined && !allowed.has(name))?.[0]
  if (refused) throw forbidden(`${who} may not change \`${refused}\``, refused)
}

/** Throws 403 where metadata has a name that decides on money, which administrators alone write. */
export function checkMetadata(metadata: Readonly<Record<string, unknown>> | null | undefined): void {
  const reserved = reservedName(metadata ?? {})
  if (reserved) throw forbidden(`only administrators may write \`metadata.${reserved.slice(0, 100)}\``, 'metadata')
}

/**
 * Who is no administrator narrows which tools may be used, and grants none: tool servers are named only where a wider
 * object names some, within which the list then stays. Throws 403.
 */
export function checkToolGrants(
  given: ToolPermission | null | undefined,
  wider: readonly (Pick<Team, 'objectPermission'> | undefined)[],
): void {
  if (!given || !namesServers(given)) return
  if (wider.some(one => one?.objectPermission && namesServers(one.objectPermission))) return
  throw forbidden(
    'only administrators grant tool servers: name some on the team or the organization first, or narrow by ' +
      '`mcp_tool_permissions` and `blocked_tools`',
    'object_permission',
  )
}

/**
 * A key with `allowed_routes` makes and changes no administrators, and nothing with which one could sign in as one,
 * also where it is an administrator's: it would leave its routes so. Throws 403.
 */
export function checkNoAdministrator({ key }: Caller, role: string | null | undefined): void {
  if (role?.startsWith('proxy_admin') && restrictionOf(key))
    throw forbidden('this key has `allowed_routes`, so that it makes and changes no administrators', 'user_id')
}

/** A user as a request names it. */
export interface NamedUser {
  readonly user_id?: string | undefined
  readonly user_email?: string | undefined
}

/** The user of this id or address. undefined = there is none. */
export async function findUser(reader: TenancyReader, { user_id: id, user_email: email }: NamedUser) {
  if (id !== undefined) return reader.find('user', id)
  const [first, second] = await reader.usersByEmail(email!.toLowerCase())
  if (second) throw forbidden('several users have this address; name one by `user_id`', 'user_email')
  return first
}

/**
 * As `findUser`. For administrators a user that does not exist is made of `defaults`; null = none is made. Others add
 * users who are in one of their teams or organizations already: the same 404 for users who do not exist and for those
 * of other tenants, whom they could read as members.
 */
export async function userForMembership(
  tx: TenancyTransaction,
  { caller, defaults }: { caller: Caller; defaults: Partial<User> | null },
  named: NamedUser,
): Promise<User> {
  const found = await findUser(tx, named)
  if (!isAdministrator(caller)) {
    if (found && (found.id === caller.user?.id || (await sharesGroup(tx, caller, found)))) return found
    throw absent('user', 'user_id')
  }
  if (found) return found
  if (!defaults) throw absent('user', named.user_id === undefined ? 'user_email' : 'user_id')
  const id = named.user_id ?? randomUUIDv7()
  return tx.insert('user', newUser(id, { user_email: named.user_email?.toLowerCase() ?? null }, defaults))
}

/** The user is in a team or an organization that the caller administers. */
export async function sharesGroup(reader: TenancyReader, caller: Caller, user: User): Promise<boolean> {
  const userMemberships = await reader.memberships({ userId: user.id })
  const administered = userMemberships.some(({ kind, groupId }) => {
    const role = membershipIn(caller, kind, groupId)?.role
    return role === 'admin' || role === 'org_admin'
  })
  if (administered) return true
  const organizations = organizationsOf(caller)
  if (organizations.length === 0) return false
  const teams = await reader.findAll(
    'team',
    userMemberships.filter(one => one.kind === 'team').map(one => one.groupId),
  )
  return teams.some(({ organizationId }) => organizationId !== null && organizations.includes(organizationId))
}

/** Where a new or moved team may stand: administrators anywhere, others in organizations that they administer. */
export async function checkOrganization(
  tx: TenancyReader,
  caller: Caller,
  organizationId: string | null,
): Promise<void> {
  if (organizationId === null) {
    if (!isAdministrator(caller))
      throw forbidden('only administrators make teams without an organization', 'organization_id')
    return
  }
  await administeredOrganization(tx, caller, organizationId)
}

/**
 * For those who are no administrators and give tags to keys of this team or organization: throws 403 for one that
 * limits calls and is none of theirs, as calls could spend what it has.
 */
export async function checkGivenTags(
  tx: Pick<TenancyReader, 'find'>,
  { teamId, organizationId }: NameOwner,
  names: readonly string[],
): Promise<void> {
  for (const name of new Set(names)) {
    const tag = await tx.find('tag', name.trim())
    if (!tag || (tag.budgetId === null && tag.teamId === null && tag.organizationId === null && !limitsCalls(tag)))
      continue
    const isOwn = tag.teamId === null ? tag.organizationId === organizationId : tag.teamId === teamId
    if (!isOwn || (tag.teamId ?? tag.organizationId) === null)
      throw forbidden('only administrators give a tag that has limits, or is of another team or organization', 'tags')
  }
}

/** Throws 404 for a team or an organization that does not exist: nothing of it would hold. */
export async function checkGroups(
  tx: Pick<TenancyReader, 'find'>,
  { teamId, organizationId }: { readonly teamId?: string | null; readonly organizationId?: string | null },
): Promise<void> {
  if (teamId != null && !(await tx.find('team', teamId))) throw absent('team', 'team_id')
  if (organizationId != null && !(await tx.find('organization', organizationId)))
    throw absent('organization', 'organization_id')
}

/** The user's membership of the group. Throws 404 where it has none, and 422 where no user is named. */
export async function memberOf(
  reader: TenancyReader,
  { kind, groupId }: Pick<Membership, 'kind' | 'groupId'>,
  named: NamedUser,
): Promise<Membership> {
  if (named.user_id === undefined && named.user_email === undefined)
    throw wrongField('user_id', 'is missing; give `user_id` or `user_email`')
  const user = await findUser(reader, named)
  const all = user ? await reader.memberships({ userId: user.id }) : []
  const found = all.find(one => one.kind === kind && one.groupId === groupId)
  if (found) return found
  throw new GatewayError('not-found', `the ${kind} has no such member`, {
    param: named.user_id === undefined ? 'user_email' : 'user_id',
  })
}
