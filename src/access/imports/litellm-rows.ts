/**
 * Rows of LiteLLM's database as objects of ours. Sources: LiteLLM's `schema.prisma` (1.82 to 1.108), read beside its
 * management API. Amounts there are dollars, times are UTC without a zone.
 */
import { bareKey } from '../../core/caller.ts'
import type { NewKey, NewTenant } from '../../core/tenancy/tenancy-store.ts'
import { noDirectory, noNameOwner, unlimited, userRoles } from '../../core/tenancy/tenancy.ts'
import type { MemberRole, Membership, ModelBudget, SpendingFields, UserRole } from '../../core/tenancy/tenancy.ts'
import { readDuration } from '../key.ts'
import { objectOf } from '../../lib/json/json-values.ts'

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

function spendingOf(row: LitellmRow, metadata: Readonly<Record<string, unknown>> = {}): SpendingFields {
  return {
    ...unlimited,
    requestsPerMinute: numberOf(row.rpm_limit),
    tokensPerMinute: numberOf(row.tpm_limit),
    parallelRequests: numberOf(row.max_parallel_requests),
    modelRequestsPerMinute: limitsByModel(metadata.model_rpm_limit),
    modelTokensPerMinute: limitsByModel(metadata.model_tpm_limit),
    maxBudgetNanoUsd: nanoUsd(row.max_budget),
    softBudgetNanoUsd: nanoUsd(row.soft_budget),
    budgetDuration: durationOf(row.budget_duration),
    budgetResetAtMs: momentMs(row.budget_reset_at),
    modelMaxBudget: modelBudgets(row.model_max_budget),
    budgetId: text(row.budget_id),
  }
}

/** What LiteLLM keeps in `metadata` and has a field of its own here. */
const fieldsInMetadata = new Set([
  'model_rpm_limit',
  'model_tpm_limit',
  'tags',
  'guardrails',
  'enforced_params',
  'team_member_budget_id',
  'team_member_key_duration',
])

const ownMetadata = (metadata: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(metadata).filter(([name]) => !fieldsInMetadata.has(name)))

function tenantOf(row: LitellmRow, { id, alias }: { id: unknown; alias: unknown }) {
  const metadata = objectOf(row.metadata)
  return {
    ...spendingOf(row, metadata),
    id: String(id),
    alias: text(alias),
    models: listOf(row.models),
    metadata: ownMetadata(metadata),
    blocked: row.blocked === true,
  }
}

/** Of `LiteLLM_BudgetTable`. Its moment of reset is that of no one object. */
export const budgetOf = (row: LitellmRow): NewTenant<'budget'> => ({
  ...tenantOf(row, { id: row.budget_id, alias: null }),
  models: [],
  budgetResetAtMs: null,
  budgetId: null,
})

/** Of `LiteLLM_OrganizationTable`. */
export const organizationOf = (row: LitellmRow): NewTenant<'organization'> =>
  tenantOf(row, { id: row.organization_id, alias: row.organization_alias })

/** Of `LiteLLM_EndUserTable`. */
export const customerOf = (row: LitellmRow): NewTenant<'customer'> => ({
  ...tenantOf(row, { id: row.user_id, alias: row.alias }),
  ...noNameOwner,
})

/** Of `LiteLLM_TagTable`. */
export const tagOf = (row: LitellmRow): NewTenant<'tag'> => ({
  ...tenantOf(row, { id: row.tag_name, alias: null }),
  ...noNameOwner,
  description: text(row.description),
})

/** Of `LiteLLM_UserTable`; a role that there is not here is `internal_user`. */
export function userOf(row: LitellmRow): NewTenant<'user'> {
  const role = (userRoles as readonly unknown[]).includes(row.user_role) ? (row.user_role as UserRole) : 'internal_user'
  return {
    ...tenantOf(row, { id: row.user_id, alias: row.user_alias }),
    ...noDirectory,
    email: text(row.user_email),
    role,
    ssoUserId: text(row.sso_user_id),
    userName: null,
  }
}

/** A user that a team names and that has no row. */
export const bareUser = (id: string): NewTenant<'user'> => userOf({ user_id: id })

/** Of `LiteLLM_TeamTable`, with the aliases of its `LiteLLM_ModelTable` row and the budget of its members. */
export function teamOf(row: LitellmRow, aliases: unknown, ofMembers: LitellmRow | undefined): NewTenant<'team'> {
  const metadata = objectOf(row.metadata)
  return {
    ...tenantOf(row, { id: row.team_id, alias: row.team_alias }),
    ...noDirectory,
    organizationId: text(row.organization_id),
    modelAliases: aliasesOf(aliases),
    memberPermissions: listOf(row.team_member_permissions),
    tags: listOf(metadata.tags),
    guardrails: listOf(metadata.guardrails),
    storesBodies: null,
    memberMaxBudgetNanoUsd: nanoUsd(ofMembers?.max_budget),
    memberBudgetDuration: durationOf(ofMembers?.budget_duration),
    memberRequestsPerMinute: numberOf(ofMembers?.rpm_limit),
    memberTokensPerMinute: numberOf(ofMembers?.tpm_limit),
    memberKeyDuration: durationOf(metadata.team_member_key_duration),
  }
}

function aliasesOf(value: unknown): Record<string, string> {
  const entries = Object.entries(objectOf(value)).filter(([, model]) => typeof model === 'string')
  return Object.fromEntries(entries) as Record<string, string>
}

/** Of the list `members_with_roles` of a team; `budgetIds` by user. */
export function membersOf(row: LitellmRow, budgetIds: ReadonlyMap<string, string>): Omit<Membership, 'createdAtMs'>[] {
  const members = Array.isArray(row.members_with_roles) ? row.members_with_roles : []
  return members.flatMap(one => {
    const { user_id: id, role } = objectOf(one)
    const userId = text(id)
    if (userId === null) return []
    const membership = { kind: 'team', groupId: String(row.team_id), userId, role: role === 'admin' ? 'admin' : 'user' }
    return [
      {
        ...unlimited,
        ...(membership as Omit<Membership, keyof SpendingFields>),
        budgetId: budgetIds.get(userId) ?? null,
      },
    ]
  })
}

const organizationRoles = new Set<unknown>(['org_admin', 'internal_user', 'internal_user_viewer'])

/** Of `LiteLLM_OrganizationMembership`. */
export const organizationMemberOf = (row: LitellmRow): Omit<Membership, 'createdAtMs'> => ({
  ...unlimited,
  kind: 'organization',
  groupId: String(row.organization_id),
  userId: String(row.user_id),
  role: organizationRoles.has(row.user_role) ? (row.user_role as MemberRole) : 'internal_user',
  budgetId: text(row.budget_id),
})

/** Keys of LiteLLM's pages are in it: they live for a day and are made anew at each sign-in. */
const pagesTeam = 'litellm-dashboard'

/** Of `LiteLLM_VerificationToken`; its `token` is the SHA-256 of the key's text. undefined = a session of its pages. */
export function keyOf(row: LitellmRow, hashOfDigest: (digest: string) => string): NewKey | undefined {
  const digest = text(row.token)
  if (row.team_id === pagesTeam || digest === null || !/^[0-9a-f]{64}$/.test(digest)) return undefined
  const metadata = objectOf(row.metadata)
  return {
    ...bareKey,
    ...spendingOf(row, metadata),
    id: digest,
    hash: hashOfDigest(digest),
    hint: text(row.key_name) ?? 'sk-...',
    alias: text(row.key_alias),
    userId: text(row.user_id),
    teamId: text(row.team_id),
    organizationId: text(row.organization_id),
    models: listOf(row.models),
    aliases: aliasesOf(row.aliases),
    tags: listOf(metadata.tags),
    allowedRoutes: listOf(row.allowed_routes),
    enforcedParams: listOf(metadata.enforced_params),
    allowedCacheControls: listOf(row.allowed_cache_controls),
    guardrails: listOf(metadata.guardrails),
    expiresAtMs: momentMs(row.expires),
    rotationInterval: row.auto_rotate === true ? durationOf(row.rotation_interval) : null,
    blocked: row.blocked === true,
    metadata: ownMetadata(metadata),
  }
}
