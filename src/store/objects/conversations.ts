/** Conversations in the database, each under the key, or the user, that it belongs to. */
import type { SQL } from 'bun'
import type {
  Conversation,
  ConversationAddition,
  ConversationChanges,
  ConversationMessage,
  ConversationPage,
  ConversationReference,
  ConversationQuery,
  ConversationStore,
  StoredAttachment,
} from '../../core/objects/conversations.ts'
import { userKeyId } from '../../core/caller.ts'
import { GatewayError } from '../../core/errors.ts'
import type { HoldBytes } from '../../core/objects/object-pages.ts'
import type { Clock } from '../../lib/clock.ts'
import {
  insisting,
  toNumber,
  toNumberOrNull,
  transaction,
  transactionInTime,
  whileAvailable,
} from '../database/open.ts'
import type { Database } from '../database/open.ts'
import { MissingEncryptionKey } from '../keys/encryption-keys.ts'
import { insertAttachments, readAttachment } from './conversation-attachments.ts'
import { listConversations } from './conversation-search.ts'
import type { ConversationLife } from './conversation-search.ts'
import { sealConversation, sealMessage, toConversation, toMessage } from './conversation-rows.ts'
import type { ConversationRow, MessageRow, SealingKeys } from './conversation-rows.ts'
import type { StorageGuard } from './storage-guard.ts'
import { dayMs } from '../../lib/clock.ts'

/** Beyond it a page would be slow; a new conversation takes more. */
const messagesMax = 2000
/** Rows of one deletion at most, so that no lock is held for long. */
const deletionBatch = 200
const deletionIntervalMs = 10 * 60_000

interface StoreParts {
  readonly database: Database
  readonly clock: Clock
  readonly guard: StorageGuard
  readonly keys: SealingKeys
  /** The operator's limit after the last message; null = none. Read at each use. */
  retentionMsMax(): number | null
  report(problem: string): void
}

/** The store, which deletes every ten minutes what is over. */
export interface RunningConversationStore extends ConversationStore {
  /** Deletes expired conversations, and those whose owner is gone; returns how many there were. */
  deleteExpired(): Promise<number>
  stop(): void
}

/** The ids of the gateway are words; clients may send bytes that a database refuses. */
const isId = (id: string): boolean => /^\w{1,64}$/.test(id)

/** Over the tables of migration 31. The regular deletion runs until `stop`. */
export function createConversationStore(parts: StoreParts): RunningConversationStore {
  return new StoredConversations(parts)
}

class StoredConversations implements RunningConversationStore {
  readonly #parts: StoreParts
  readonly #sql: SQL
  readonly #timer: ReturnType<typeof setInterval>

  constructor(parts: StoreParts) {
    this.#parts = parts
    this.#sql = parts.database.sql
    this.#timer = setInterval(() => {
      this.deleteExpired().catch(error => parts.report(`old conversations could not be deleted: ${String(error)}`))
    }, deletionIntervalMs)
    this.#timer.unref()
  }

  storingProblem(): string | undefined {
    try {
      this.#keys.ringToEncrypt()
      return undefined
    } catch (error) {
      if (error instanceof MissingEncryptionKey) return error.message
      throw error
    }
  }

  list(query: ConversationQuery): Promise<ConversationPage> {
    return this.#available(() => listConversations(this.#sql, this.#keys, query, this.#life))
  }

  async find(reference: ConversationReference): Promise<Conversation | undefined> {
    const row = await this.#available(() => findRow(this.#sql, reference, this.#life))
    return row && toConversation(this.#keys, row)
  }

  create(conversation: Omit<Conversation, 'expiresAtMs' | 'version'>): Promise<Conversation> {
    return this.#change(tx => create(tx, this.#parts, conversation))
  }

  update(
    reference: ConversationReference,
    changes: ConversationChanges,
    version: number | undefined,
  ): Promise<Conversation | undefined> {
    return this.#change(tx => update(tx, this.#parts, reference, { changes, version, life: this.#life }))
  }

  async delete({ keyId, id }: ConversationReference): Promise<boolean> {
    return isId(id) && (await this.#available(() => deleteOf(this.#sql, keyId, id))) > 0
  }

  deleteAll(keyId: string): Promise<number> {
    return this.#available(() => deleteOf(this.#sql, keyId))
  }

  messages(reference: ConversationReference, hold?: HoldBytes): Promise<ConversationMessage[]> {
    return this.#available(() => readMessages(this.#sql, this.#keys, reference, hold))
  }

  async message({ keyId, id }: ConversationReference, messageId: string): Promise<ConversationMessage | undefined> {
    if (!isId(id) || !isId(messageId)) return undefined
    const [row] = await this.#available(
      () =>
        this.#sql`select * from conversation_messages
        where id = ${messageId} and conversation_id = ${id} and key_id = ${keyId}` as Promise<MessageRow[]>,
    )
    return row && toMessage(this.#keys, row)
  }

  async attachment(
    reference: ConversationReference,
    id: string,
    hold?: HoldBytes,
  ): Promise<StoredAttachment | undefined> {
    if (!isId(reference.id) || !isId(id)) return undefined
    return this.#available(() => readAttachment(this.#sql, this.#keys, reference, { id, hold }))
  }

  add(reference: ConversationReference, addition: ConversationAddition): Promise<boolean> {
    return this.#change(tx => add(tx, this.#parts, reference, { ...addition, life: this.#life }))
  }

  async saveProgress(message: ConversationMessage): Promise<void> {
    const { content, bytes } = sealMessage(this.#keys, message)
    await insisting(
      'conversations',
      this.#sql`
      update conversation_messages set content = ${content}, bytes = ${bytes}
      where id = ${message.id} and status in ('running', 'stopping')`,
    )
  }

  finish(message: ConversationMessage): Promise<ConversationMessage | undefined> {
    return insisting(
      'conversations',
      transaction(this.#parts.database, tx => finish(tx, this.#parts, message)),
    )
  }

  async stopAnswer({ keyId, id }: ConversationReference, messageId: string): Promise<boolean> {
    if (!isId(id) || !isId(messageId)) return false
    const rows = (await this.#available(
      () => this.#sql`
      update conversation_messages set status = 'stopping' where id = ${messageId} and conversation_id = ${id}
        and key_id = ${keyId} and status in ('running', 'stopping') returning id`,
    )) as unknown[]
    return rows.length > 0
  }

  async renew(ids: readonly string[], nowMs: number): Promise<ReadonlyMap<string, string>> {
    const rows = (await insisting(
      'conversations',
      this.#sql`
      update conversation_messages set updated_at_ms = ${nowMs}
      where id in ${this.#sql([...ids])} and status in ('running', 'stopping') returning id, status`,
    )) as Pick<MessageRow, 'id' | 'status'>[]
    return new Map(rows.map(({ id, status }) => [id, status === 'stopping' ? 'cancelling' : status]))
  }

  retentionDays(keyId: string): Promise<number | null> {
    return this.#available(() => retentionDaysOf(this.#sql, keyId))
  }

  setRetentionDays(keyId: string, days: number | null): Promise<void> {
    return this.#change(tx => setRetentionDays(tx, keyId, { days, nowMs: this.#parts.clock.epochMs() }))
  }

  deleteExpired(): Promise<number> {
    return deleteOver(this.#sql, this.#life)
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  get #keys(): SealingKeys {
    return this.#parts.keys
  }

  get #life(): ConversationLife {
    const nowMs = this.#parts.clock.epochMs()
    const maxMs = this.#parts.retentionMsMax()
    return { nowMs, fromMs: maxMs === null ? -1 : nowMs - maxMs }
  }

  #change<T>(work: (tx: SQL) => Promise<T>): Promise<T> {
    return this.#available(() => transactionInTime(this.#parts.database, work))
  }

  #available<T>(work: () => Promise<T>): Promise<T> {
    return whileAvailable(this.#parts.database, 'conversations', work)
  }
}

async function findRow(
  sql: SQL,
  { keyId, id }: ConversationReference,
  { nowMs, fromMs }: ConversationLife,
): Promise<ConversationRow | undefined> {
  if (!isId(id)) return undefined
  const [row] = (await sql`
    select * from conversations where id = ${id} and key_id = ${keyId}
      and (expires_at_ms is null or expires_at_ms > ${nowMs}) and updated_at_ms > ${fromMs}`) as ConversationRow[]
  return row
}

async function create(
  tx: SQL,
  { guard, keys }: StoreParts,
  conversation: Omit<Conversation, 'expiresAtMs' | 'version'>,
): Promise<Conversation> {
  const { id, keyId, currentMessageId, createdAtMs, updatedAtMs } = conversation
  const sealed = sealConversation(keys, conversation)
  const expiresAtMs = await endOf(tx, keyId, updatedAtMs)
  const row: ConversationRow = {
    id,
    key_id: keyId,
    ...sealed,
    current_message_id: currentMessageId,
    version: 1,
    created_at_ms: createdAtMs,
    updated_at_ms: updatedAtMs,
    expires_at_ms: expiresAtMs,
  }
  await tx`insert into conversations ${tx(row)}`
  await guard.check(tx, keyId, sealed.bytes)
  return { ...conversation, version: 1, expiresAtMs }
}

/** When a conversation ends whose last message is of this moment. */
async function endOf(tx: SQL, keyId: string, updatedAtMs: number): Promise<number | null> {
  const days = await retentionDaysOf(tx, keyId)
  return days === null ? null : updatedAtMs + days * dayMs
}

interface Update {
  readonly changes: ConversationChanges
  readonly version: number | undefined
  readonly life: ConversationLife
}

async function update(
  tx: SQL,
  { guard, keys }: StoreParts,
  reference: ConversationReference,
  { changes, version, life }: Update,
): Promise<Conversation | undefined> {
  const row = await lock(tx, reference, life)
  if (!row) return undefined
  const before = toConversation(keys, row)
  const { currentMessageId, ...written } = changes
  if (version !== undefined && version !== before.version)
    throw new GatewayError(
      'conflict',
      'the conversation was changed since it was read, so nothing of this change was stored; read it again',
      { param: 'version' },
    )
  if (currentMessageId) await checkMessage(tx, reference.id, currentMessageId)
  const isWritten = Object.keys(written).length > 0
  const after = { ...before, ...changes, version: before.version + (isWritten ? 1 : 0) }
  const sealed = isWritten ? sealConversation(keys, after) : { title: row.title, settings: row.settings }
  await tx`update conversations set ${tx({
    ...sealed,
    current_message_id: after.currentMessageId,
    version: after.version,
  })} where id = ${reference.id}`
  if ('bytes' in sealed) await guard.check(tx, reference.keyId, sealed.bytes - toNumber(row.bytes))
  return after
}

async function checkMessage(tx: SQL, conversationId: string, id: string): Promise<void> {
  const found = isId(id)
    ? ((await tx`
        select id from conversation_messages where id = ${id} and conversation_id = ${conversationId}`) as unknown[])
    : []
  if (found.length === 0)
    throw new GatewayError('not-found', 'this conversation has no such message', { param: 'current_message_id' })
}

/** Puts changes of one conversation one after the other. */
async function lock(tx: SQL, { keyId, id }: ConversationReference, life: ConversationLife) {
  if (!isId(id)) return undefined
  await tx`update conversations set version = version where id = ${id} and key_id = ${keyId}`
  return findRow(tx, { keyId, id }, life)
}

async function add(
  tx: SQL,
  { guard, keys }: StoreParts,
  reference: ConversationReference,
  addition: ConversationAddition & { readonly life: ConversationLife },
): Promise<boolean> {
  const { messages, attachments = [], title, currentMessageId, updatedAtMs, life } = addition
  const row = await lock(tx, reference, life)
  if (!row) return false
  const [counted] = (await tx`
    select count(*) as total, max(position) as last from conversation_messages
    where conversation_id = ${reference.id}`) as { total: unknown; last: unknown }[]
  if (toNumber(counted!.total) + messages.length > messagesMax)
    throw new GatewayError('conflict', `a conversation has at most ${messagesMax} messages; begin a new one`)
  let position = toNumber(counted!.last ?? 0)
  let bytes = await insertAttachments(tx, keys, reference, { attachments, createdAtMs: updatedAtMs })
  for (const message of messages) {
    const made = toMessageRow(keys, message, ++position)
    await tx`insert into conversation_messages ${tx(made)}`
    bytes += toNumber(made.bytes)
  }
  const before = toConversation(keys, row)
  const isUntitled = title !== undefined && before.title === '' && before.problem === undefined
  await tx`update conversations set ${tx({
    ...(isUntitled && sealConversation(keys, { ...before, title })),
    current_message_id: currentMessageId,
    updated_at_ms: updatedAtMs,
    expires_at_ms: await endOf(tx, reference.keyId, updatedAtMs),
  })} where id = ${reference.id}`
  await guard.check(tx, reference.keyId, bytes)
  return true
}

function toMessageRow(keys: SealingKeys, message: ConversationMessage, position: number): MessageRow {
  return {
    id: message.id,
    conversation_id: message.conversationId,
    key_id: message.keyId,
    parent_id: message.parentId,
    role: message.role,
    status: message.status,
    position,
    ...sealMessage(keys, message),
    created_at_ms: message.createdAtMs,
    updated_at_ms: message.updatedAtMs,
  }
}

async function readMessages(
  sql: SQL,
  keys: SealingKeys,
  { keyId, id }: ConversationReference,
  hold: HoldBytes | undefined,
): Promise<ConversationMessage[]> {
  if (!isId(id)) return []
  const [sum] = (await sql`
    select sum(bytes) as bytes from conversation_messages where conversation_id = ${id} and key_id = ${keyId}`) as {
    bytes: unknown
  }[]
  hold?.(toNumber(sum?.bytes ?? 0))
  const rows = (await sql`
    select * from conversation_messages where conversation_id = ${id} and key_id = ${keyId}
    order by position, id`) as MessageRow[]
  return rows.map(row => toMessage(keys, row))
}

async function finish(
  tx: SQL,
  { keys }: StoreParts,
  message: ConversationMessage,
): Promise<ConversationMessage | undefined> {
  // Changes nothing, but locks the row for this change.
  const [row] = (await tx`
    update conversation_messages set position = position where id = ${message.id} and key_id = ${message.keyId}
      and status in ('running', 'stopping', 'failed') returning *`) as MessageRow[]
  if (!row) return undefined
  if (row.status === 'failed' && (isInterrupted(message) || !isInterrupted(toMessage(keys, row)))) return undefined
  const { updatedAtMs } = message
  const ended: ConversationMessage =
    row.status === 'stopping'
      ? { ...message, status: 'stopped', content: { ...message.content, error: null } }
      : message
  await tx`update conversation_messages set ${tx({
    ...sealMessage(keys, ended),
    status: ended.status,
    updated_at_ms: updatedAtMs,
  })} where id = ${message.id}`
  await tx`update conversations set ${tx({
    updated_at_ms: updatedAtMs,
    expires_at_ms: await endOf(tx, message.keyId, updatedAtMs),
  })} where id = ${message.conversationId}`
  return ended
}

/** Its process was away when it was read. */
const isInterrupted = ({ content }: ConversationMessage): boolean => content.error?.code === 'interrupted'

async function retentionDaysOf(sql: SQL, keyId: string): Promise<number | null> {
  const [row] = (await sql`select retention_days from conversation_preferences where key_id = ${keyId}`) as {
    retention_days: unknown
  }[]
  return toNumberOrNull(row?.retention_days)
}

async function setRetentionDays(
  tx: SQL,
  keyId: string,
  { days, nowMs }: { days: number | null; nowMs: number },
): Promise<void> {
  await tx`
    insert into conversation_preferences (key_id, retention_days, updated_at_ms) values (${keyId}, ${days}, ${nowMs})
    on conflict (key_id) do update set retention_days = excluded.retention_days,
      updated_at_ms = excluded.updated_at_ms`
  if (days === null) await tx`update conversations set expires_at_ms = null where key_id = ${keyId}`
  else await tx`update conversations set expires_at_ms = updated_at_ms + ${days * dayMs} where key_id = ${keyId}`
}

/** All of an owner, or one of them. */
async function deleteOf(sql: SQL, keyId: string, id?: string): Promise<number> {
  const rows = (await (id === undefined
    ? sql`delete from conversations where key_id = ${keyId} returning id`
    : sql`delete from conversations where key_id = ${keyId} and id = ${id} returning id`)) as unknown[]
  return rows.length
}

/** What a deleted user, or a deleted key, has kept, in the transaction that deletes it. */
export async function deleteConversationsOf(tx: SQL, owner: { userId: string } | { keyId: string }): Promise<void> {
  const keyId = 'userId' in owner ? userKeyId(owner.userId) : owner.keyId
  await deleteOf(tx, keyId)
  await tx`delete from conversation_preferences where key_id = ${keyId}`
}

/** Owners may have been deleted by a replica that knows of no conversations. */
async function deleteOver(sql: SQL, { nowMs, fromMs }: ConversationLife): Promise<number> {
  let deleted = 0
  for (;;) {
    const rows = (await sql`
      delete from conversations where id in (
        select id from conversations where expires_at_ms <= ${nowMs} or updated_at_ms <= ${fromMs}
          or key_id in (select id from virtual_keys where deleted_at_ms is not null)
          or (key_id like 'user:%' and key_id not in (select 'user:' || id from users))
        limit ${deletionBatch}
      ) returning id`) as unknown[]
    deleted += rows.length
    if (rows.length < deletionBatch) return deleted
    // Leaves the database to other work.
    await Bun.sleep(50)
  }
}
