/** Conversations, their messages, and the events of an answer. */
import {
  boolean,
  constant,
  dateTime,
  either,
  integer,
  listOf,
  mapOf,
  nullable,
  number,
  oneOf,
  open,
  reference,
  shape,
  text,
} from './schema.ts'
import type { Schema } from './schema.ts'

const settings = shape(
  {},
  {
    system_prompt: text,
    temperature: number,
    top_p: number,
    max_tokens: integer,
    reasoning_effort: text,
    thinking_mode: oneOf('on', 'off'),
  },
)

const toolCalls = listOf(shape({ name: text, arguments: text }))
const sources = listOf(shape({ url: text, title: text }))

/** Of a question the text alone; the others are facts of an answer, known as it goes on. */
const content = shape(
  { text },
  {
    attachments: listOf(shape({ id: text, name: text, media_type: text, bytes: integer })),
    model: text,
    group: text,
    thinking: text,
    tool_calls: toolCalls,
    sources,
    finish_reason: nullable(text),
    input_tokens: nullable(integer),
    output_tokens: nullable(integer),
    cost: nullable(number),
    duration_ms: nullable(integer),
    first_token_ms: nullable(integer),
    cached: boolean,
    guardrails: listOf(shape({ name: text, verdict: text, found: mapOf(integer) })),
    dropped_params: listOf(text),
    error: nullable(shape({ code: text, message: text }, { retry_at: dateTime })),
    call_id: nullable(text),
  },
)

const conversation = {
  id: text,
  title: text,
  settings,
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
    content: open(content),
    problem: nullable(text),
  }),
  ConversationWithMessages: shape({ ...conversation, messages: listOf(reference('ConversationMessage')) }),
  ConversationAnswers: shape({
    message: reference('ConversationMessage'),
    answers: listOf(reference('ConversationMessage')),
  }),
  ConversationEvent: either(
    reference('ConversationMessage'),
    constant('[DONE]'),
    shape({}, { text, thinking: text, tool_calls: toolCalls, sources }),
  ),
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
