import type { Migration } from '../migration.ts'

/** Money is text: nano-dollars in decimal digits, which no driver rounds. Maps and lists are JSON. */
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
  budget_id text`

const tenant = `
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

/** The columns of the keys' table that came with it, and what keys of before have there. */
const keyColumns = [
  'organization_id text',
  `aliases text not null default '{}'`,
  `tags text not null default '[]'`,
  `allowed_routes text not null default '[]'`,
  `enforced_params text not null default '[]'`,
  `model_requests_per_minute text not null default '{}'`,
  `model_tokens_per_minute text not null default '{}'`,
  'max_budget_nano_usd text',
  'soft_budget_nano_usd text',
  'budget_duration text',
  'budget_reset_at_ms bigint',
  `model_max_budget text not null default '{}'`,
  'budget_increase_nano_usd text',
  'budget_increase_until_ms bigint',
  'budget_id text',
  `updated_by text not null default ''`,
]

/**
 * Organizations, teams, users, customers, tags, named budgets, memberships and the audit log. `tenancy_changes` holds
 * the revision of the last change of each object, from the same counter as those of the keys.
 */
export const eighth: Migration = {
  id: 8,
  name: 'tenancy',
  async up(sql) {
    await sql.unsafe(`create table organizations (${tenant})`)
    await sql.unsafe(`create table teams (${tenant},
      organization_id text,
      model_aliases text not null,
      member_permissions text not null,
      tags text not null,
      member_max_budget_nano_usd text,
      member_budget_duration text,
      member_requests_per_minute bigint,
      member_tokens_per_minute bigint,
      member_key_duration text)`)
    await sql.unsafe(`create table users (${tenant}, email text, role text not null, sso_user_id text)`)
    await sql.unsafe(`create table customers (${tenant})`)
    await sql.unsafe(`create table tags (${tenant}, description text)`)
    await sql.unsafe(`create table budgets (${tenant})`)
    await sql.unsafe(`create table memberships (
      kind text not null,
      group_id text not null,
      user_id text not null,
      role text not null,
      created_at_ms bigint not null,
      ${spending},
      primary key (kind, group_id, user_id))`)
    await sql.unsafe(`create index memberships_user on memberships (user_id)`)
    await sql.unsafe(`create index teams_organization on teams (organization_id)`)
    await sql.unsafe(`create index users_email on users (email)`)
    for (const table of ['organizations', 'teams', 'users', 'customers', 'tags', 'budgets'])
      await sql.unsafe(`create index ${table}_created on ${table} (created_at_ms, id)`)
    await sql.unsafe(`create table tenancy_changes (subject text primary key, revision bigint not null)`)
    await sql.unsafe(`create index tenancy_changes_revision on tenancy_changes (revision)`)
    await sql.unsafe(`create table audit_log (
      id text primary key,
      at_ms bigint not null,
      actor_id text not null,
      actor_key text not null,
      action text not null,
      kind text not null,
      object_id text not null,
      before_value text,
      after_value text)`)
    await sql.unsafe(`create index audit_log_time on audit_log (at_ms, id)`)
    await sql.unsafe(`create index audit_log_object on audit_log (kind, object_id, at_ms)`)
    for (const column of keyColumns) await sql.unsafe(`alter table virtual_keys add column ${column}`)
    await sql.unsafe(`create index virtual_keys_team on virtual_keys (team_id)`)
    await sql.unsafe(`create index virtual_keys_organization on virtual_keys (organization_id)`)
    await sql.unsafe(`create index virtual_keys_created on virtual_keys (created_at_ms, id)`)
  },
}
