/** The tables of calls: the ledger, its sums, what is sent elsewhere, and what replicas note of themselves. */
import { createTableText } from '../../ledger/ledger-table.ts'
import { hitConditions } from '../../ledger/reads/conditions.ts'
import { createBudgetTexts } from '../../ledger/sums/budget-spend.ts'
import { createLatencyText } from '../../ledger/sums/latency-table.ts'
import { createDerivedTexts, writtenTables } from '../../ledger/sums/rollup-derived.ts'
import { createRollupTexts } from '../../ledger/sums/rollup-table.ts'
import { createTopTexts } from '../../ledger/sums/rollup-top.ts'
import type { Database } from '../open.ts'
import { statementsOf } from './statements.ts'

/**
 * On SQLite two of them are without the id of the call, which orders the few rows of one millisecond and is longer than
 * all the rest of an entry: 1 us of the 7 that SQLite takes to store a row. On Postgres the server pays for them.
 */
const indexes = (kind: Database['kind']): string => `
${
  kind === 'sqlite'
    ? `create index ledger_moment on ledger (started_at_ms);
create index ledger_model_moment on ledger (model, started_at_ms);`
    : `create index ledger_time on ledger (started_at_ms, request_id);
create index ledger_model on ledger (model, started_at_ms, request_id);`
}
create index ledger_key on ledger (key_id, started_at_ms);
create index ledger_user on ledger (user_id, started_at_ms);
create index ledger_team on ledger (team_id, started_at_ms) where team_id is not null;
create index ledger_customer on ledger (end_user, started_at_ms) where end_user is not null;
create index ledger_session on ledger (session_id, started_at_ms) where session_id is not null;
create index ledger_organization on ledger (organization_id, started_at_ms, request_id)
  where organization_id is not null;
create index ledger_failures on ledger (outcome, started_at_ms, request_id) where outcome <> 'success';
create index ledger_guardrail_hits on ledger (started_at_ms, request_id) where ${hitConditions.guardrail};
create index ledger_cache_hits on ledger (started_at_ms, request_id) where ${hitConditions.cache};
`

/**
 * `usage_outbox` = the rows of the ledger that a destination has not got yet, put in by the transaction that stores
 * them; `usage_given_up` = those that it will never get, with what is needed to send them by hand. `cache_hours` = what
 * the cache of answers found and saved. `health_troubles` = which replicas have a trouble while Redis is away; the row
 * without a replica says that the operator was told.
 */
const others = `
create table usage_exports (
  destination text primary key,
  is_full integer not null,
  skipped bigint not null,
  given_up bigint);
create table usage_outbox (
  destination text not null,
  request_id text not null,
  attempts integer not null,
  due_at_ms bigint not null,
  lease_owner text,
  primary key (destination, request_id));
create index usage_outbox_due on usage_outbox (destination, due_at_ms);
create table usage_given_up (
  destination text not null,
  request_id text not null,
  reason text not null,
  attempts integer not null,
  given_up_at_ms bigint not null,
  started_at_ms bigint,
  customer text,
  amount text,
  primary key (destination, request_id));
create table cache_hours (hour integer not null, name text not null, amount bigint not null, primary key (hour, name));
create table health_troubles (
  trouble text not null,
  replica text not null,
  seen_ms bigint not null,
  primary key (trouble, replica));
`

/** The statements that make the tables and their indexes. The columns of sums follow from the lists beside them. */
export const ledgerStatements = (kind: Database['kind']): string[] => [
  createTableText(),
  ...statementsOf(indexes(kind)),
  ...createRollupTexts(kind),
  ...writtenTables.flatMap(table => createDerivedTexts(kind, table)),
  ...createTopTexts(kind),
  createLatencyText(kind),
  ...createBudgetTexts(kind),
  ...statementsOf(others),
]
