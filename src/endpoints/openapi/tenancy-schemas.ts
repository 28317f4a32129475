/** Keys, teams, users, organizations, customers, budgets and the audit log, as answers show them. */
import { surveyedKinds } from '../../core/tenancy/budgets.ts'
import {
  budgetFields,
  customerFields,
  keyRecordFields,
  organizationFields,
  spendingFields,
  tagFields,
  teamFields,
  userFields,
} from '../../core/tenancy/field-tables.ts'
import { fieldSchemas } from './field-schemas.ts'
import {
  anyObject,
  boolean,
  dateTime,
  described,
  either,
  integer,
  listOf,
  mapOf,
  nullable,
  number,
  oneOf,
  reference,
  shape,
  text,
} from './schema.ts'
import type { Properties, Schema } from './schema.ts'
import { keyActions, organizationActions, teamActions } from '../../core/tenancy/actions.ts'

const spending = shape(fieldSchemas(spendingFields))
const limit = nullable(integer)
const dollars = nullable(described('Dollars.', number))
const moment = nullable(dateTime)

const spend = described('Dollars of all calls.', number)
const paging: Properties = {
  total: integer,
  page: integer,
  page_size: integer,
  total_pages: integer,
  next_cursor: nullable(text),
}

const key = { ...fieldSchemas(keyRecordFields), spend, auto_rotate: boolean }
const spendReset: Properties = {
  spend: described('Dollars that count as spent from now on.', number),
  previous_spend: described('Dollars that were shown as spent before.', number),
  max_budget: dollars,
  budget_reset_at: moment,
}
const budgetState: Properties = {
  max_budget: described('Dollars, raises that hold now included; null = only a soft budget.', nullable(number)),
  soft_budget: dollars,
  spent: described('Dollars of the present period.', number),
  reserved: described('Dollars that calls under way at this replica may cost at most.', number),
  left: described('Without what calls at other replicas reserve.', dollars),
  budget_duration: nullable(text),
  period_start: described('null = the budget never begins anew.', moment),
  budget_reset_at: moment,
  forecast: described('Dollars at the end of the period, in a straight line from its beginning.', nullable(number)),
  reached_at: described('When the maximum is reached by the forecast; null = not in this period.', moment),
}
const budgetUsage = shape({
  scope: described('No other budget has it.', text),
  kind: oneOf(...surveyedKinds),
  id: described('Of what has the budget; of members `GROUP/USER`.', text),
  name: text,
  model: described('null = of all models.', nullable(text)),
  budget_id: nullable(text),
  version: described('Of what has the budget; null = the API changes none.', nullable(integer)),
  ...budgetState,
  temp_budget_increase: described('Of a raise that holds now, which `max_budget` includes.', dollars),
  temp_budget_expiry: moment,
  temp_budget_reason: nullable(text),
})
const ownBudget = described(
  'How the budget stands in its present period; null = it has none.',
  nullable(shape(budgetState)),
)
const limitsInForce = shape({ rpm_limit: limit, tpm_limit: limit, max_parallel_requests: limit })
/** Of one object that is asked for. */
const spendingState: Properties = {
  budget: ownBudget,
  limits: described('The limits that hold: its own, and where it has none those of its named budget.', limitsInForce),
}
/** Computed for the caller that asks. */
const mayOf = (actions: readonly string[]): Schema =>
  described('What the caller may do with it.', listOf(oneOf(...actions)))
const keyWarnings = described('What was accepted, and is probably a mistake; absent = nothing.', listOf(text))
const listedKey: Properties = {
  ...key,
  team_alias: described('The name of its team.', nullable(text)),
  user_alias: described('The name of its user.', nullable(text)),
  user_email: nullable(text),
}
const keyRow = shape({ ...listedKey, litellm_budget_table: nullable(anyObject) })

const keySchemas: Readonly<Record<string, Schema>> = {
  Key: shape(key),
  NewKey: shape({ key: described('The key itself, shown this once.', text), ...key }, { warnings: keyWarnings }),
  ChangedKey: shape({ key: key.key_name, ...key }, { warnings: keyWarnings }),
  DerivedKey: shape({
    key: described('The key itself, shown this once: `mgd_` and what it may do, signed.', text),
    token_id: text,
    parent_token_id: described('Of the key that it was made with.', text),
    models: listOf(text),
    max_budget: nullable(described('In US dollars.', number)),
    rpm_limit: nullable(integer),
    tpm_limit: nullable(integer),
    max_parallel_requests: nullable(integer),
    expires: dateTime,
  }),
  KeyInfo: shape({
    key: described('As it was asked for.', text),
    may: mayOf(keyActions),
    info: keyRow,
    ...spendingState,
  }),
  KeyInfos: shape({ key: listOf(text), info: listOf(keyRow) }),
  KeyList: shape({
    keys: listOf(either(described('The hash of a key.', text), shape(listedKey))),
    total_count: integer,
    current_page: integer,
    total_pages: integer,
    next_cursor: nullable(text),
  }),
  KeyAliases: shape({ aliases: listOf(text), total_count: integer, current_page: integer, total_pages: integer }),
  KeySpendReset: shape({ key_hash: text, ...spendReset }),
  KeyHealth: shape({ key: text, logging_callbacks: { type: 'null' } }),
  DeletedKeys: shape({ deleted_keys: described('As they were named.', listOf(text)) }),
  BulkKeyUpdate: shape({
    total_requested: integer,
    successful_updates: listOf(shape({ key: text, key_info: reference('ChangedKey') })),
    failed_updates: listOf(shape({ key: text, failed_reason: text })),
  }),
}

const membershipFields: Properties = {
  user_id: text,
  team_id: text,
  role: text,
  created_at: dateTime,
  litellm_budget_table: spending,
}
const membership = shape(membershipFields)
/** Whom a membership is of. */
const memberNames: Properties = {
  user_alias: described('The name of the user.', nullable(text)),
  user_email: described('null for callers who do not administer it, too.', nullable(text)),
}
const team = {
  ...fieldSchemas(teamFields),
  spend,
  admins: listOf(text),
  members: listOf(text),
  members_with_roles: listOf(shape({ user_id: text, role: text })),
}
const updatedUsers = listOf(shape({ user_id: text }))
const result: Properties = { user_id: text, success: boolean, error: nullable(text) }

const teamSchemas: Readonly<Record<string, Schema>> = {
  Team: shape(team),
  ChangedTeam: shape({ team_id: text, data: reference('Team') }),
  DeletedTeams: shape({ deleted_teams: listOf(reference('Team')) }),
  TeamSpendReset: shape({ team_id: text, ...spendReset }),
  TeamInfo: shape({
    team_id: text,
    may: mayOf(teamActions),
    team_info: reference('Team'),
    ...spendingState,
    keys: listOf(reference('Key')),
    keys_total: integer,
    team_memberships: listOf(shape({ ...membershipFields, ...memberNames })),
  }),
  TeamList: listOf(reference('Team')),
  TeamPage: shape({ teams: listOf(reference('Team')), ...paging }),
  TeamPermissions: shape({
    team_id: text,
    team_member_permissions: listOf(text),
    all_available_permissions: listOf(text),
  }),
  TeamWithMembers: shape({ ...team, updated_users: updatedUsers, updated_team_memberships: listOf(membership) }),
  BulkTeamMembers: shape({
    team_id: text,
    results: listOf(shape(result)),
    total_requested: integer,
    successful_additions: integer,
    failed_additions: integer,
  }),
  TeamMember: shape({
    team_id: text,
    user_id: text,
    user_email: nullable(text),
    role: text,
    max_budget_in_team: dollars,
    tpm_limit: limit,
    rpm_limit: limit,
  }),
}

const user = { ...fieldSchemas(userFields), spend, teams: listOf(text) }
const userSchemas: Readonly<Record<string, Schema>> = {
  User: shape(user),
  NewUser: shape({
    key: nullable(described('The key that was made, shown this once.', text)),
    token: nullable(text),
    token_id: nullable(text),
    ...user,
  }),
  ChangedUser: shape({ user_id: text, data: reference('User') }),
  DeletedUsers: shape({ deleted_users: integer }),
  UserInfo: shape({
    user_id: text,
    user_info: reference('User'),
    ...spendingState,
    keys: listOf(reference('Key')),
    keys_total: integer,
    teams: listOf(shape({ team_id: text, team_alias: nullable(text) })),
  }),
  UserList: shape({ users: listOf(reference('User')), ...paging }),
  UserRoles: mapOf(shape({ description: text, ui_label: text })),
  BulkUserUpdate: shape({
    results: listOf(shape({ ...result, user_email: nullable(text) })),
    total_requested: integer,
    successful_updates: integer,
    failed_updates: integer,
  }),
}

const organizationMembershipFields: Properties = {
  user_id: text,
  organization_id: text,
  user_role: text,
  created_at: dateTime,
  litellm_budget_table: spending,
}
const organizationMembership = shape(organizationMembershipFields)
const organization = { ...fieldSchemas(organizationFields), litellm_budget_table: spending }
/** Lists may lack them. */
const organizationParts: Properties = {
  spend,
  members: listOf(organizationMembership),
  teams: listOf(shape({ team_id: text, team_alias: nullable(text) })),
}
const customer = { ...fieldSchemas(customerFields), spend, litellm_budget_table: spending }
const tagSchema = shape({
  ...fieldSchemas(tagFields),
  model_info: anyObject,
  spend,
  litellm_budget_table: spending,
})

const used = described('null = this replica does not know: nothing of it was counted here lately.', limit)
const limitScope = shape({
  kind: described('`key`, `user`, `team`, `member`, `organization`, `customer`, `tag`, `gateway`, ...', text),
  id: text,
  name: nullable(text),
  model: described('null = of all models.', nullable(text)),
  budget_id: nullable(text),
  rpm_limit: limit,
  rpm_used: used,
  tpm_limit: limit,
  tpm_used: used,
  max_parallel_requests: limit,
  parallel_requests: used,
  budget: nullable(shape(budgetState)),
  tightest: described(
    'Of these no other scope has less left.',
    listOf(oneOf('requests', 'parallel_requests', 'tokens', 'budget')),
  ),
})

const otherSchemas: Readonly<Record<string, Schema>> = {
  Organization: shape(organization, organizationParts),
  OrganizationInfo: shape(
    {
      ...organization,
      budget: ownBudget,
      limits: described('As of a team; null for those who do not lead it.', nullable(limitsInForce)),
      may: mayOf(organizationActions),
    },
    { ...organizationParts, members: listOf(shape({ ...organizationMembershipFields, ...memberNames })) },
  ),
  OrganizationList: listOf(reference('Organization')),
  OrganizationPage: shape({ organizations: listOf(reference('Organization')), ...paging }),
  OrganizationMembers: shape({
    organization_id: text,
    updated_users: updatedUsers,
    updated_organization_memberships: listOf(organizationMembership),
  }),
  OrganizationMember: organizationMembership,
  Customer: shape(customer),
  CustomerInfo: shape({ ...customer, ...spendingState }),
  CustomerList: listOf(reference('Customer')),
  CustomerPage: shape({ customers: listOf(reference('Customer')), ...paging }),
  Tag: tagSchema,
  TagList: listOf(reference('Tag')),
  TagsByName: mapOf(reference('Tag')),
  ChangedTag: shape({ message: text, tag: reference('Tag') }),
  DeletedCustomers: shape({ deleted_customers: integer, message: text }),
  BlockedCustomers: shape({ blocked_users: listOf(reference('Customer')) }),
  Budget: shape(fieldSchemas(budgetFields)),
  BudgetList: listOf(reference('Budget')),
  BudgetPage: shape({ budgets: listOf(reference('Budget')), ...paging }),
  BudgetState: budgetUsage,
  BudgetUsage: shape({
    budgets: listOf(reference('BudgetState')),
    is_complete: described(
      'false = there are very many: only the nearest to their limits, or those found until now, are listed.',
      boolean,
    ),
    next_cursor: nullable(text),
  }),
  KeyLimits: shape({
    key: described('Its id; null = it was asked about a user or a team.', nullable(text)),
    key_alias: nullable(text),
    model: nullable(text),
    scopes: described(
      'In the order in which they are counted. Amounts of organizations, tags and the gateway are null for callers ' +
        'that may not read them.',
      listOf(limitScope),
    ),
    refusal: described(
      'What would refuse the next call, first; null = nothing, as long as it costs little.',
      nullable(
        shape({
          reason: oneOf(
            'blocked',
            'expired',
            'overdue',
            'unknown_model',
            'model',
            'requests',
            'parallel_requests',
            'tokens',
            'budget',
          ),
          kind: described('Of what refuses: `key`, `team`, ...', text),
          id: text,
          model: nullable(text),
        }),
      ),
    ),
  }),
  BudgetSettings: listOf(shape({ field_name: text, field_description: text, field_value: {} })),
  AuditEntry: shape({
    id: text,
    updated_at: dateTime,
    changed_by: described('The user, or the key where it has none.', text),
    changed_by_api_key: described("The key's hash, `master` or `cli`.", text),
    action: text,
    table_name: text,
    object_id: text,
    before_value: nullable(anyObject),
    updated_values: nullable(anyObject),
  }),
  CachePing: shape({
    status: { const: 'healthy' },
    cache_type: { enum: ['local', 'redis'] },
    ping_response: { type: 'boolean' },
    set_cache_response: text,
    litellm_cache_params: { type: 'object', additionalProperties: true },
    answers: described('In the memory of this process.', { type: 'integer' }),
    bytes: described('Of them.', { type: 'integer' }),
    hits: described('In this process since its start, by how they were found.', mapOf(integer)),
    misses: described('The same, of calls that were sent.', integer),
    saved: described('In this process since its start: dollars that hits did not cost.', number),
  }),
  CacheActivity: shape({
    start_date: text,
    end_date: text,
    days: described(
      'Every day, in UTC. Other replicas add to them every ten seconds.',
      listOf(
        shape({
          date: text,
          hits: described('By how they were found.', mapOf(integer)),
          misses: described('Calls that could have been answered from the cache, and were sent.', integer),
          saved: described('Dollars that the hits did not cost.', number),
        }),
      ),
    ),
  }),
  CacheStatus: shape({ status: { const: 'success' } }),
  CacheRedisInfo: shape({
    num_clients: { type: 'integer' },
    clients: listOf({ type: 'object', additionalProperties: { type: 'string' } }),
    info: { type: 'object', additionalProperties: { type: 'string' } },
  }),
  AuditLog: shape({ audit_logs: listOf(reference('AuditEntry')), ...paging }),
}

/** By their names under `#/components/schemas/`. */
export const tenancySchemas: Readonly<Record<string, Schema>> = {
  ...keySchemas,
  ...teamSchemas,
  ...userSchemas,
  ...otherSchemas,
}
