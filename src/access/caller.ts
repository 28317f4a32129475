/** Compiles the caller of a key from the objects that the key belongs to. */
import { managingBar } from './key-grants.ts'
import { bareKey, isAdministrator } from '../core/caller.ts'
import type { Caller, VirtualKey } from '../core/caller.ts'
import type { Membership, NamedBudget, Organization, SpendingFields, Tag, Team, User } from '../core/tenancy/tenancy.ts'

/** What a caller is made of; absent = there is none, or none of this id is stored. */
export interface CallerParts {
  readonly key: VirtualKey
  readonly user?: User | undefined
  readonly memberships?: readonly Membership[] | undefined
  readonly team?: Team | undefined
  readonly organization?: Organization | undefined
  readonly tags?: readonly Tag[] | undefined
}

/** The caller of a key. All parts have effective limits and budgets (`withBudget`). */
export function compileCaller({ key, user, memberships = [], team, organization, tags = [] }: CallerParts): Caller {
  const own = team && memberships.find(one => one.kind === 'team' && one.groupId === team.id)
  return {
    role: key.ofDirectory ? 'directory' : (user?.role ?? 'key'),
    restriction: managingBar(key),
    key,
    user,
    team,
    member: own && team ? withTeamShare(own, team) : undefined,
    organization,
    memberships,
    tags,
  }
}

/** The caller as one with a key of this team that lists no models: for questions about the team's models. */
export function callerInTeam(caller: Caller, team: Team, organization: Organization | undefined): Caller {
  // The lists of an administrator's own user say nothing about the team.
  const user = isAdministrator(caller) ? undefined : caller.user
  return compileCaller({ key: { ...bareKey, id: `team:${team.id}`, teamId: team.id }, user, team, organization })
}

/** A member's own limits and budget, where it has none the team's share for members. */
export function withTeamShare(member: Membership, team: Team): Membership {
  const hasBudget = member.maxBudgetNanoUsd !== null
  return {
    ...member,
    requestsPerMinute: member.requestsPerMinute ?? team.memberRequestsPerMinute,
    tokensPerMinute: member.tokensPerMinute ?? team.memberTokensPerMinute,
    maxBudgetNanoUsd: hasBudget ? member.maxBudgetNanoUsd : team.memberMaxBudgetNanoUsd,
    budgetDuration: hasBudget ? member.budgetDuration : team.memberBudgetDuration,
  }
}

/**
 * Limits and budget of an object with those of its named budget where it sets none. A budget is taken as a whole, with
 * its duration: an object with a maximum of its own does not reset by another's calendar.
 */
export function withBudget<Fields extends SpendingFields>(own: Fields, budget: NamedBudget | undefined): Fields {
  if (!budget) return own
  const hasBudget = own.maxBudgetNanoUsd !== null || own.softBudgetNanoUsd !== null
  const money = hasBudget
    ? {}
    : {
        maxBudgetNanoUsd: budget.maxBudgetNanoUsd,
        softBudgetNanoUsd: budget.softBudgetNanoUsd,
        budgetDuration: own.budgetDuration ?? budget.budgetDuration,
        budgetResetAtMs: own.budgetResetAtMs ?? budget.budgetResetAtMs,
      }
  return {
    ...own,
    ...money,
    requestsPerMinute: own.requestsPerMinute ?? budget.requestsPerMinute,
    tokensPerMinute: own.tokensPerMinute ?? budget.tokensPerMinute,
    parallelRequests: own.parallelRequests ?? budget.parallelRequests,
    modelRequestsPerMinute: { ...budget.modelRequestsPerMinute, ...own.modelRequestsPerMinute },
    modelTokensPerMinute: { ...budget.modelTokensPerMinute, ...own.modelTokensPerMinute },
    modelMaxBudget: { ...budget.modelMaxBudget, ...own.modelMaxBudget },
  }
}

/** Why the caller is refused at `nowMs` (milliseconds since 1970); undefined = it is not. */
export function callerProblem(caller: Caller, nowMs: number): 'blocked' | 'expired' | undefined {
  const { key, user, team, organization } = caller
  if (key.blocked || user?.blocked || team?.blocked || organization?.blocked) return 'blocked'
  if (key.expiresAtMs !== null && key.expiresAtMs <= nowMs) return 'expired'
  return undefined
}
