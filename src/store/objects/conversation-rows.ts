/** Rows of conversations and their messages: what persons and models wrote is encrypted in them. */
import type { Conversation, ConversationMessage, MessageContent } from '../../core/objects/conversations.ts'
import { GatewayError } from '../../core/errors.ts'
import { DecryptionError } from '../../lib/encryption.ts'
import { toNumber, toNumberOrNull } from '../database/open.ts'
import { MissingEncryptionKey } from '../keys/encryption-keys.ts'
import type { EncryptionKeys } from '../keys/encryption-keys.ts'

/** The keys that texts are sealed and opened with. */
export type SealingKeys = Pick<EncryptionKeys, 'open' | 'ringToEncrypt'>

/** A row of `conversations`; title and settings are sealed. */
export interface ConversationRow {
  id: string
  key_id: string
  title: string
  settings: string
  current_message_id: string | null
  version: unknown
  bytes: unknown
  created_at_ms: unknown
  updated_at_ms: unknown
  expires_at_ms: unknown
}

/** A row of `conversation_messages`; the content is sealed. */
export interface MessageRow {
  id: string
  conversation_id: string
  key_id: string
  parent_id: string | null
  role: string
  status: string
  position: unknown
  content: string
  bytes: unknown
  created_at_ms: unknown
  updated_at_ms: unknown
}

/** The columns that are encrypted, by their tables. */
export const sealedColumns = {
  conversations: ['title', 'settings'],
  conversation_messages: ['content'],
  conversation_attachments: ['content'],
} as const

/** What the encryption binds a text to. */
export const encryptionContext = (table: keyof typeof sealedColumns, id: string, column: string): string =>
  `${table}:${id}:${column}`

/** Throws `invalid-request` where no key is configured, with the remedy. */
export function seal(keys: SealingKeys, plain: string | Uint8Array, context: string): string {
  try {
    return keys.ringToEncrypt().seal(plain, context)
  } catch (error) {
    if (error instanceof MissingEncryptionKey)
      throw new GatewayError('invalid-request', `conversations cannot be stored: ${error.message}`, {
        code: 'encryption_key_missing',
        cause: error,
      })
    throw error
  }
}

type Opened<Value> = { readonly value: Value } | { readonly problem: string }

function opened<Value>(read: () => Value): Opened<Value> {
  try {
    return { value: read() }
  } catch (error) {
    if (error instanceof DecryptionError) return { problem: error.message }
    throw error
  }
}

/** Title and settings as columns. */
export function sealConversation(
  keys: SealingKeys,
  { id, title, settings }: Pick<Conversation, 'id' | 'title' | 'settings'>,
): Pick<ConversationRow, 'title' | 'settings'> & { bytes: number } {
  const sealed = {
    title: seal(keys, title, encryptionContext('conversations', id, 'title')),
    settings: seal(keys, JSON.stringify(settings), encryptionContext('conversations', id, 'settings')),
  }
  return { ...sealed, bytes: sealed.title.length + sealed.settings.length }
}

/** A title that cannot be decrypted is empty, and `problem` says why. */
export function toConversation(keys: SealingKeys, row: ConversationRow): Conversation {
  const read = opened(() => ({
    title: keys.open(row.title, encryptionContext('conversations', row.id, 'title')).toString(),
    settings: JSON.parse(
      keys.open(row.settings, encryptionContext('conversations', row.id, 'settings')).toString(),
    ) as Record<string, never>,
  }))
  return {
    id: row.id,
    keyId: row.key_id,
    ...('value' in read ? read.value : { title: '', settings: {}, problem: read.problem }),
    currentMessageId: row.current_message_id,
    version: toNumber(row.version),
    createdAtMs: toNumber(row.created_at_ms),
    updatedAtMs: toNumber(row.updated_at_ms),
    expiresAtMs: toNumberOrNull(row.expires_at_ms),
  }
}

/** The content of a message as columns. */
export function sealMessage(
  keys: SealingKeys,
  { id, content }: Pick<ConversationMessage, 'id' | 'content'>,
): { content: string; bytes: number } {
  const sealed = seal(keys, JSON.stringify(content), encryptionContext('conversation_messages', id, 'content'))
  return { content: sealed, bytes: sealed.length }
}

/** What cannot be decrypted has an empty text, and `problem` says why. */
export function toMessage(keys: SealingKeys, row: MessageRow): ConversationMessage {
  const read = opened(() =>
    JSON.parse(keys.open(row.content, encryptionContext('conversation_messages', row.id, 'content')).toString()),
  )
  return {
    id: row.id,
    conversationId: row.conversation_id,
    keyId: row.key_id,
    parentId: row.parent_id,
    role: row.role as ConversationMessage['role'],
    status: row.status as ConversationMessage['status'],
    createdAtMs: toNumber(row.created_at_ms),
    updatedAtMs: toNumber(row.updated_at_ms),
    ...('value' in read ? { content: read.value as MessageContent } : { content: { text: '' }, problem: read.problem }),
  }
}
