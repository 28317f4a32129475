/** Whether a caller still is what it was when its request was admitted: what comes later is judged by the present. */
import { isMaster } from '../core/caller.ts'
import type { Caller, Role } from '../core/caller.ts'
import { GatewayError } from '../core/errors.ts'
import { callerProblem } from './caller.ts'
import { isPart, loosenedField, restrictionOf } from './key-grants.ts'

/** What each role may do is part of what these may. */
const widerRoles: Readonly<Record<Role, readonly Role[]>> = {
  key: ['key', 'internal_user_viewer', 'internal_user', 'proxy_admin_viewer', 'proxy_admin'],
  internal_user_viewer: ['internal_user_viewer', 'internal_user', 'proxy_admin_viewer', 'proxy_admin'],
  internal_user: ['internal_user', 'proxy_admin'],
  proxy_admin_viewer: ['proxy_admin_viewer', 'proxy_admin'],
  proxy_admin: ['proxy_admin'],
  directory: ['directory'],
}

/**
 * Throws `unauthenticated` where the caller of a request that is under way would not be admitted any more, and
 * `conflict` where it may do less than when it was admitted: sent again, the request is judged by what holds then.
 * `present` = the same key, session or user as it is now; undefined = it is gone.
 */
export function checkStanding(admitted: Caller, present: Caller | undefined, nowMs: number): void {
  if (!present || callerProblem(present, nowMs))
    throw new GatewayError(
      'unauthenticated',
      'the key, the session or its user was deleted, blocked or replaced, or has ended, while the request was under ' +
        'way: nothing was done',
    )
  const lost = lostRight(admitted, present)
  if (lost) throw reduced(lost)
}

/** As `checkStanding`, also for what calls are bound by: lists of models and limits. Both are compiled alike. */
export function checkStandingOfCalls(admitted: Caller, present: Caller | undefined, nowMs: number): void {
  checkStanding(admitted, present, nowMs)
  const tightened = tightenedPart(admitted, present!)
  if (tightened) throw reduced(tightened)
}

const reduced = (lost: string): GatewayError =>
  new GatewayError(
    'conflict',
    `${lost} was changed while the request was under way, so that it may do less than before: nothing was done; send ` +
      'the request again',
    { code: 'rights_changed' },
  )

/** The first right that the caller had and has no more; undefined = it has lost none. */
function lostRight(admitted: Caller, present: Caller): string | undefined {
  if (isMaster(admitted)) return undefined
  if (!widerRoles[admitted.role].includes(present.role)) return 'the role of the user'
  if (!(admitted.memberships ?? []).every(had => hasStill(present, had)) || (admitted.member && !present.member))
    return 'the membership of a team or an organization'
  const [before, now] = [admitted.key, present.key]
  if (before.userId !== now.userId || before.teamId !== now.teamId || before.organizationId !== now.organizationId)
    return 'the owner of the key'
  if (now.allowedRoutes.length > 0 && !isPart(before.allowedRoutes, now.allowedRoutes))
    return 'the `allowed_routes` of the key'
  if (!restrictionOf(before) && restrictionOf(now)) return 'the restrictions of the key'
  return undefined
}

/** The admins of a group may do what its members may. */
function hasStill(
  { memberships = [] }: Caller,
  had: Pick<NonNullable<Caller['memberships']>[number], 'kind' | 'groupId' | 'role'>,
): boolean {
  const now = memberships.find(one => one.kind === had.kind && one.groupId === had.groupId)
  return now !== undefined && (now.role === had.role || now.role === 'admin' || now.role === 'org_admin')
}

const limits = ['requestsPerMinute', 'tokensPerMinute', 'parallelRequests', 'maxBudgetNanoUsd'] as const

/** The first part of the caller that allows its calls less than before; undefined = none does. */
function tightenedPart(admitted: Caller, present: Caller): string | undefined {
  if (isMaster(admitted) || admitted === present) return undefined
  const field = loosenedField(present.key, admitted.key)
  if (field) return `\`${field}\` of the key`
  for (const kind of ['user', 'team', 'organization', 'member'] as const) {
    const [before, now] = [admitted[kind], present[kind]]
    if (before === now || !before || !now) continue
    if ('models' in before && 'models' in now && now.models.length > 0 && !isPart(before.models, now.models))
      return `the list of models of the ${kind}`
    if (limits.some(name => now[name] !== null && (before[name] === null || before[name] > now[name])))
      return `a limit of the ${kind}`
  }
  return undefined
}
