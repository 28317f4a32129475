import type { Migration } from '../migration.ts'
import { countStored } from './0007-stored-totals.ts'

/**
 * Conversations that are kept for persons who chat: a tree of messages each. Everything that a person or a model has
 * written is encrypted; `bytes` are those of the encrypted texts.
 */
export const thirtyFirst: Migration = {
  id: 31,
  name: 'conversations',
  async up(sql, kind) {
    await sql.unsafe(`create table conversations (
      id text primary key,
      key_id text not null,
      title text not null,
      settings text not null,
      current_message_id text,
      version bigint not null,
      bytes bigint not null,
      created_at_ms bigint not null,
      updated_at_ms bigint not null,
      expires_at_ms bigint
    )`)
    await sql`create index conversations_owner on conversations (key_id, updated_at_ms, id)`
    await sql`create index conversations_expired on conversations (expires_at_ms)`
    await sql`create index conversations_updated on conversations (updated_at_ms)`
    await sql.unsafe(`create table conversation_messages (
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
      updated_at_ms bigint not null
    )`)
    await sql`create index conversation_messages_order on conversation_messages (conversation_id, position, id)`
    await sql.unsafe(`create table conversation_preferences (
      key_id text primary key,
      retention_days integer,
      updated_at_ms bigint not null
    )`)
    for (const table of ['conversations', 'conversation_messages'])
      await countStored(sql, kind, { table, columns: ['bytes'], size: (_of, row) => `${row}bytes` })
  },
}
