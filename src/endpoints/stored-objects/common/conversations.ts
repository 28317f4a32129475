/** What the endpoints of conversations share: whose they are, how they are shown, and how running answers end. */
import { storingIdOf } from '../../../core/caller.ts'
import type { Caller } from '../../../core/caller.ts'
import type {
  Conversation,
  ConversationMessage,
  ConversationReference,
  MessageContent,
} from '../../../core/objects/conversations.ts'
import type { EndpointContext, Services } from '../../../core/endpoint.ts'
import { lostProcess } from '../../../core/objects/detached-runs.ts'
import type { HttpRequest } from '../../../core/request.ts'
import { absent, forbidden } from '../../common/answers.ts'

/** In the document of the API. */
export const conversationTag = 'Conversations'
/** The path of all of them. */
export const conversationsPath = '/chat/conversations'
/** The path of one. */
export const conversationPath = `${conversationsPath}/{conversation_id}`

/** Strictly the caller's own: administrators do not see those of others. Throws `forbidden` for a derived key. */
export function ownerOf(caller: Caller): string {
  const { derived } = caller
  if (derived && derived.length > 0) throw forbidden('a derived key has no conversations; use the key it was made from')
  return storingIdOf(caller)
}

/** The conversation that the path names, if it is the caller's. */
export function conversationReference({ params }: Pick<HttpRequest, 'params'>, caller: Caller): ConversationReference {
  return { keyId: ownerOf(caller), id: params.conversation_id! }
}

/** Throws `not-found` for one of another owner as for one that is not there. */
export async function foundConversation({ request, services, caller }: EndpointContext): Promise<Conversation> {
  const conversation = await services.conversations.find(conversationReference(request, caller))
  if (!conversation) throw absent('conversation', 'conversation_id')
  return conversation
}

/** As the API shows it. */
export const shownConversation = (conversation: Conversation) => ({
  id: conversation.id,
  title: conversation.title,
  settings: conversation.settings,
  current_message_id: conversation.currentMessageId,
  version: conversation.version,
  created_at: new Date(conversation.createdAtMs).toISOString(),
  updated_at: new Date(conversation.updatedAtMs).toISOString(),
  expires_at: conversation.expiresAtMs === null ? null : new Date(conversation.expiresAtMs).toISOString(),
  problem: conversation.problem ?? null,
})

/** As the API shows it. */
export function shownMessage({ id, parentId, role, status, createdAtMs, content, problem }: ConversationMessage) {
  const created_at = new Date(createdAtMs).toISOString()
  return { id, parent_id: parentId, role, status, created_at, content, problem: problem ?? null }
}

/** true = the answer goes on. */
export const isRunning = ({ status }: ConversationMessage): boolean => status === 'running' || status === 'stopping'

/**
 * The message as it is now: an answer whose process has ended is failed, with what had come of it. The row of its call
 * in the ledger says what it took and cost: it is paid all the same.
 */
export async function currentMessage(services: Services, message: ConversationMessage): Promise<ConversationMessage> {
  const live = services.liveAnswers.get(message.id)
  if (live) return live.snapshot()
  if (!isRunning(message)) return withFacts(services, message)
  if (!(await services.answerWatch.isAbandoned(message))) return message
  const error = { code: 'interrupted', message: `the gateway process that worked on this answer ${lostProcess}` }
  const failed = { ...message, status: 'failed', content: { ...message.content, error } } as const
  const ended = await withFacts(services, failed)
  return (await services.conversations.finish({ ...ended, updatedAtMs: services.clock.epochMs() })) ?? ended
}

/** The row may come later than the message is ended: it is in the journal of a process that is not there. */
async function withFacts(services: Services, message: ConversationMessage): Promise<ConversationMessage> {
  const { error, call_id: requestId, cost: known } = message.content
  if (error?.code !== 'interrupted' || !requestId || known !== undefined) return message
  const [row] = (await services.ledger.query({ requestId, limit: 1 })).rows
  if (!row) return message
  const facts: Partial<MessageContent> = {
    input_tokens: row.input_tokens,
    output_tokens: row.output_tokens,
    cost: row.cost_nano_usd === null ? null : Number(row.cost_nano_usd) / 1e9,
    duration_ms: row.duration_ms,
    first_token_ms: row.first_byte_ms,
  }
  return { ...message, content: { ...message.content, ...facts } }
}

/** `conv_`, `msg_`: an id that is not used yet. */
export const newId = (prefix: string): string => `${prefix}_${crypto.randomUUID().replaceAll('-', '')}`
