/** What may have a budget: in words, where it is, and how it is changed. */
import { ask } from '../../api/client.ts'
import type { BudgetUsage, Calls } from '../../api/schema.d.ts'
import { t } from '../budgets.page.ts'
import type { StringKey } from '../budgets.page.ts'

/** A budget and how it stands. */
export type Budget = BudgetUsage['budgets'][number]
/** Of what has it. */
export type Kind = Budget['kind']

const names: Readonly<Record<Kind, StringKey>> = {
  key: 'budgets.kind.key',
  user: 'budgets.kind.user',
  team: 'budgets.kind.team',
  member: 'budgets.kind.member',
  organization: 'budgets.kind.organization',
  organization_member: 'budgets.kind.organizationMember',
  customer: 'budgets.kind.customer',
  tag: 'budgets.kind.tag',
  provider: 'budgets.kind.provider',
  gateway: 'budgets.kind.gateway',
}

export const kinds = Object.keys(names) as Kind[]

/** In the language of the pages. */
export const kindName = (kind: Kind): string => t(names[kind] ?? 'budgets.kind.gateway')

/** The page that shows what has the budget, and the name of its open row in the address. */
export const placeOf: Readonly<Partial<Record<Kind, readonly [path: string, name: string]>>> = {
  key: ['/keys', 'key'],
  user: ['/users', 'user'],
  team: ['/teams', 'team'],
  organization: ['/organizations', 'organization'],
  customer: ['/customers', 'customer'],
}

/** The maximum, or the soft one where there is no other. */
export const limitOf = (budget: Budget): number | null => budget.max_budget ?? budget.soft_budget

/** A raise of a budget for a while; nulls end it. */
export type Raise = Pick<
  NonNullable<Calls['POST /key/update']['body']>,
  'temp_budget_increase' | 'temp_budget_expiry' | 'temp_budget_reason'
>

type RaisedKind = 'key' | 'user' | 'team' | 'organization' | 'customer' | 'tag'

const updates: Readonly<Record<RaisedKind, (id: string, change: Raise & { version: number }) => Promise<unknown>>> = {
  key: (key, change) => ask('POST /key/update', { body: { key, ...change } }),
  user: (user_id, change) => ask('POST /user/update', { body: { user_id, ...change } }),
  team: (team_id, change) => ask('POST /team/update', { body: { team_id, ...change } }),
  organization: (organization_id, change) =>
    ask('PATCH /organization/update', { body: { organization_id, ...change } }),
  customer: (user_id, change) => ask('POST /customer/update', { body: { user_id, ...change } }),
  tag: (name, change) => ask('POST /tag/update', { body: { name, ...change } }),
}

/** Whether this budget can be raised by itself: not that of a single model, of a member, or of the configuration. */
export const isRaisable = ({ kind, model, version }: Budget): boolean =>
  model === null && version !== null && Object.hasOwn(updates, kind)

/** Rejects with 409 where another has changed what has the budget. */
export const raiseBudget = ({ kind, id, version }: Budget, raise: Raise): Promise<unknown> =>
  updates[kind as RaisedKind](id, { ...raise, version: version! })
