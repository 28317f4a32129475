/** Conversations that the gateway keeps for the persons who chat: a tree of messages each. */
import type { HoldBytes } from './object-pages.ts'

/** How the answers of a conversation are requested; absent = the default of the model. */
export interface ConversationSettings {
  readonly system_prompt?: string | undefined
  readonly temperature?: number | undefined
  readonly top_p?: number | undefined
  readonly max_tokens?: number | undefined
  readonly reasoning_effort?: string | undefined
  readonly thinking_mode?: 'on' | 'off' | undefined
}

/** One conversation without its messages. Times are milliseconds since 1970. */
export interface Conversation {
  readonly id: string
  /** Of a person in a session it stands for the user (`userKeyId`). */
  readonly keyId: string
  /** Empty = it has none yet. */
  readonly title: string
  readonly settings: ConversationSettings
  /** The end of the branch that was shown last; null = there is no message. */
  readonly currentMessageId: string | null
  /** Grows with every change of title and settings. */
  readonly version: number
  readonly createdAtMs: number
  /** When a message was added, or an answer ended. */
  readonly updatedAtMs: number
  /** null = it is kept until it is deleted. */
  readonly expiresAtMs: number | null
  /** Why title and settings cannot be read: the key that they were encrypted with is missing. Absent = they can. */
  readonly problem?: string
}

/** A question, or an answer to it. */
export type MessageRole = 'user' | 'assistant'

/** `stopping` = another process works on the answer, and ends it within a second. */
export type MessageStatus = 'running' | 'stopping' | 'completed' | 'stopped' | 'failed'

/** What a guardrail said of the call that made an answer. */
export interface GuardrailVerdict {
  readonly name: string
  readonly verdict: string
  /** Kind of what was found -> how often. */
  readonly found: Readonly<Record<string, number>>
}

/** A file that was sent with a question. */
export interface Attachment {
  readonly id: string
  readonly name: string
  /** One of a few: see `conversations/attachments.ts`. */
  readonly media_type: string
  readonly bytes: number
}

/** A file that is stored with its question. */
export interface NewAttachment {
  readonly id: string
  readonly mediaType: string
  readonly content: Buffer
}

/** A file as it was sent. */
export type StoredAttachment = Pick<NewAttachment, 'mediaType' | 'content'>

/** Why an answer is not complete. */
export interface AnswerError {
  /** As in the answer of a refused call, or `interrupted`. */
  readonly code: string
  readonly message: string
  /** When the limit that refused it lets calls pass again (RFC 3339); absent = not known. */
  readonly retry_at?: string
}

/** A tool that a model wants called; `arguments` is JSON, as far as it has come. */
export interface AnswerToolCall {
  readonly name: string
  readonly arguments: string
}

/** A page that an answer names. */
export interface AnswerSource {
  readonly url: string
  readonly title: string
}

/** What is encrypted of a message; absent = none. */
export interface MessageContent {
  readonly text: string
  /** Of a question; the others are of an answer. */
  readonly attachments?: readonly Attachment[]
  /** Of an answer, from here on. The public name that was asked. */
  readonly model?: string
  /** The same for answers that were requested together, side by side. */
  readonly group?: string
  readonly thinking?: string
  readonly tool_calls?: readonly AnswerToolCall[]
  readonly sources?: readonly AnswerSource[]
  readonly finish_reason?: string | null
  readonly input_tokens?: number | null
  readonly output_tokens?: number | null
  /** US dollars that the call was charged; null = not known. */
  readonly cost?: number | null
  readonly duration_ms?: number | null
  readonly first_token_ms?: number | null
  /** It was kept from an earlier call. */
  readonly cached?: boolean
  readonly guardrails?: readonly GuardrailVerdict[]
  /** Fields that the model does not support, and that were left out. */
  readonly dropped_params?: readonly string[]
  readonly error?: AnswerError | null
  /** Id of the call, in the ledger and the log. */
  readonly call_id?: string | null
}

/** One message of a conversation. Times are milliseconds since 1970. */
export interface ConversationMessage {
  readonly id: string
  readonly conversationId: string
  readonly keyId: string
  /** null = it begins the conversation. */
  readonly parentId: string | null
  readonly role: MessageRole
  readonly status: MessageStatus
  readonly createdAtMs: number
  /** Of a running answer renewed every second. */
  readonly updatedAtMs: number
  readonly content: MessageContent
  /** Why the content cannot be read. Absent = it can. */
  readonly problem?: string
}

/** Whose conversations, by id; of another owner's nothing is found. */
export interface ConversationReference {
  readonly keyId: string
  readonly id: string
}

/** The page of a list, latest first. */
export interface ConversationQuery {
  readonly keyId: string
  readonly limit: number
  readonly after?: { readonly createdAtMs: number; readonly id: string } | undefined
  /** All of these words, in the title or in one message; case does not count. Empty = no search. */
  readonly words: readonly string[]
}

/** A conversation of a list. */
export interface ListedConversation {
  readonly conversation: Conversation
  /** Where a search found its words; null = in the title, or there was no search. */
  readonly excerpt: string | null
}

/** `last` = where the next page begins; undefined = there is none. */
export interface ConversationPage {
  readonly found: readonly ListedConversation[]
  readonly last: { readonly createdAtMs: number; readonly id: string } | undefined
}

/** What is added to a conversation in one step. */
export interface ConversationAddition {
  readonly messages: readonly ConversationMessage[]
  /** The files of a new question. */
  readonly attachments?: readonly NewAttachment[]
  /** For one that has none yet. */
  readonly title?: string
  readonly currentMessageId: string
  readonly updatedAtMs: number
}

/** Changes of a conversation; absent = unchanged. */
export type ConversationChanges = Partial<Pick<Conversation, 'title' | 'settings' | 'currentMessageId'>>

/**
 * Conversations by owner: those of others are never found. What persons and models wrote is encrypted. All methods
 * throw `overloaded` when the database is unreachable, and those that write `invalid-request` where there is no key to
 * encrypt with.
 */
export interface ConversationStore {
  /** Why nothing can be stored: there is no key to encrypt with. undefined = it can. */
  storingProblem(): string | undefined
  list(query: ConversationQuery): Promise<ConversationPage>
  find(reference: ConversationReference): Promise<Conversation | undefined>
  /** Throws `quota-exceeded` by the owner's quota, as `add` and `update` do. */
  create(conversation: Omit<Conversation, 'expiresAtMs' | 'version'>): Promise<Conversation>
  /** undefined = there is no such conversation. Throws `conflict` when it has another version than this. */
  update(
    reference: ConversationReference,
    changes: ConversationChanges,
    version: number | undefined,
  ): Promise<Conversation | undefined>
  /** true = it existed. */
  delete(reference: ConversationReference): Promise<boolean>
  /** How many there were. */
  deleteAll(keyId: string): Promise<number>
  /** All messages, oldest first. `hold` is called with their size in bytes before they are read, and may throw. */
  messages(reference: ConversationReference, hold?: HoldBytes): Promise<ConversationMessage[]>
  message(reference: ConversationReference, messageId: string): Promise<ConversationMessage | undefined>
  /** `hold` is called with its size in bytes before it is read, and may throw. */
  attachment(reference: ConversationReference, id: string, hold?: HoldBytes): Promise<StoredAttachment | undefined>
  /**
   * All or nothing; false = the conversation is gone. Throws `conflict` when it would have more messages than it may.
   */
  add(reference: ConversationReference, addition: ConversationAddition): Promise<boolean>
  /** Keeps what has come of an answer that is still running. */
  saveProgress(message: ConversationMessage): Promise<void>
  /**
   * Ends a running answer: with the status `stopped` where that was requested meanwhile. One that counts as interrupted
   * takes its end all the same: its process was only away. undefined = it has ended, or it is gone. Kept also beyond
   * the quota, as it is paid for.
   */
  finish(message: ConversationMessage): Promise<ConversationMessage | undefined>
  /** Asks a running answer to end, whichever process works on it. false = it does not run. */
  stopAnswer(reference: ConversationReference, messageId: string): Promise<boolean>
  /** Marks running answers as alive. Their status by id, `cancelling` where they shall end; gone ones are left out. */
  renew(messageIds: readonly string[], nowMs: number): Promise<ReadonlyMap<string, string>>
  /** Days that the owner's conversations are kept after their last message; null = until they are deleted. */
  retentionDays(keyId: string): Promise<number | null>
  /** Holds for all conversations of the owner, also those that are there. */
  setRetentionDays(keyId: string, days: number | null): Promise<void>
}

/** An answer that this process works on. */
export interface LiveAnswer {
  /** As far as it has come. */
  snapshot(): ConversationMessage
  /** Calls back with each further piece. Returns the function that ends it. */
  follow(follower: AnswerFollower): () => void
}

/** Gets an answer as it comes. */
export interface AnswerFollower {
  /** What was added since the piece before. */
  piece(delta: AnswerDelta): void
  /** The answer has ended, and is stored where it is to be stored. */
  ended(message: ConversationMessage): void
}

/** A piece of an answer; absent = nothing of the kind. */
export interface AnswerDelta {
  readonly text?: string
  readonly thinking?: string
  /** All so far. */
  readonly tool_calls?: readonly AnswerToolCall[]
  /** All so far. */
  readonly sources?: readonly AnswerSource[]
}
