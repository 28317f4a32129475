/** Conversations, their messages, and the events of an answer. */
import {
  anyObject,
  constant,
  dateTime,
  either,
  integer,
  listOf,
  nullable,
  number,
  oneOf,
  open,
  reference,
  shape,
  text,
} from './schema.ts'
import type { Schema } from './schema.ts'

const conversation = {
  id: text,
  title: text,
  settings: anyObject,
  current_message_id: nullable(text),
  version: integer,
  created_at: dateTime,
  updated_at: dateTime,
  expires_at: nullable(dateTime),
  problem: nullable(text),
}

/** By their names under `#/components/schemas/`. */
export const conversationSchemas: Readonly<Record<string, Schema>> = {
  Conversation: shape(conversation),
  ConversationList: shape({
    data: listOf(shape({ ...conversation, excerpt: nullable(text) })),
    next_cursor: nullable(text),
  }),
  ConversationMessage: shape({
    id: text,
    parent_id: nullable(text),
    role: oneOf('user', 'assistant'),
    status: oneOf('running', 'stopping', 'completed', 'stopped', 'failed'),
    created_at: dateTime,
    content: open(shape({ text })),
    problem: nullable(text),
  }),
  ConversationWithMessages: shape({ ...conversation, messages: listOf(reference('ConversationMessage')) }),
  ConversationAnswers: shape({
    message: reference('ConversationMessage'),
    answers: listOf(reference('ConversationMessage')),
  }),
  ConversationEvent: either(reference('ConversationMessage'), constant('[DONE]'), shape({}, { text, thinking: text })),
  DeletedConversations: shape({ deleted: integer }),
  ExportedConversation: shape(
    { conversation: reference('Conversation') },
    { messages: listOf(reference('ConversationMessage')), markdown: text },
  ),
  ChatSettings: shape({
    retention_days: nullable(integer),
    retention_days_max: nullable(number),
    storing_problem: nullable(text),
  }),
}
