/**
 * The tables of keys and of whom they belong to. Money is text: nano-dollars in decimal digits, which no driver rounds.
 * Maps and lists are JSON. `store/tenancy/columns.ts` says which column holds which field.
 */
import { statementsOf } from './statements.ts'

/** Tables whose rows have limits and budgets of their own; `budgets` holds those that others name. */
const budgeted = ['virtual_keys', 'organizations', 'teams', 'users', 'customers', 'tags', 'memberships'] as const

const spending = `
  requests_per_minute bigint,
  tokens_per_minute bigint,
  parallel_requests bigint,
  model_requests_per_minute text not null,
  model_tokens_per_minute text not null,
  max_budget_nano_usd text,
  soft_budget_nano_usd text,
  budget_duration text,
  budget_reset_at_ms bigint,
  model_max_budget text not null,
  budget_increase_nano_usd text,
  budget_increase_until_ms bigint,
  budget_increase_reason text,
  budget_id text,
  spend_reset_at_ms bigint,
  spend_offset_nano_usd text`

const object = `
  id text primary key,
  alias text,
  models text not null,
  metadata text not null,
  blocked integer not null,
  created_at_ms bigint not null,
  created_by text not null,
  updated_at_ms bigint not null,
  updated_by text not null,
  revision bigint not null,
  ${spending}`

/** Of what directories (SCIM) keep. */
const directory = `
  external_id text,
  directory_attributes text not null,
  blocked_by_directory integer not null,
  removed_at_ms bigint`

const tables = `
create table virtual_keys (${object},
  hash text not null unique,
  hint text not null,
  user_id text,
  team_id text,
  organization_id text,
  aliases text not null,
  tags text not null,
  allowed_routes text not null,
  enforced_params text not null,
  guardrails text not null,
  allowed_cache_controls text not null,
  stores_bodies integer,
  expires_at_ms bigint,
  deleted_at_ms bigint,
  former_hash text,
  former_end_ms bigint,
  objects_owner text,
  former_objects_owner text,
  rotation_interval text,
  text_since_ms bigint,
  rotate_by_ms bigint,
  of_directory integer not null);
create table organizations (${object});
create table teams (${object}, ${directory},
  organization_id text,
  model_aliases text not null,
  member_permissions text not null,
  tags text not null,
  guardrails text not null,
  stores_bodies integer,
  member_max_budget_nano_usd text,
  member_budget_duration text,
  member_requests_per_minute bigint,
  member_tokens_per_minute bigint,
  member_key_duration text,
  members_revision bigint);
create table users (${object}, ${directory},
  email text,
  role text not null,
  sso_user_id text,
  user_name text);
create table customers (${object}, team_id text, organization_id text);
create table tags (${object}, description text, team_id text, organization_id text);
create table budgets (${object});
create table memberships (
  kind text not null,
  group_id text not null,
  user_id text not null,
  role text not null,
  created_at_ms bigint not null,
  ${spending},
  primary key (kind, group_id, user_id));
create table tenancy_changes (subject text primary key, revision bigint not null);
create table audit_log (
  id text primary key,
  at_ms bigint not null,
  actor_id text not null,
  actor_key text not null,
  action text not null,
  kind text not null,
  object_id text not null,
  before_value text,
  after_value text);
create table key_reminders (
  key_id text not null,
  kind text not null,
  due_ms bigint not null,
  stage_ms bigint not null,
  primary key (key_id, kind, due_ms, stage_ms));
`

/**
 * `virtual_keys_there` has `deleted_at_ms`, although its condition implies it: SQLite looks at it all the same, and as
 * a column of the index it does not read the row for that.
 */
const indexes = `
create index virtual_keys_revision on virtual_keys (revision);
create index virtual_keys_user on virtual_keys (user_id);
create index virtual_keys_alias on virtual_keys (alias);
create index virtual_keys_team on virtual_keys (team_id);
create index virtual_keys_organization on virtual_keys (organization_id);
create index virtual_keys_created on virtual_keys (created_at_ms, id);
create index virtual_keys_there on virtual_keys (created_at_ms, id, deleted_at_ms) where deleted_at_ms is null;
create index virtual_keys_guarded on virtual_keys (created_at_ms, id)
  where guardrails <> '[]' and deleted_at_ms is null;
create index virtual_keys_former on virtual_keys (former_hash) where former_hash is not null;
create index virtual_keys_expiry on virtual_keys (expires_at_ms) where expires_at_ms is not null;
create index virtual_keys_rotation on virtual_keys (rotate_by_ms) where rotate_by_ms is not null;
create index virtual_keys_text_since on virtual_keys (text_since_ms);
create index organizations_created on organizations (created_at_ms, id);
create index teams_created on teams (created_at_ms, id);
create index teams_organization on teams (organization_id);
create index teams_alias on teams (lower(alias));
create index teams_external_id on teams (external_id);
create index teams_guarded on teams (created_at_ms, id) where guardrails <> '[]';
create index teams_member_budget on teams (id) where member_max_budget_nano_usd is not null;
create index users_created on users (created_at_ms, id);
create index users_email on users (email);
create index users_sso_user_id on users (sso_user_id);
create unique index users_user_name on users (lower(user_name));
create index users_external_id on users (external_id);
create index customers_created on customers (created_at_ms, id);
create index tags_created on tags (created_at_ms, id);
create index budgets_created on budgets (created_at_ms, id);
create index memberships_user on memberships (user_id);
create index tenancy_changes_revision on tenancy_changes (revision);
create index audit_log_time on audit_log (at_ms, id);
create index audit_log_object on audit_log (kind, object_id, at_ms);
create index audit_log_actor_id on audit_log (actor_id, at_ms, id);
create index audit_log_action on audit_log (action, at_ms, id);
create index audit_log_kind on audit_log (kind, at_ms, id);
create index audit_log_object_id on audit_log (object_id, at_ms, id);
create index key_reminders_due on key_reminders (due_ms);
`

/**
 * What has a budget, newest first, without reading all keys and users. The condition is that of `Where.budgeted`
 * (store/tenancy/where.ts), word for word: SQLite compares the texts.
 */
const surveyed = `where (max_budget_nano_usd is not null or soft_budget_nano_usd is not null or model_max_budget <> '{}'
  or budget_id is not null)`

/** The statements that make the tables and their indexes. */
export const tenancyStatements: readonly string[] = [
  ...statementsOf(tables),
  ...statementsOf(indexes),
  ...budgeted.map(table => {
    const order = table === 'memberships' ? 'created_at_ms, user_id' : 'created_at_ms, id'
    return `create index ${table}_surveyed on ${table} (${order}) ${surveyed}`
  }),
  // What uses a named budget.
  ...budgeted
    .filter(table => table !== 'memberships')
    .map(table => `create index ${table}_budget on ${table} (budget_id) where budget_id is not null`),
]
