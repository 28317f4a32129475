/** What the page needs of a conversation, whether the gateway keeps it or the page alone. */
import type { ConversationSettings } from '../../api/conversations.ts'
import type { QuestionFile } from './files.ts'
import type { Message } from './tree.ts'

/** What is asked. */
export interface Question {
  /** May be empty where there are files. */
  readonly text: string
  readonly files: readonly QuestionFile[]
  /** The answer before; null = it begins the conversation. */
  readonly parentId: string | null
  /** One, or two that answer side by side. */
  readonly models: readonly string[]
}

/** A conversation as the page works with it. What fails rejects with an `ApiError`, and has changed nothing. */
export interface Chat {
  /** Empty = it has none yet. */
  readonly title: string
  /** The tree, oldest first. */
  readonly messages: readonly Message[]
  /** The end of the branch that is shown. */
  readonly currentId: string | null
  readonly settings: ConversationSettings
  ask(question: Question): Promise<void>
  /** Another answer to a question. */
  answerAgain(questionId: string, models: readonly string[]): Promise<void>
  /** Ends the answers under way; what has come of them stays. */
  stop(): void
  /** Where the bytes of a file of a question are. */
  fileUrl(id: string): string
  /** Shows the branch that ends with this message. */
  show(messageId: string): void
  changeSettings(settings: ConversationSettings): Promise<void>
}
