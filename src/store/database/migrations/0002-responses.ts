import type { Migration } from '../migration.ts'

/** Answers of `/v1/responses`, and which response has which output item, so that items can be referred to by id. */
export const second: Migration = {
  id: 2,
  name: 'responses',
  async up(sql) {
    await sql.unsafe(`create table responses (
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
      primary key (key_id, id)
    )`)
    await sql.unsafe(`create index responses_expiry on responses (expires_at_ms)`)
    await sql.unsafe(`create table response_items (
      key_id text not null,
      item_id text not null,
      response_id text not null,
      primary key (key_id, item_id),
      foreign key (key_id, response_id) references responses (key_id, id) on delete cascade
    )`)
    await sql.unsafe(`create index response_items_response on response_items (key_id, response_id)`)
  },
}
