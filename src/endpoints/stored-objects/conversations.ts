/** Conversations that are kept for those who chat, and their answers, which go on without a waiting client. */
import { z } from 'zod'
import { EventStream } from '../../assistants/event-stream.ts'
import { originOf } from '../../assistants/model-call.ts'
import { checkModel } from '../../assistants/objects.ts'
import { reserveAnswer } from '../../conversations/answer.ts'
import { branchTo } from '../../conversations/branch.ts'
import type { Answer } from '../../core/answer.ts'
import type { Caller } from '../../core/caller.ts'
import type { Conversation, ConversationMessage, ConversationPlace } from '../../core/conversations.ts'
import type { Endpoint, Services } from '../../core/endpoint.ts'
import { GatewayError, toGatewayError } from '../../core/errors.ts'
import type { HttpRequest } from '../../core/request.ts'
import { onUse } from '../../lib/on-use.ts'
import { absent, cursorField, forbidden, nextCursor, pageOf } from '../administration/tenancy/answers.ts'
import { withBody, withQuery } from '../administration/tenancy/managed.ts'
import type { Asked } from '../administration/tenancy/managed.ts'

const tag = 'Conversations'
const base = '/chat/conversations'
const one = `${base}/{conversation_id}`
const titleLengthMax = 80
/** How often an answer that another replica works on is looked up. */
const lookMs = 500

const settingsFields = onUse(() =>
  z.strictObject({
    system_prompt: z.string().max(256_000).optional(),
    temperature: z.number().min(0).max(2).optional(),
    top_p: z.number().min(0).max(1).optional(),
    max_tokens: z.number().int().min(1).optional(),
    reasoning_effort: z.string().max(20).optional(),
    thinking_mode: z.enum(['on', 'off']).optional(),
  }),
)
const title = onUse(() => z.string().max(200))
const models = onUse(() => z.array(z.string().min(1).max(256)).min(1).max(2).describe('Two answer side by side.'))
const nothing = onUse(() => z.strictObject({}))

/** Strictly the caller's own: administrators do not see those of others. */
function placeOf({ params }: Pick<HttpRequest, 'params'>, caller: Caller): ConversationPlace {
  return { keyId: ownerOf(caller), id: params.conversation_id! }
}

function ownerOf({ key, derived }: Caller): string {
  if (derived && derived.length > 0) throw forbidden('a derived key has no conversations; use the key it was made from')
  return key.id
}

const shown = (conversation: Conversation) => ({
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

function shownMessage({ id, parentId, role, status, createdAtMs, content, problem }: ConversationMessage) {
  const created_at = new Date(createdAtMs).toISOString()
  return { id, parent_id: parentId, role, status, created_at, content, problem: problem ?? null }
}

async function found({ request, services, caller }: Asked): Promise<Conversation> {
  const conversation = await services.conversations.find(placeOf(request, caller))
  if (!conversation) throw absent('conversation', 'conversation_id')
  return conversation
}

const runs = ({ status }: ConversationMessage): boolean => status === 'running' || status === 'stopping'

/** The message as it is now: an answer whose process has ended is failed, with what had come of it. */
async function current(services: Services, message: ConversationMessage): Promise<ConversationMessage> {
  const live = services.liveAnswers.get(message.id)
  if (live) return live.snapshot()
  if (!runs(message) || !services.answerWatch.isAbandoned(message)) return message
  const error = { code: 'interrupted', message: 'the gateway process that worked on this answer has ended' }
  const ended = { ...message, status: 'failed', content: { ...message.content, error } } as const
  return (await services.conversations.finish({ ...ended, updatedAtMs: services.clock.epochMs() })) ?? ended
}

const newId = (prefix: string): string => `${prefix}_${crypto.randomUUID().replaceAll('-', '')}`

const list = withQuery(
  onUse(() =>
    z.strictObject({
      search: z.string().max(200).default('').describe('Words that a title, or one message, has.'),
      limit: z.coerce.number().int().min(1).max(100).default(30),
      cursor: cursorField(),
    }),
  ),
  {
    paths: [base],
    auth: 'key',
    tag,
    answer: 'ConversationList',
    operationId: 'listConversations',
    summary: "The caller's conversations, latest first; a search may end early, and goes on at `next_cursor`",
    async handle({ search, limit, cursor }, { services, caller }) {
      const { after } = pageOf(1, limit, cursor)
      const words = search.toLowerCase().split(/\s+/).filter(Boolean)
      const { found: hits, last } = await services.conversations.list({ keyId: ownerOf(caller), limit, after, words })
      const data = hits.map(({ conversation, excerpt }) => ({ ...shown(conversation), excerpt }))
      return { data, next_cursor: last ? nextCursor([last], 1) : null }
    },
  },
)

const create = withBody(
  onUse(() => z.strictObject({ title: title().default(''), settings: settingsFields().default({}) })),
  {
    paths: [base],
    auth: 'key',
    tag,
    answer: 'Conversation',
    operationId: 'createConversation',
    summary: 'Begin a conversation',
    async handle(given, { services, caller }) {
      const nowMs = services.clock.epochMs()
      const stamps = { createdAtMs: nowMs, updatedAtMs: nowMs, currentMessageId: null }
      return shown(
        await services.conversations.create({ id: newId('conv'), keyId: ownerOf(caller), ...stamps, ...given }),
      )
    },
  },
)

const get = withQuery(nothing, {
  paths: [one],
  auth: 'key',
  tag,
  answer: 'ConversationWithMessages',
  operationId: 'getConversation',
  summary: 'A conversation with the tree of its messages',
  async handle(_, asked) {
    const { services, request } = asked
    const conversation = await found(asked)
    const messages = await services.conversations.messages(conversation, bytes => request.body.hold(bytes))
    const now = await Promise.all(messages.map(message => current(services, message)))
    return { ...shown(conversation), messages: now.map(shownMessage) }
  },
})

const change = withBody(
  onUse(() =>
    z.strictObject({
      title: title().optional(),
      settings: settingsFields().optional(),
      current_message_id: z.string().max(64).optional().describe('The end of the branch that is shown.'),
      version: z.number().int().min(1).optional(),
    }),
  ),
  {
    method: 'PATCH',
    paths: [one],
    auth: 'key',
    tag,
    answer: 'Conversation',
    operationId: 'updateConversation',
    summary: 'Rename a conversation, change how it is answered, or which branch is shown',
    failures: [409],
    async handle({ version, current_message_id: currentMessageId, ...written }, { request, services, caller }) {
      const given = { ...written, ...(currentMessageId !== undefined && { currentMessageId }) }
      const changes = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
      const changed = await services.conversations.update(placeOf(request, caller), changes, version)
      if (!changed) throw absent('conversation', 'conversation_id')
      return shown(changed)
    },
  },
)

const remove = withQuery(nothing, {
  method: 'DELETE',
  paths: [one],
  auth: 'key',
  tag,
  answer: 'DeletedConversations',
  operationId: 'deleteConversation',
  summary: 'Delete a conversation; answers under way end',
  async handle(_, { request, services, caller }) {
    if (!(await services.conversations.delete(placeOf(request, caller))))
      throw absent('conversation', 'conversation_id')
    return { deleted: 1 }
  },
})

const removeAll = withQuery(nothing, {
  method: 'DELETE',
  paths: [base],
  auth: 'key',
  tag,
  answer: 'DeletedConversations',
  operationId: 'deleteConversations',
  summary: "Delete all of the caller's conversations",
  handle: async (_, { services, caller }) => ({ deleted: await services.conversations.deleteAll(ownerOf(caller)) }),
})

/** Stores the messages with an answer of each model, and starts the work on these. */
async function start(
  { request, services, caller }: Asked,
  conversation: Conversation,
  asked: { readonly question?: ConversationMessage; readonly parentId: string; readonly models: readonly string[] },
): Promise<ConversationMessage[]> {
  for (const model of asked.models) checkModel(services, caller, model)
  const nowMs = services.clock.epochMs()
  const group = newId('group')
  const answers = asked.models.map(
    (model): ConversationMessage => ({
      id: newId('msg'),
      conversationId: conversation.id,
      keyId: conversation.keyId,
      parentId: asked.parentId,
      role: 'assistant',
      status: 'running',
      createdAtMs: nowMs,
      updatedAtMs: nowMs,
      content: { text: '', model, group },
    }),
  )
  const places: ReturnType<typeof reserveAnswer>[] = []
  try {
    for (const answer of answers) places.push(reserveAnswer(services, answer))
    const isThere = await services.conversations.add(conversation, {
      messages: [...(asked.question ? [asked.question] : []), ...answers],
      ...(asked.question && { title: asked.question.content.text.trim().split('\n')[0]!.slice(0, titleLengthMax) }),
      currentMessageId: answers[0]!.id,
      updatedAtMs: nowMs,
    })
    if (!isThere) throw absent('conversation', 'conversation_id')
  } catch (error) {
    for (const place of places) place.release()
    throw error
  }
  const origin = originOf(request)
  for (const [at, message] of answers.entries()) places[at]!.start({ services, caller, origin, conversation, message })
  return answers
}

const ask = withBody(
  onUse(() =>
    z.strictObject({
      parent_id: z.string().max(64).nullable().default(null).describe('The answer before; null = it begins anew.'),
      text: z.string().min(1).max(1_000_000),
      models: models(),
    }),
  ),
  {
    paths: [`${one}/messages`],
    auth: 'key',
    tag,
    answer: 'ConversationAnswers',
    operationId: 'createConversationMessage',
    summary: 'Ask: the answers are made in the background, and can be followed as they come',
    failures: [403, 409],
    async handle({ parent_id: parentId, text, models: asked }, all) {
      const { services } = all
      const conversation = await found(all)
      if (parentId !== null && !(await services.conversations.message(conversation, parentId)))
        throw absent('message', 'parent_id')
      const nowMs = services.clock.epochMs()
      const question: ConversationMessage = {
        id: newId('msg'),
        conversationId: conversation.id,
        keyId: conversation.keyId,
        parentId,
        role: 'user',
        status: 'completed',
        createdAtMs: nowMs,
        updatedAtMs: nowMs,
        content: { text },
      }
      const answers = await start(all, conversation, { question, parentId: question.id, models: asked })
      return { message: shownMessage(question), answers: answers.map(shownMessage) }
    },
  },
)

async function messageOf(asked: Asked): Promise<ConversationMessage> {
  const { request, services } = asked
  const conversation = await found(asked)
  const message = await services.conversations.message(conversation, request.params.message_id!)
  if (!message) throw absent('message', 'message_id')
  return current(services, message)
}

const answerAgain = withBody(
  onUse(() => z.strictObject({ models: models() })),
  {
    paths: [`${one}/messages/{message_id}/answers`],
    auth: 'key',
    tag,
    answer: 'ConversationAnswers',
    operationId: 'createConversationAnswers',
    summary: 'Answer a question again, by the same model or another',
    failures: [403, 409],
    async handle({ models: asked }, all) {
      const message = await messageOf(all)
      if (message.role === 'assistant')
        throw new GatewayError('invalid-request', 'this is an answer; name the question before it', {
          param: 'message_id',
        })
      const answers = await start(all, await found(all), { parentId: message.id, models: asked })
      return { message: shownMessage(message), answers: answers.map(shownMessage) }
    },
  },
)

const stop = withQuery(nothing, {
  method: 'POST',
  paths: [`${one}/messages/{message_id}/stop`],
  auth: 'key',
  tag,
  answer: 'ConversationMessage',
  operationId: 'stopConversationAnswer',
  summary: 'Stop an answer; what has come of it is kept',
  async handle(_, asked) {
    const { services, request, caller } = asked
    const message = await messageOf(asked)
    if (await services.conversations.stopAnswer(placeOf(request, caller), message.id))
      services.detached.cancel(message.id)
    return shownMessage(message)
  },
})

/** Follows an answer that another replica works on. */
async function followStored(
  services: Services,
  request: HttpRequest,
  place: ConversationPlace,
  from: ConversationMessage,
  events: EventStream,
): Promise<void> {
  let before = from
  while (runs(before) && !request.left) {
    await Bun.sleep(lookMs)
    const read = await services.conversations.message(place, before.id)
    if (!read) break
    const now = await current(services, read)
    const grew = now.content.text !== before.content.text || now.content.thinking !== before.content.thinking
    if (grew || now.status !== before.status) events.emit('message', shownMessage(now))
    before = now
  }
}

const follow: Endpoint = {
  method: 'GET',
  paths: [`${one}/messages/{message_id}/events`],
  auth: 'key',
  doc: {
    tag,
    operationId: 'followConversationAnswer',
    summary: 'An answer as it comes: the message so far, its further pieces, and the message at its end',
    success: { 'text/event-stream': { $ref: '#/components/schemas/ConversationEvent' } },
    headers: ['x-request-id'],
  },
  async handle(request, services, caller): Promise<Answer> {
    const message = await messageOf({ request, services, caller: caller! })
    const events = new EventStream()
    const live = services.liveAnswers.get(message.id)
    // In one step with the following: no piece comes in between.
    events.emit('message', shownMessage(live?.snapshot() ?? message))
    if (live) {
      const leave = live.follow({
        piece(delta) {
          if (request.left) leave()
          else events.emit('delta', delta)
        },
        ended(last) {
          events.emit('message', shownMessage(last))
          events.end()
        },
      })
    } else
      void followStored(services, request, placeOf(request, caller!), message, events)
        .catch(error => events.fail(toGatewayError(error)))
        .finally(() => events.end())
    return events.answer(request.id)
  },
}

const shownPreferences = async ({ services, caller }: Asked) => {
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
  answer: 'ChatSettings',
  operationId: 'getChatSettings',
  summary: "How long the caller's conversations are kept",
  handle: (_, asked) => shownPreferences(asked),
})

const changePreferences = withBody(
  onUse(() => z.strictObject({ retention_days: z.number().int().min(1).max(3650).nullable() })),
  {
    method: 'PATCH',
    paths: ['/chat/settings'],
    auth: 'key',
    tag,
    answer: 'ChatSettings',
    operationId: 'updateChatSettings',
    summary: "Change how long the caller's conversations are kept after their last message; null = until deleted",
    async handle({ retention_days: days }, asked) {
      await asked.services.conversations.setRetentionDays(ownerOf(asked.caller), days)
      return shownPreferences(asked)
    },
  },
)

const exported = withQuery(
  onUse(() => z.strictObject({ format: z.enum(['json', 'markdown']).default('json') })),
  {
    paths: [`${one}/export`],
    auth: 'key',
    tag,
    answer: 'ExportedConversation',
    operationId: 'exportConversation',
    summary: 'A conversation to keep elsewhere: the whole tree as JSON, or the branch shown as Markdown',
    async handle({ format }, asked) {
      const { services, request } = asked
      const conversation = await found(asked)
      const messages = await services.conversations.messages(conversation, bytes => request.body.hold(bytes))
      if (format === 'json') return { conversation: shown(conversation), messages: messages.map(shownMessage) }
      const texts = branchTo(messages, conversation.currentMessageId).map(
        ({ role, content }) => `## ${content.model ?? role}\n\n${content.text}`,
      )
      return { conversation: shown(conversation), markdown: [`# ${conversation.title}`, ...texts].join('\n\n') }
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
  ask,
  answerAgain,
  follow,
  stop,
  preferences,
  changePreferences,
]
