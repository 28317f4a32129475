/**
 * Rows of LiteLLM's database as objects of ours. Sources: LiteLLM's `schema.prisma` (1.82 to 1.108), read beside its
 * management API. Amounts there are dollars, times are UTC without a zone.
 */
import { toolPermission } from '../fields/tool-permission.ts'
import {
  budgetFields,
  customerFields,
  keyRecordFields,
  organizationFields,
  tagFields,
  teamFields,
  userFields,
} from '../../core/tenancy/field-tables.ts'
import { recordOf, userRoles } from '../../core/tenancy/fields.ts'
import type {
  Field,
  FieldKind,
  FieldTable,
  KindValues,
  ModelBudget,
  UserRole,
  Values,
} from '../../core/tenancy/fields.ts'
import type { NewKey, NewTenant } from '../../core/tenancy/tenancy-store.ts'
import { noNameOwner, unlimited } from '../../core/tenancy/tenancy.ts'
import type { Membership } from '../../core/tenancy/tenancy.ts'
import { objectOf } from '../../lib/json/json-values.ts'
import { readDuration } from '../key.ts'

/** One row, by the names of its columns. */
export type LitellmRow = Readonly<Record<string, unknown>>

const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)
const numberOf = (value: unknown): number | null => (typeof value === 'number' ? value : null)
const listOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string') : []

/** Dollars as nano-dollars; null = none. */
export const nanoUsd = (dollars: unknown): bigint | null =>
  typeof dollars === 'number' && Number.isFinite(dollars) ? BigInt(Math.round(dollars * 1e9)) : null

/** Milliseconds since 1970 of a time without a zone, which is UTC. */
export function momentMs(value: unknown): number | null {
  const written = text(value)
  if (written === null) return null
  const ms = Date.parse(/(?:Z|[+-]\d\d:?\d\d)$/.test(written) ? written : `${written}Z`)
  return Number.isNaN(ms) ? null : ms
}

/** A budget's duration that is none here counts as one that never ends. */
function durationOf(value: unknown): string | null {
  const written = text(value)
  return written !== null && !('problem' in readDuration(written)) ? written : null
}

function limitsByModel(value: unknown): Record<string, number> {
  const entries = Object.entries(objectOf(value)).filter(([, limit]) => typeof limit === 'number')
  return Object.fromEntries(entries) as Record<string, number>
}

function modelBudgets(value: unknown): Record<string, ModelBudget> {
  const budgets: Record<string, ModelBudget> = {}
  for (const [model, one] of Object.entries(objectOf(value))) {
    const fields = objectOf(one)
    // The first two names may be texts: "0.01".
    const maxBudgetNanoUsd = nanoUsd(Number(fields.budget_limit ?? fields.max_budget ?? Number.NaN))
    const budgetDuration = durationOf(fields.time_period ?? fields.budget_duration)
    if (maxBudgetNanoUsd !== null) budgets[model] = { maxBudgetNanoUsd, budgetDuration }
  }
  return budgets
}

function aliasesOf(value: unknown): Record<string, string> {
  const entries = Object.entries(objectOf(value)).filter(([, model]) => typeof model === 'string')
  return Object.fromEntries(entries) as Record<string, string>
}

const isUserRole = (value: unknown): value is UserRole => (userRoles as readonly unknown[]).includes(value)
/** What LiteLLM keeps in `metadata` and has a field of its own here. */
const fieldsInMetadata = new Set([
  'team_member_budget_id',
  ...[keyRecordFields, teamFields].flatMap((table: FieldTable) =>
    Object.values(table).flatMap(({ name, isInLitellmMetadata }) => (isInLitellmMetadata && name ? [name] : [])),
  ),
])

const ownMetadata = (metadata: unknown): Record<string, unknown> =>
  Object.fromEntries(Object.entries(objectOf(metadata)).filter(([name]) => !fieldsInMetadata.has(name)))

/** What a field of each kind is by the value of its column; undefined = there is none. */
const readers: { readonly [Kind in FieldKind]: (value: unknown) => KindValues[Kind] } = {
  id: String,
  count: value => numberOf(value) ?? 0,
  time: value => momentMs(value) ?? 0,
  moment: momentMs,
  name: text,
  paragraph: text,
  email: text,
  duration: durationOf,
  limit: numberOf,
  limits: limitsByModel,
  dollars: nanoUsd,
  modelBudgets,
  names: listOf,
  models: listOf,
  aliases: aliasesOf,
  permissions: listOf,
  object: ownMetadata,
  toolPermission: value =>
    toolPermission()
      .nullable()
      .catch(null)
      .parse(value ?? null),
  flag: value => value === true,
  choice: value => (typeof value === 'boolean' ? value : null),
  // A role that there is not here is the usual one.
  userRole: value => (isUserRole(value) ? value : 'internal_user'),
  memberRole: value => organizationRoles.find(role => role === value) ?? 'internal_user',
  groupKind: () => 'team',
}

/** The fields of a table, each by its name in the API, which is that of LiteLLM's column. */
function read<Table extends FieldTable>(table: Table, row: LitellmRow): Values<Table> {
  const metadata = objectOf(row.metadata)
  return recordOf(table, <Kind extends FieldKind>({ kind, name, isInLitellmMetadata }: Field<Kind>) =>
    readers[kind](name === null ? undefined : (isInLitellmMetadata ? metadata : row)[name]),
  )
}

/** Of `LiteLLM_BudgetTable`. Its moment of reset is that of no one object. */
export const budgetOf = (row: LitellmRow): NewTenant<'budget'> => ({
  ...read(budgetFields, row),
  budgetResetAtMs: null,
})

/** Of `LiteLLM_OrganizationTable`. */
export const organizationOf = (row: LitellmRow): NewTenant<'organization'> => read(organizationFields, row)

/** Of `LiteLLM_EndUserTable`. */
export const customerOf = (row: LitellmRow): NewTenant<'customer'> => ({ ...read(customerFields, row), ...noNameOwner })

/** Of `LiteLLM_TagTable`. */
export const tagOf = (row: LitellmRow): NewTenant<'tag'> => ({
  ...read(tagFields, row),
  ...noNameOwner,
  id: String(row.tag_name),
})

/** Of `LiteLLM_UserTable`. */
export const userOf = (row: LitellmRow): NewTenant<'user'> => read(userFields, row)

/** A user that a team names and that has no row. */
export const bareUser = (id: string): NewTenant<'user'> => userOf({ user_id: id })

/** Of `LiteLLM_TeamTable`, with the aliases of its `LiteLLM_ModelTable` row and the budget of its members. */
export const teamOf = (row: LitellmRow, aliases: unknown, ofMembers: LitellmRow | undefined): NewTenant<'team'> => ({
  ...read(teamFields, row),
  modelAliases: aliasesOf(aliases),
  memberMaxBudgetNanoUsd: nanoUsd(ofMembers?.max_budget),
  memberBudgetDuration: durationOf(ofMembers?.budget_duration),
  memberRequestsPerMinute: numberOf(ofMembers?.rpm_limit),
  memberTokensPerMinute: numberOf(ofMembers?.tpm_limit),
})

/** Of the list `members_with_roles` of a team; `budgetIds` by user. */
export function membersOf(row: LitellmRow, budgetIds: ReadonlyMap<string, string>): Omit<Membership, 'createdAtMs'>[] {
  const members = Array.isArray(row.members_with_roles) ? row.members_with_roles : []
  return members.flatMap(one => {
    const { user_id: id, role } = objectOf(one)
    const userId = text(id)
    if (userId === null) return []
    return [
      {
        ...unlimited,
        kind: 'team',
        groupId: String(row.team_id),
        userId,
        role: role === 'admin' ? 'admin' : 'user',
        budgetId: budgetIds.get(userId) ?? null,
      },
    ]
  })
}

const organizationRoles = ['org_admin', 'internal_user', 'internal_user_viewer'] as const

/** Of `LiteLLM_OrganizationMembership`. */
export const organizationMemberOf = (row: LitellmRow): Omit<Membership, 'createdAtMs'> => ({
  ...unlimited,
  kind: 'organization',
  groupId: String(row.organization_id),
  userId: String(row.user_id),
  role: readers.memberRole(row.user_role),
  budgetId: text(row.budget_id),
})

/** Keys of LiteLLM's pages are in it: they live for a day and are made anew at each sign-in. */
const pagesTeam = 'litellm-dashboard'

/** Of `LiteLLM_VerificationToken`; its `token` is the SHA-256 of the key's text. undefined = a session of its pages. */
export function keyOf(row: LitellmRow, hashOfDigest: (digest: string) => string): NewKey | undefined {
  const digest = text(row.token)
  if (row.team_id === pagesTeam || digest === null || !/^[0-9a-f]{64}$/.test(digest)) return undefined
  return {
    ...read(keyRecordFields, row),
    id: digest,
    hash: hashOfDigest(digest),
    hint: text(row.key_name) ?? 'sk-...',
    rotationInterval: row.auto_rotate === true ? durationOf(row.rotation_interval) : null,
  }
}
