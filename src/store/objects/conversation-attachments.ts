/** The files of conversations as rows: encrypted, and gone with their conversation. */
import type { SQL } from 'bun'
import type { ConversationReference, NewAttachment, StoredAttachment } from '../../core/objects/conversations.ts'
import { GatewayError } from '../../core/errors.ts'
import type { HoldBytes } from '../../core/objects/object-pages.ts'
import { DecryptionError } from '../../lib/encryption.ts'
import { toNumber } from '../database/open.ts'
import { encryptionContext, seal } from './conversation-rows.ts'
import type { SealingKeys } from './conversation-rows.ts'

interface AttachmentRow {
  id: string
  media_type: string
  content: string
}

const table = 'conversation_attachments'

/** In the transaction that stores their question; returns their bytes as they are stored. */
export async function insertAttachments(
  tx: SQL,
  keys: SealingKeys,
  { keyId, id: conversationId }: ConversationReference,
  { attachments, createdAtMs }: { readonly attachments: readonly NewAttachment[]; readonly createdAtMs: number },
): Promise<number> {
  let bytes = 0
  for (const { id, mediaType, content } of attachments) {
    const sealed = seal(keys, content, encryptionContext(table, id, 'content'))
    await tx`insert into conversation_attachments ${tx({
      id,
      conversation_id: conversationId,
      key_id: keyId,
      media_type: mediaType,
      content: sealed,
      bytes: sealed.length,
      created_at_ms: createdAtMs,
    })}`
    bytes += sealed.length
  }
  return bytes
}

/** `hold` is called with its bytes before it is read. Throws `overloaded` where the key to open it is missing. */
export async function readAttachment(
  sql: SQL,
  keys: SealingKeys,
  { keyId, id: conversationId }: ConversationReference,
  { id, hold }: { readonly id: string; readonly hold: HoldBytes | undefined },
): Promise<StoredAttachment | undefined> {
  const [size] = (await sql`
    select bytes from conversation_attachments
    where id = ${id} and conversation_id = ${conversationId} and key_id = ${keyId}`) as { bytes: unknown }[]
  if (!size) return undefined
  hold?.(toNumber(size.bytes))
  const [row] = (await sql`
    select id, media_type, content from conversation_attachments where id = ${id}`) as AttachmentRow[]
  if (!row) return undefined
  try {
    return { mediaType: row.media_type, content: keys.open(row.content, encryptionContext(table, id, 'content')) }
  } catch (error) {
    if (error instanceof DecryptionError) throw new GatewayError('overloaded', error.message, { cause: error })
    throw error
  }
}
