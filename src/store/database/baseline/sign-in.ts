/** The tables of persons and programs that sign in. Of the secret of a cookie or a link only the hash is stored. */
import { statementsOf } from './statements.ts'

/**
 * The statements that make the tables and their indexes. `user_id` of a session is null for the operator's; passwords
 * are hashed by argon2id; for persons in `identity_removals` no user is made by itself (docs/decisions/0029).
 */
export const signInStatements: readonly string[] = statementsOf(`
create table sessions (
  id text primary key,
  hash text not null unique,
  user_id text,
  method text not null,
  credential text,
  created_at_ms bigint not null,
  last_used_at_ms bigint not null,
  idle_end_ms bigint not null,
  end_ms bigint not null,
  user_agent text not null,
  client_address text not null);
create index sessions_user on sessions (user_id);
create index sessions_end on sessions (end_ms);
create table user_passwords (user_id text primary key, hash text not null, changed_at_ms bigint not null);
create table password_links (
  id text primary key,
  hash text not null unique,
  user_id text not null,
  created_at_ms bigint not null,
  created_by text not null,
  end_ms bigint not null);
create index password_links_user on password_links (user_id);
create table device_grants (
  hash text primary key,
  user_code text not null unique,
  client text not null,
  client_address text not null,
  created_at_ms bigint not null,
  end_ms bigint not null,
  state text not null,
  user_id text,
  team_id text);
create index device_grants_end on device_grants (end_ms);
create table device_sign_ins (
  session_id text primary key,
  user_id text not null,
  team_id text,
  refreshes integer not null,
  refreshed_at_ms bigint not null);
create index device_sign_ins_user on device_sign_ins (user_id);
create table identity_links (
  issuer text not null,
  subject text not null,
  user_id text not null,
  created_at_ms bigint not null,
  primary key (issuer, subject));
create index identity_links_user on identity_links (user_id);
create table identity_removals (
  issuer text not null,
  subject text not null,
  user_id text not null,
  removed_at_ms bigint not null,
  primary key (issuer, subject));
create index identity_removals_user on identity_removals (user_id);
create table sign_in_returns (state text primary key, end_ms bigint not null);
create index sign_in_returns_end on sign_in_returns (end_ms);
`)
