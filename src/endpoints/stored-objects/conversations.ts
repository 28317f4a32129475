/** Conversations that are kept for those who chat: lists, one with its messages, changes, exports, and how long. */
import { z } from 'zod'
import { branchTo } from '../../conversations/branch.ts'
import type { Endpoint, EndpointContext } from '../../core/endpoint.ts'
import { lazy } from '../../lib/lazy.ts'
import { absent, cursorField, nextCursor, pageOf } from '../common/answers.ts'
import { withBody, withQuery } from '../common/json-endpoint.ts'
import {
  conversationPath,
  conversationReference,
  conversationTag as tag,
  conversationsPath,
  currentMessage,
  foundConversation,
  newId,
  ownerOf,
  shownConversation,
  shownMessage,
} from './common/conversations.ts'
import { dateTime, integer, listOf, named, nullable, number, oneOf, shape, text } from '../openapi/schema.ts'
import { conversationMessageSchema } from './conversation-answers.ts'

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

const conversationSchema = named('Conversation', () => shape(conversation))

const conversationListSchema = named('ConversationList', () =>
  shape({
    data: listOf(shape({ ...conversation, excerpt: nullable(text) })),
    next_cursor: nullable(text),
  }),
)

const conversationWithMessagesSchema = named('ConversationWithMessages', () =>
  shape({ ...conversation, messages: listOf(conversationMessageSchema) }),
)

const deletedConversationsSchema = named('DeletedConversations', () => shape({ deleted: integer }))

const exportedConversationSchema = named('ExportedConversation', () =>
  shape({ conversation: conversationSchema }, { messages: listOf(conversationMessageSchema), markdown: text }),
)

const chatSettingsSchema = named('ChatSettings', () =>
  shape({
    retention_days: nullable(integer),
    retention_days_max: nullable(number),
    storing_problem: nullable(text),
  }),
)

const settingsFields = lazy(() =>
  z.strictObject({
    system_prompt: z.string().max(256_000).optional(),
    temperature: z.number().min(0).max(2).optional(),
    top_p: z.number().min(0).max(1).optional(),
    max_tokens: z.number().int().min(1).optional(),
    reasoning_effort: z.string().max(20).optional(),
    thinking_mode: z.enum(['on', 'off']).optional(),
  }),
)

const title = lazy(() => z.string().max(200))
const nothing = lazy(() => z.strictObject({}))

const list = withQuery(
  lazy(() =>
    z.strictObject({
      search: z.string().max(200).default('').describe('Words that a title, or one message, has.'),
      limit: z.coerce.number().int().min(1).max(100).default(30),
      cursor: cursorField(),
    }),
  ),
  {
    paths: [conversationsPath],
    auth: 'key',
    tag,
    answer: conversationListSchema,
    operationId: 'listConversations',
    summary: "The caller's conversations, latest first; a search may end early, and goes on at `next_cursor`",
    async handle({ search, limit, cursor }, { services, caller }) {
      const { after } = pageOf(1, limit, cursor)
      const words = search.toLowerCase().split(/\s+/).filter(Boolean)
      const { found: hits, last } = await services.conversations.list({ keyId: ownerOf(caller), limit, after, words })
      const data = hits.map(({ conversation, excerpt }) => ({ ...shownConversation(conversation), excerpt }))
      return { data, next_cursor: last ? nextCursor([last], 1) : null }
    },
  },
)

const create = withBody(
  lazy(() => z.strictObject({ title: title().default(''), settings: settingsFields().default({}) })),
  {
    paths: [conversationsPath],
    auth: 'key',
    tag,
    answer: conversationSchema,
    operationId: 'createConversation',
    summary: 'Begin a conversation',
    async handle(given, { services, caller }) {
      const nowMs = services.clock.epochMs()
      const stamps = { createdAtMs: nowMs, updatedAtMs: nowMs, currentMessageId: null }
      return shownConversation(
        await services.conversations.create({ id: newId('conv'), keyId: ownerOf(caller), ...stamps, ...given }),
      )
    },
  },
)

const get = withQuery(nothing, {
  paths: [conversationPath],
  auth: 'key',
  tag,
  answer: conversationWithMessagesSchema,
  operationId: 'getConversation',
  summary: 'A conversation with the tree of its messages',
  async handle(_, context) {
    const { services, request } = context
    const conversation = await foundConversation(context)
    const messages = await services.conversations.messages(conversation, bytes => request.body.hold(bytes))
    const now = await Promise.all(messages.map(message => currentMessage(services, message)))
    return { ...shownConversation(conversation), messages: now.map(shownMessage) }
  },
})

const change = withBody(
  lazy(() =>
    z.strictObject({
      title: title().optional(),
      settings: settingsFields().optional(),
      current_message_id: z.string().max(64).optional().describe('The end of the branch that is shown.'),
      version: z.number().int().min(1).optional(),
    }),
  ),
  {
    method: 'PATCH',
    paths: [conversationPath],
    auth: 'key',
    tag,
    answer: conversationSchema,
    operationId: 'updateConversation',
    summary: 'Rename a conversation, change how it is answered, or which branch is shown',
    failures: [409],
    async handle({ version, current_message_id: currentMessageId, ...written }, { request, services, caller }) {
      const given = { ...written, ...(currentMessageId !== undefined && { currentMessageId }) }
      const changes = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
      const changed = await services.conversations.update(conversationReference(request, caller), changes, version)
      if (!changed) throw absent('conversation', 'conversation_id')
      return shownConversation(changed)
    },
  },
)

const remove = withQuery(nothing, {
  method: 'DELETE',
  paths: [conversationPath],
  auth: 'key',
  tag,
  answer: deletedConversationsSchema,
  operationId: 'deleteConversation',
  summary: 'Delete a conversation; answers under way end',
  async handle(_, { request, services, caller }) {
    if (!(await services.conversations.delete(conversationReference(request, caller))))
      throw absent('conversation', 'conversation_id')
    return { deleted: 1 }
  },
})

const removeAll = withQuery(nothing, {
  method: 'DELETE',
  paths: [conversationsPath],
  auth: 'key',
  tag,
  answer: deletedConversationsSchema,
  operationId: 'deleteConversations',
  summary: "Delete all of the caller's conversations",
  handle: async (_, { services, caller }) => ({ deleted: await services.conversations.deleteAll(ownerOf(caller)) }),
})

const shownPreferences = async ({ services, caller }: EndpointContext) => {
  const maxMs = services.current.settings.chatRetentionMs
  return {
    retention_days: await services.conversations.retentionDays(ownerOf(caller)),
    retention_days_max: maxMs === undefined ? null : maxMs / 86_400_000,
    storing_problem: services.conversations.storingProblem() ?? null,
  }
}

const preferences = withQuery(nothing, {
  paths: ['/chat/settings'],
  auth: 'key',
  tag,
  answer: chatSettingsSchema,
  operationId: 'getChatSettings',
  summary: "How long the caller's conversations are kept",
  handle: (_, context) => shownPreferences(context),
})

const changePreferences = withBody(
  lazy(() => z.strictObject({ retention_days: z.number().int().min(1).max(3650).nullable() })),
  {
    method: 'PATCH',
    paths: ['/chat/settings'],
    auth: 'key',
    tag,
    answer: chatSettingsSchema,
    operationId: 'updateChatSettings',
    summary: "Change how long the caller's conversations are kept after their last message; null = until deleted",
    async handle({ retention_days: days }, context) {
      await context.services.conversations.setRetentionDays(ownerOf(context.caller), days)
      return shownPreferences(context)
    },
  },
)

const exported = withQuery(
  lazy(() => z.strictObject({ format: z.enum(['json', 'markdown']).default('json') })),
  {
    paths: [`${conversationPath}/export`],
    auth: 'key',
    tag,
    answer: exportedConversationSchema,
    operationId: 'exportConversation',
    summary: 'A conversation to keep elsewhere: the whole tree as JSON, or the branch shown as Markdown',
    async handle({ format }, context) {
      const { services, request } = context
      const conversation = await foundConversation(context)
      const messages = await services.conversations.messages(conversation, bytes => request.body.hold(bytes))
      if (format === 'json')
        return { conversation: shownConversation(conversation), messages: messages.map(shownMessage) }
      const texts = branchTo(messages, conversation.currentMessageId).map(
        ({ role, content }) => `## ${content.model ?? role}\n\n${content.text}`,
      )
      return {
        conversation: shownConversation(conversation),
        markdown: [`# ${conversation.title}`, ...texts].join('\n\n'),
      }
    },
  },
)

/** 404 for conversations of others, administrators included. */
export const conversationEndpoints: readonly Endpoint[] = [
  list,
  { ...create, takesRequest: true },
  removeAll,
  get,
  change,
  remove,
  exported,
  preferences,
  changePreferences,
]
