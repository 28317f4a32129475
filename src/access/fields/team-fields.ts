/** Fields of teams and their members as LiteLLM names them (https://docs.litellm.ai/docs/proxy/users, 2026-11-23). */
import { z } from 'zod'
import { noDirectory } from '../../core/tenancy/tenancy.ts'
import type { Membership, Team } from '../../core/tenancy/tenancy.ts'
import type { NewTenant, TenantChanges } from '../../core/tenancy/tenancy-store.ts'
import { dollars, dollarsOf } from './money.ts'
import {
  aliasMap,
  blankTenant,
  changesOf,
  durationText,
  iso,
  keyName,
  nameList,
  shownSpending,
  shownTenant,
  spendingFields,
  storesBodies,
  tenantChanges,
  tenantFields,
  version,
  without,
} from './spending-fields.ts'
import { createsMissingUsers } from './tenant-fields.ts'
import { lazy } from '../../lib/lazy.ts'

/** What members of a team who are not its admins may be allowed to do. */
export const memberPermissions = [
  '/key/info',
  '/key/health',
  '/key/generate',
  '/key/update',
  '/key/delete',
  '/key/regenerate',
] as const
/** The permissions of a new team, as LiteLLM has them. */
const defaultPermissions: readonly string[] = ['/key/info', '/key/health']

const limitType = lazy(() => z.enum(['best_effort_throughput']).nullable().optional())
const limit = spendingFields().rpm_limit

const fields = lazy(() => ({
  team_alias: keyName().nullable().optional(),
  organization_id: keyName().nullable().optional(),
  ...tenantFields(),
  model_aliases: aliasMap().describe('What keys of the team call a model -> the model.'),
  tags: nameList().describe('Tags of every call with a key of the team.'),
  team_member_permissions: z.array(z.enum(memberPermissions)).nullable().optional(),
  team_member_budget: dollars().optional().describe('For each member who has no budget of its own.'),
  team_member_budget_duration: durationText().nullable().optional(),
  team_member_rpm_limit: limit,
  team_member_tpm_limit: limit,
  team_member_key_duration: durationText().nullable().optional().describe('How long keys live that members make.'),
  rpm_limit_type: limitType(),
  tpm_limit_type: limitType(),
  guardrails: nameList().describe('Guardrails that hold for every call with a key of the team.'),
  store_prompts_in_spend_logs: storesBodies(),
  policies: without('policies are those of the gateway'),
  prompts: without('there are no stored prompts'),
  object_permission: without('use `models`'),
  allowed_passthrough_routes: without('there are no pass-through routes'),
  allowed_vector_store_indexes: without('there are no vector stores'),
  router_settings: without('retries and fallbacks are settings of the gateway'),
  access_group_ids: without('name the access groups in `models`'),
  secret_manager_settings: without('secrets are settings of the gateway'),
}))

const memberReference = lazy(() => ({ user_id: keyName().optional(), user_email: z.email().max(255).optional() }))
const isNamed = (one: { user_id?: unknown; user_email?: unknown }) =>
  one.user_id !== undefined || one.user_email !== undefined
const oneOfBoth = 'give `user_id` or `user_email`'
/** A user of a team, by id or by address. */
const member = lazy(() =>
  z.strictObject({ role: z.enum(['admin', 'user']).default('user'), ...memberReference() }).refine(isNamed, oneOfBoth),
)
/** A user who is to become a member of a team, as the client names it. */
export type NamedMember = z.infer<ReturnType<typeof member>>

/** The body of `/team/new`. */
export const teamBody = lazy(() =>
  z.strictObject({
    team_id: keyName().nullable().optional().describe('Absent = one is made.'),
    ...fields(),
    members_with_roles: z.array(member()).max(500).nullable().optional(),
    admins: z.array(keyName()).max(500).nullable().optional(),
    members: z.array(keyName()).max(500).nullable().optional(),
  }),
)
/** The body of `/team/update`. */
export const teamUpdateBody = lazy(() => z.strictObject({ team_id: keyName(), ...fields(), version: version() }))
/** What the team's own admins may change; the rest is for admins of its organization and of the gateway. */
export const teamAdminFields: ReadonlySet<string> = new Set([
  'team_id',
  'version',
  'team_alias',
  'metadata',
  'model_aliases',
  'team_member_permissions',
  'team_member_budget',
  'team_member_budget_duration',
  'team_member_rpm_limit',
  'team_member_tpm_limit',
  'team_member_key_duration',
])

const share = lazy(() => ({
  max_budget_in_team: dollars().optional().describe('Of each; null = the share of the team.'),
  budget_duration: durationText().nullable().optional(),
  tpm_limit: limit,
  rpm_limit: limit,
}))
/** The body of `/team/member_add`. */
export const memberAddBody = lazy(() =>
  z.strictObject({
    team_id: keyName(),
    member: z.union([member(), z.array(member()).min(1).max(500)]),
    create_missing_users: createsMissingUsers(),
    ...share(),
  }),
)
/** The body of `/team/bulk_member_add`. */
export const bulkMemberAddBody = lazy(() =>
  z.strictObject({
    team_id: keyName(),
    members: z.array(member()).min(1).max(500),
    all_users: without('name the members'),
    create_missing_users: createsMissingUsers(),
    ...share(),
  }),
)
/** The body of `/team/member_update`. */
export const memberUpdateBody = lazy(() =>
  z
    .strictObject({
      team_id: keyName(),
      ...memberReference(),
      role: z.enum(['admin', 'user']).nullable().optional(),
      ...share(),
    })
    .refine(isNamed, oneOfBoth),
)
/** The body of `/team/member_delete`. */
export const memberDeleteBody = lazy(() =>
  z.strictObject({ team_id: keyName(), ...memberReference() }).refine(isNamed, oneOfBoth),
)

/** The limits and the budget of a member, as far as they were sent. */
export function shareChanges(sent: z.infer<z.ZodObject<ReturnType<typeof share>>>): Partial<Membership> {
  const names = {
    max_budget_in_team: 'maxBudgetNanoUsd',
    budget_duration: 'budgetDuration',
    tpm_limit: 'tokensPerMinute',
    rpm_limit: 'requestsPerMinute',
  } as const
  return changesOf<Partial<Membership>>(sent, names, {
    maxBudgetNanoUsd: null,
    budgetDuration: null,
    tokensPerMinute: null,
    requestsPerMinute: null,
  })
}

type TeamInput = Partial<z.infer<z.ZodObject<ReturnType<typeof fields>>>>

const own = {
  alias: null,
  organizationId: null,
  modelAliases: {},
  memberPermissions: defaultPermissions,
  tags: [],
  guardrails: [],
  storesBodies: null,
  memberMaxBudgetNanoUsd: null,
  memberBudgetDuration: null,
  memberRequestsPerMinute: null,
  memberTokensPerMinute: null,
  memberKeyDuration: null,
}
const names = {
  team_alias: 'alias',
  organization_id: 'organizationId',
  model_aliases: 'modelAliases',
  team_member_permissions: 'memberPermissions',
  tags: 'tags',
  guardrails: 'guardrails',
  store_prompts_in_spend_logs: 'storesBodies',
  team_member_budget: 'memberMaxBudgetNanoUsd',
  team_member_budget_duration: 'memberBudgetDuration',
  team_member_rpm_limit: 'memberRequestsPerMinute',
  team_member_tpm_limit: 'memberTokensPerMinute',
  team_member_key_duration: 'memberKeyDuration',
} as const

/** The changes of a team, as far as they were sent. */
export function teamChanges(sent: TeamInput): TenantChanges<'team'> {
  return {
    ...tenantChanges(sent),
    ...changesOf<Omit<typeof own, never>>(sent, names, own),
    // An administrator has decided: the directory does not lift it.
    ...(sent.blocked !== undefined && { blockedByDirectory: false }),
  } as TenantChanges<'team'>
}

/** The team that `/team/new` makes of what was sent. */
export function newTeam(id: string, sent: TeamInput): NewTenant<'team'> {
  return { ...blankTenant, ...noDirectory, ...own, id, ...teamChanges(sent) }
}

/** A team as the API shows it. `spend` in dollars. */
export function shownTeam(team: Team, members: readonly Membership[], spend: number): Record<string, unknown> {
  return {
    team_id: team.id,
    team_alias: team.alias,
    organization_id: team.organizationId,
    ...shownTenant(team),
    spend,
    model_aliases: team.modelAliases,
    tags: team.tags,
    guardrails: team.guardrails,
    store_prompts_in_spend_logs: team.storesBodies,
    admins: members.filter(one => one.role === 'admin').map(one => one.userId),
    members: members.map(one => one.userId),
    members_with_roles: members.map(one => ({ user_id: one.userId, role: one.role })),
    team_member_permissions: team.memberPermissions,
    team_member_budget: dollarsOf(team.memberMaxBudgetNanoUsd),
    team_member_budget_duration: team.memberBudgetDuration,
    team_member_rpm_limit: team.memberRequestsPerMinute,
    team_member_tpm_limit: team.memberTokensPerMinute,
    team_member_key_duration: team.memberKeyDuration,
  }
}

/** A user's membership of a team or an organization, as the API shows it. */
export function shownMembership(one: Membership): Record<string, unknown> {
  return {
    user_id: one.userId,
    [`${one.kind}_id`]: one.groupId,
    [one.kind === 'team' ? 'role' : 'user_role']: one.role,
    created_at: iso(one.createdAtMs),
    litellm_budget_table: shownSpending(one),
  }
}
