/** Lists of conversations. What is encrypted cannot be searched by the database: a search reads the latest first. */
import type { SQL } from 'bun'
import type { ConversationPage, ConversationQuery, ListedConversation } from '../../core/objects/conversations.ts'
import { toNumber } from '../database/open.ts'
import { toConversation, toMessage } from './conversation-rows.ts'
import type { ConversationRow, MessageRow, SealingKeys } from './conversation-rows.ts'

/** What one request reads at most; the next page goes on from there. */
const searchedMax = 300
const searchedBytesMax = 16 * 1024 * 1024
/** Longer messages are left out of a search: sealed, in bytes. */
const messageBytesMax = 1024 * 1024
const batchSize = 50
const excerptBefore = 40
const excerptLength = 160

/** Conversations that were not touched since `fromMs`, or whose end is before `nowMs`, are as good as deleted. */
export interface ConversationLife {
  readonly nowMs: number
  readonly fromMs: number
}

/** One page; of a search as much as may be read at once. */
export async function listConversations(
  sql: SQL,
  keys: SealingKeys,
  query: ConversationQuery,
  life: ConversationLife,
): Promise<ConversationPage> {
  if (query.words.length > 0) return search(sql, keys, query, life)
  const rows = await pageOf(sql, query, life, query.limit)
  const found = rows.map(row => ({ conversation: toConversation(keys, row), excerpt: null }))
  return { found, last: rows.length < query.limit ? undefined : placeIn(rows.at(-1)) }
}

const placeIn = (row: ConversationRow | undefined) => row && { createdAtMs: toNumber(row.updated_at_ms), id: row.id }

async function pageOf(
  sql: SQL,
  { keyId, after }: Pick<ConversationQuery, 'keyId' | 'after'>,
  { nowMs, fromMs }: ConversationLife,
  limit: number,
): Promise<ConversationRow[]> {
  const atMs = after?.createdAtMs ?? Number.MAX_SAFE_INTEGER
  const id = after?.id ?? ''
  return (await sql`
    select * from conversations where key_id = ${keyId}
      and (expires_at_ms is null or expires_at_ms > ${nowMs}) and updated_at_ms > ${fromMs}
      and (updated_at_ms, id) < (${atMs}, ${id})
    order by updated_at_ms desc, id desc limit ${limit}`) as ConversationRow[]
}

async function search(
  sql: SQL,
  keys: SealingKeys,
  { keyId, limit, after, words }: ConversationQuery,
  life: ConversationLife,
): Promise<ConversationPage> {
  const found: ListedConversation[] = []
  let last = after
  let read = 0
  let bytes = 0
  for (;;) {
    const rows = await pageOf(sql, { keyId, after: last }, life, batchSize)
    for (const row of rows) {
      const one = await lookInto(sql, keys, row, words)
      last = placeIn(row)
      read++
      bytes += one.bytes
      if (one.hit) found.push(one.hit)
      if (found.length === limit || read === searchedMax || bytes > searchedBytesMax) return { found, last }
    }
    if (rows.length < batchSize) return { found, last: undefined }
  }
}

async function lookInto(
  sql: SQL,
  keys: SealingKeys,
  row: ConversationRow,
  words: readonly string[],
): Promise<{ hit?: ListedConversation; bytes: number }> {
  const conversation = toConversation(keys, row)
  if (hasAll(conversation.title, words)) return { hit: { conversation, excerpt: null }, bytes: 0 }
  const messages = (await sql`
    select * from conversation_messages where conversation_id = ${row.id} and bytes <= ${messageBytesMax}
    order by position desc, id desc`) as MessageRow[]
  let bytes = 0
  for (const message of messages) {
    bytes += toNumber(message.bytes)
    const { text } = toMessage(keys, message).content
    if (hasAll(text, words)) return { hit: { conversation, excerpt: excerptOf(text, words[0]!) }, bytes }
  }
  return { bytes }
}

function hasAll(text: string, words: readonly string[]): boolean {
  const lower = text.toLowerCase()
  return words.every(word => lower.includes(word))
}

/** The words around the first hit, in one line. */
function excerptOf(text: string, word: string): string {
  const at = Math.max(0, text.toLowerCase().indexOf(word) - excerptBefore)
  const piece = text
    .slice(at, at + excerptLength)
    .replaceAll(/\s+/g, ' ')
    .trim()
  return `${at > 0 ? '… ' : ''}${piece}${at + excerptLength < text.length ? ' …' : ''}`
}
