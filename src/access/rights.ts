/** Who may see and manage which keys, teams, users and organizations: what is not allowed here is refused. */
import { isAdministrator } from '../core/caller.ts'
import type { Caller } from '../core/caller.ts'
import type { AuthClass } from '../core/policy.ts'
import type { Membership, Team } from '../core/tenancy/tenancy.ts'

/** May read everything: administrators, and users with the role `proxy_admin_viewer`. */
export function mayReadAll({ role }: Caller): boolean {
  return role === 'proxy_admin' || role === 'proxy_admin_viewer'
}

/** The caller's role is one that operations of this class are open to. */
export function hasRoleFor(caller: Caller, auth: AuthClass): boolean {
  if (caller.role === 'directory') return auth === 'directory'
  if (auth === 'key' || isAdministrator(caller)) return true
  return (
    (auth === 'manager' && caller.role === 'internal_user') ||
    (auth === 'viewer' && caller.role === 'proxy_admin_viewer')
  )
}

const isIn = (kind: Membership['kind'], groupId: string) => (one: Membership) =>
  one.kind === kind && one.groupId === groupId

/** The caller's membership of a team; undefined = it is no member. */
export function membershipIn({ memberships = [] }: Caller, kind: Membership['kind'], groupId: string) {
  return memberships.find(isIn(kind, groupId))
}

/** An administrator, or an `org_admin` of this organization. */
export function administersOrganization(caller: Caller, organizationId: string): boolean {
  return isAdministrator(caller) || membershipIn(caller, 'organization', organizationId)?.role === 'org_admin'
}

type TeamReference = Pick<Team, 'id' | 'organizationId'>

/** An administrator, an admin of the team, or an admin of its organization. */
export function administersTeam(caller: Caller, { id, organizationId }: TeamReference): boolean {
  if (isAdministrator(caller) || membershipIn(caller, 'team', id)?.role === 'admin') return true
  return organizationId !== null && administersOrganization(caller, organizationId)
}

/** May read the team: its members and admins, the key's own team, and callers that read everything. */
export function maySeeTeam(caller: Caller, team: TeamReference): boolean {
  return (
    mayReadAll(caller) ||
    caller.key.teamId === team.id ||
    membershipIn(caller, 'team', team.id) !== undefined ||
    administersTeam(caller, team)
  )
}

/** Is an admin of at least one team or organization, or an administrator. */
export function administersAnything(caller: Caller): boolean {
  return isAdministrator(caller) || groupsOf(caller, 'team', 'admin').length > 0 || organizationsOf(caller).length > 0
}

/** Ids of the caller's teams or organizations; with `role` only of those where it has this role. */
export function groupsOf({ memberships = [] }: Caller, kind: Membership['kind'], role?: Membership['role']): string[] {
  return memberships
    .filter(one => one.kind === kind && (role === undefined || one.role === role))
    .map(one => one.groupId)
}

/** Ids of the organizations that the caller administers by its membership. */
export function organizationsOf(caller: Caller): string[] {
  return groupsOf(caller, 'organization', 'org_admin')
}

/** The owners of a key: they decide who may see and change it. */
export interface KeyOwners {
  readonly id: string
  readonly userId: string | null
  readonly teamId: string | null
}

/** The own key, those of the own user and of teams that the caller administers; `team` = the key's, if stored. */
export function maySeeKey(caller: Caller, key: KeyOwners, team: TeamReference | undefined): boolean {
  return mayReadAll(caller) || caller.key.id === key.id || mayChangeKey(caller, key, team)
}

/** Keys of the own user, unless it is a viewer, and keys of teams that the caller administers. */
export function mayChangeKey(caller: Caller, key: KeyOwners, team: TeamReference | undefined): boolean {
  if (isAdministrator(caller)) return true
  if (caller.role !== 'internal_user') return false
  return (caller.user !== undefined && key.userId === caller.user.id) || (!!team && administersTeam(caller, team))
}
