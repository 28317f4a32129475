/** The tables of what clients and operators store, and of what each key has stored of it. */
import type { Database } from '../open.ts'
import { statementsOf } from './statements.ts'

/**
 * Which replica polls a batch: with a `lease_owner`, `due_at_ms` is when its lease is over; without, when the batch is
 * to be polled next. `owner` = who is charged, `bounds` = what the requests of an input file can cost, `reserved` =
 * what a batch has reserved, all as JSON. `expires_at_ms` = when the upstream deletes the file, as far as it said so.
 */
const files = `
create table upstream_files (
  id text primary key,
  kind text not null,
  key_id text not null,
  deployment_id text not null,
  upstream_id text not null,
  purpose text not null,
  filename text not null,
  bytes bigint not null,
  models text not null,
  created_at_ms bigint not null,
  expires_at_ms bigint,
  body text not null,
  recorded integer not null,
  owner text,
  bounds text,
  reserved text,
  lease_owner text,
  due_at_ms bigint not null default 0);
create unique index upstream_files_there on upstream_files (key_id, kind, deployment_id, upstream_id);
create index upstream_files_owner on upstream_files (kind, key_id, created_at_ms, id);
create index upstream_files_time on upstream_files (kind, created_at_ms, id);
create index upstream_files_due on upstream_files (due_at_ms, id) where kind = 'batch' and recorded = 0;
create index upstream_files_end on upstream_files (expires_at_ms) where expires_at_ms is not null;
`

/**
 * `response_items` says which response has which output item. Assistants, threads, messages, runs and steps are one
 * table, because all are objects with an owner and a position; its unique index lets a thread have one run at a time.
 */
const answers = `
create table responses (
  key_id text not null,
  id text not null,
  previous_id text,
  deployment_id text,
  status text not null,
  background integer not null,
  input text not null,
  response text not null,
  bytes bigint not null,
  created_at_ms bigint not null,
  updated_at_ms bigint not null,
  expires_at_ms bigint not null,
  primary key (key_id, id));
create index responses_expiry on responses (expires_at_ms);
create table response_items (
  key_id text not null,
  item_id text not null,
  response_id text not null,
  primary key (key_id, item_id),
  foreign key (key_id, response_id) references responses (key_id, id) on delete cascade);
create index response_items_response on response_items (key_id, response_id);
create table assistant_objects (
  id text primary key,
  kind text not null,
  key_id text not null,
  parent_id text references assistant_objects (id) on delete cascade,
  run_id text,
  position bigint not null,
  active integer not null,
  updated_at_ms bigint not null,
  body text not null,
  hidden text not null);
create index assistant_objects_children on assistant_objects (parent_id, kind, position, id);
create index assistant_objects_owner on assistant_objects (kind, key_id, position, id);
create unique index assistant_objects_active on assistant_objects (parent_id) where active = 1;
create table idempotent_requests (
  id text primary key,
  key_id text not null,
  fingerprint text,
  state text not null,
  owner text not null,
  lease_end_ms bigint not null,
  status integer,
  headers text,
  body text,
  bytes bigint not null,
  created_at_ms bigint not null,
  end_ms bigint not null);
create index idempotent_requests_end on idempotent_requests (end_ms);
`

/**
 * A conversation is a tree of messages. Everything that a person or a model has written is encrypted; `bytes` are those
 * of the encrypted texts.
 */
const conversations = `
create table conversations (
  id text primary key,
  key_id text not null,
  title text not null,
  settings text not null,
  current_message_id text,
  version bigint not null,
  bytes bigint not null,
  created_at_ms bigint not null,
  updated_at_ms bigint not null,
  expires_at_ms bigint);
create index conversations_owner on conversations (key_id, updated_at_ms, id);
create index conversations_expired on conversations (expires_at_ms);
create index conversations_updated on conversations (updated_at_ms);
create table conversation_messages (
  id text primary key,
  conversation_id text not null references conversations (id) on delete cascade,
  key_id text not null,
  parent_id text,
  role text not null,
  status text not null,
  position bigint not null,
  content text not null,
  bytes bigint not null,
  created_at_ms bigint not null,
  updated_at_ms bigint not null);
create index conversation_messages_order on conversation_messages (conversation_id, position, id);
create table conversation_attachments (
  id text primary key,
  conversation_id text not null references conversations (id) on delete cascade,
  key_id text not null,
  media_type text not null,
  content text not null,
  bytes bigint not null,
  created_at_ms bigint not null);
create index conversation_attachments_owner on conversation_attachments (conversation_id, id);
create table conversation_preferences (key_id text primary key, retention_days integer, updated_at_ms bigint not null);
`

/** Models, credentials and access groups that are made by API. */
const configured = `
create table configured_objects (
  kind text not null,
  id text not null,
  name text not null,
  body text not null,
  secrets text,
  version integer not null,
  created_at_ms bigint not null,
  created_by text not null,
  updated_at_ms bigint not null,
  updated_by text not null,
  primary key (kind, id));
create unique index configured_objects_name on configured_objects (kind, name) where kind <> 'model';
`

/**
 * What was said in calls, encrypted. On Postgres a day is a partition, made when its first row comes
 * (`store/bodies/day-partitions.ts`): old days are dropped. The index of days covers what the bound of the whole asks.
 */
const callBodies = (kind: Database['kind']): string => `
create table call_bodies (
  request_id text not null,
  day integer not null,
  key_id text not null,
  user_id text,
  team_id text,
  organization_id text,
  bytes bigint not null,
  content text not null,
  primary key (request_id, day))${kind === 'postgres' ? ' partition by range (day)' : ''};
create index call_bodies_key_id on call_bodies (key_id) where key_id is not null;
create index call_bodies_user_id on call_bodies (user_id) where user_id is not null;
create index call_bodies_team_id on call_bodies (team_id) where team_id is not null;
create index call_bodies_day on call_bodies (day, bytes);
`

/**
 * Tables whose rows count against the quota of a key. `texts` = the columns whose texts are the bytes of a row; absent
 * = its column `bytes` says how many they are.
 */
const counted: readonly { readonly table: string; readonly texts?: readonly string[] }[] = [
  { table: 'responses' },
  { table: 'assistant_objects', texts: ['body', 'hidden'] },
  { table: 'upstream_files', texts: ['body', 'models', 'filename'] },
  { table: 'idempotent_requests' },
  { table: 'conversations' },
  { table: 'conversation_messages' },
  { table: 'conversation_attachments' },
]

/**
 * How many objects each key has stored, and how many bytes. Triggers keep the totals with every change, that of a
 * cascade too, in the transaction of the change: they are exact for all replicas.
 */
function storedTotals(kind: Database['kind']): string[] {
  const sizeOfText = (column: string) =>
    kind === 'sqlite' ? `length(cast(${column} as blob))` : `octet_length(${column})`
  return [
    'create table stored_totals (key_id text primary key, objects bigint not null, bytes bigint not null)',
    ...counted.flatMap(({ table, texts }) => {
      const sizeOf = (row: string) => texts?.map(column => sizeOfText(`${row}.${column}`)).join(' + ') ?? `${row}.bytes`
      const [before, after] = [sizeOf('old'), sizeOf('new')]
      return [
        ...trigger(kind, { table, when: 'insert', does: add('new.key_id', '1', after) }),
        ...trigger(kind, { table, when: 'delete', does: add('old.key_id', '-1', `-(${before})`) }),
        ...trigger(kind, {
          table,
          when: `update of ${(texts ?? ['bytes']).join(', ')}`,
          if: `${before} <> ${after}`,
          does: add('new.key_id', '0', `(${after}) - (${before})`),
        }),
      ]
    }),
  ]
}

const add = (key: string, objects: string, bytes: string): string =>
  `insert into stored_totals (key_id, objects, bytes) values (${key}, ${objects}, ${bytes})
    on conflict (key_id) do update set objects = stored_totals.objects + excluded.objects,
      bytes = stored_totals.bytes + excluded.bytes;`

interface Trigger {
  readonly table: string
  readonly when: string
  /** Absent = always. */
  readonly if?: string
  readonly does: string
}

function trigger(kind: Database['kind'], { table, when, if: condition, does }: Trigger): string[] {
  const name = `${table}_total_${when.split(' ', 1)[0]}`
  const guard = condition === undefined ? '' : ` when (${condition})`
  const head = `create trigger ${name} after ${when} on ${table} for each row${guard}`
  if (kind === 'sqlite') return [`${head} begin ${does} end`]
  return [
    `create function ${name}() returns trigger language plpgsql as $body$ begin ${does} return null; end $body$`,
    `${head} execute function ${name}()`,
  ]
}

/** The statements that make the tables, their indexes and their triggers. */
export const storedObjectStatements = (kind: Database['kind']): string[] => [
  ...[files, answers, conversations, configured, callBodies(kind)].flatMap(statementsOf),
  ...storedTotals(kind),
]
