/** Which fields of tenant objects a form has, in which part of it; those that no form has, with the reason. */
import { writtenFields } from '../../api/written-fields.ts'
import type { Calls } from '../../api/schema.d.ts'

/** Keys, teams and the like, which have a form each. */
export type ObjectKind = keyof typeof writtenFields

interface Bodies {
  key: Calls['POST /key/update']['body']
  team: Calls['POST /team/update']['body']
  user: Calls['POST /user/update']['body']
  organization: Calls['PATCH /organization/update']['body']
  customer: Calls['POST /customer/update']['body']
  tag: Calls['POST /tag/update']['body']
  budget: Calls['POST /budget/update']['body']
}

/** Values of written fields by the names of the API; a key ends after `duration`, which no answer has. */
export type ObjectValues<Kind extends ObjectKind> = {
  [Name in keyof Bodies[Kind] & (keyof (typeof writtenFields)[Kind] | 'duration')]?: Bodies[Kind][Name]
}

/** The kinds of what fields hold, those of `fields.ts` in the gateway. */
export type FieldKind = { [Kind in ObjectKind]: KindsOf<(typeof writtenFields)[Kind]> }[ObjectKind]
type KindsOf<Table> = Table[keyof Table] extends { readonly kind: infer Kind } ? Kind : never

/** The name of a field that any of the objects has. */
export type FieldName = { [Kind in ObjectKind]: keyof (typeof writtenFields)[Kind] }[ObjectKind] | 'duration'

/** Set on a page, but not in the form of the object: the part that sets them. */
export const setElsewhere: Readonly<Record<string, string>> = {
  blocked: 'the button that blocks and unblocks, which takes effect at once',
  store_prompts_in_spend_logs: 'components/gateway/stored-bodies.tsx, which says what the gateway keeps',
  user_role: 'pages/users/user-drawer.tsx',
  team_member_permissions: 'pages/teams/member-rights.tsx',
  team_member_budget: 'pages/teams/member-rights.tsx',
  team_member_budget_duration: 'pages/teams/member-rights.tsx',
  team_member_rpm_limit: 'pages/teams/member-rights.tsx',
  team_member_tpm_limit: 'pages/teams/member-rights.tsx',
  team_member_key_duration: 'pages/teams/member-rights.tsx',
  temp_budget_increase: 'pages/budgets/raise-form.tsx',
  temp_budget_expiry: 'pages/budgets/raise-form.tsx',
  temp_budget_reason: 'pages/budgets/raise-form.tsx',
}

/** Fields that no page sets, as `object.field`, with the reason. */
export const setNowhere: Readonly<Record<string, string>> = {
  'user.sso_user_id': 'The identity provider gives it at sign-in; a person who typed it could take an account over.',
  'key.object_permission': 'It is a map of lists by server, which is written by the API.',
  'team.object_permission': 'See that of keys.',
  'user.object_permission': 'See that of keys.',
  'organization.object_permission': 'See that of keys.',
  'budget.temp_budget_increase': 'A raise is one of a key, a user or a team, and not of all that share a definition.',
  'budget.temp_budget_expiry': 'See the increase.',
  'budget.temp_budget_reason': 'See the increase.',
}

/** What is asked for together. The first part is always open. */
const parts = {
  general: [
    'key_alias',
    'team_alias',
    'user_email',
    'user_alias',
    'organization_alias',
    'alias',
    'description',
    'user_id',
    'team_id',
    'organization_id',
    'models',
    'duration',
  ],
  limits: [
    'budget_id',
    'max_budget',
    'budget_duration',
    'soft_budget',
    'max_budget_per_session',
    'budget_reset_at',
    'rpm_limit',
    'tpm_limit',
    'max_parallel_requests',
  ],
  perModel: ['model_max_budget', 'model_rpm_limit', 'model_tpm_limit', 'aliases', 'model_aliases'],
  rules: [
    'tags',
    'guardrails',
    'allowed_routes',
    'enforced_params',
    'allowed_cache_controls',
    'rotation_interval',
    'metadata',
  ],
} as const satisfies Readonly<Record<string, readonly FieldName[]>>

/** The name of a part of a form. */
export type FormPart = keyof typeof parts

const isIn = (kind: ObjectKind, name: string): boolean =>
  (kind === 'key' && name === 'duration') || Object.hasOwn(writtenFields[kind], name)

/** The names of the fields that the form of an object has, part by part. */
export function formParts(kind: ObjectKind): Readonly<Record<FormPart, readonly FieldName[]>> {
  const own = (names: readonly FieldName[]) => names.filter(name => isIn(kind, name))
  return {
    general: own(parts.general),
    limits: own(parts.limits),
    perModel: own(parts.perModel),
    rules: own(parts.rules),
  }
}

/** The names of all fields of the form of an object. */
export const formFields = (kind: ObjectKind): readonly FieldName[] => Object.values(formParts(kind)).flat()

/** What a field holds. */
export const kindOf = (object: ObjectKind, name: FieldName): FieldKind =>
  name === 'duration'
    ? 'duration'
    : (writtenFields[object] as Readonly<Record<string, { kind: FieldKind }>>)[name]!.kind

/** What an answer says of the fields of the form; `isLed` = only those that the leaders of the object may write. */
export function valuesOf<Kind extends ObjectKind>(
  kind: Kind,
  shown: object,
  { isLed = false, without = [] }: { readonly isLed?: boolean; readonly without?: readonly FieldName[] } = {},
): ObjectValues<Kind> {
  const table = writtenFields[kind] as Readonly<Record<string, { readonly isSelfService?: true }>>
  const offered = formFields(kind).filter(name => !without.includes(name) && (!isLed || table[name]?.isSelfService))
  const values: Readonly<Record<string, unknown>> = { ...shown }
  // How long a key lives is said by a moment, and changed by a time from now: undefined = as it is.
  return Object.fromEntries(
    offered.map(name => [name, name === 'duration' ? undefined : values[name]]),
  ) as ObjectValues<Kind>
}
