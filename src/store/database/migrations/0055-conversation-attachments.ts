import type { Migration } from '../migration.ts'
import { countStored } from './0007-stored-totals.ts'

/** Files that persons sent with the questions of a conversation, encrypted; `bytes` are those of the encrypted text. */
export const fiftyFifth: Migration = {
  id: 55,
  name: 'conversation-attachments',
  async up(sql, kind) {
    await sql.unsafe(`create table conversation_attachments (
      id text primary key,
      conversation_id text not null references conversations (id) on delete cascade,
      key_id text not null,
      media_type text not null,
      content text not null,
      bytes bigint not null,
      created_at_ms bigint not null
    )`)
    await sql`create index conversation_attachments_owner on conversation_attachments (conversation_id, id)`
    const table = 'conversation_attachments'
    await countStored(sql, kind, { table, columns: ['bytes'], size: (_of, row) => `${row}bytes` })
  },
}
