/** Questions of a conversation and their answers, which go on without a waiting client; and the files sent along. */
import { z } from 'zod'
import { EventStream } from '../../formats/openai/event-stream.ts'
import { originOf } from '../../assistants/model-call.ts'
import { checkModel } from '../../assistants/objects.ts'
import { reserveAnswer } from '../../conversations/answer.ts'
import { attachmentType, attachmentTypes } from '../../conversations/attachments.ts'
import { promptOf } from '../../conversations/prompt.ts'
import type { Answer } from '../../core/answer.ts'
import type { Attachment, Conversation, ConversationMessage, NewAttachment } from '../../core/objects/conversations.ts'
import type { Endpoint, EndpointContext, Services } from '../../core/endpoint.ts'
import { GatewayError, toGatewayError, unprocessable } from '../../core/errors.ts'
import { lazy } from '../../lib/lazy.ts'
import { absent } from '../common/answers.ts'
import { jsonEndpoint, withBody, withQuery } from '../common/json-endpoint.ts'
import { readJsonAs } from '../common/checked-input.ts'
import {
  boolean,
  bytes,
  constant,
  dateTime,
  either,
  integer,
  listOf,
  mapOf,
  named,
  nullable,
  number,
  oneOf,
  open,
  shape,
  text,
} from '../openapi/schema.ts'
import {
  conversationPath,
  conversationReference,
  conversationTag as tag,
  currentMessage,
  foundConversation,
  isRunning,
  newId,
  shownMessage,
} from './common/conversations.ts'

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
    duration_ms: nullable(number),
    first_token_ms: nullable(number),
    cached: boolean,
    guardrails: listOf(shape({ name: text, verdict: text, found: mapOf(integer) })),
    dropped_params: listOf(text),
    error: nullable(shape({ code: text, message: text }, { retry_at: dateTime })),
    call_id: nullable(text),
  },
)

/** A question or an answer of a conversation. */
export const conversationMessageSchema = named('ConversationMessage', () =>
  shape({
    id: text,
    parent_id: nullable(text),
    role: oneOf('user', 'assistant'),
    status: oneOf('running', 'stopping', 'completed', 'stopped', 'failed'),
    created_at: dateTime,
    content: open(content),
    problem: nullable(text),
  }),
)

const conversationAnswersSchema = named('ConversationAnswers', () =>
  shape({
    message: conversationMessageSchema,
    answers: listOf(conversationMessageSchema),
  }),
)

const conversationEventSchema = named('ConversationEvent', () =>
  either(
    conversationMessageSchema,
    constant('[DONE]'),
    shape({}, { text, thinking: text, tool_calls: toolCalls, sources }),
  ),
)

const titleLengthMax = 80
/** How often an answer that another replica works on is looked up. */
const lookMs = 500

const models = lazy(() =>
  z.array(z.string().min(1).max(256)).min(1).max(2).describe('Where two are named, both answer side by side.'),
)
const nothing = lazy(() => z.strictObject({}))

/** What is asked: `messages` are those that are stored. */
interface AnswerRequest {
  readonly conversation: Conversation
  readonly messages: readonly ConversationMessage[]
  readonly question: ConversationMessage
  /** Absent = the question is stored already. */
  readonly attachments?: readonly NewAttachment[]
  readonly models: readonly string[]
}

/** Stores the question with an answer of each model, and starts the work on these. What is refused stores nothing. */
async function start(
  { request, services, caller }: EndpointContext,
  answerRequest: AnswerRequest,
): Promise<ConversationMessage[]> {
  const { conversation, messages, question, attachments } = answerRequest
  for (const model of answerRequest.models) checkModel(services, caller, model)
  const given = new Map(attachments?.map(one => [one.id, one.content]))
  const hold = (size: number) => request.body.hold(size)
  const prompt = await promptOf(services, { conversation, messages, question, given, hold })
  const answers = newAnswers(services, question, answerRequest.models)
  const reservations: ReturnType<typeof reserveAnswer>[] = []
  try {
    for (const answer of answers) reservations.push(reserveAnswer(services, answer))
    const isThere = await services.conversations.add(conversation, {
      messages: [...(attachments ? [question] : []), ...answers],
      ...(attachments && { title: titleOf(question), attachments }),
      currentMessageId: answers[0]!.id,
      updatedAtMs: answers[0]!.createdAtMs,
    })
    if (!isThere) throw absent('conversation', 'conversation_id')
  } catch (error) {
    for (const reservation of reservations) reservation.release()
    throw error
  }
  const origin = originOf(request)
  for (const [at, message] of answers.entries()) {
    const body = { model: message.content.model, ...prompt }
    reservations[at]!.start({ services, caller, origin, body, message, release: request.body.keep() })
  }
  return answers
}

function newAnswers(
  { clock }: Services,
  { conversationId, keyId, id: parentId }: ConversationMessage,
  modelNames: readonly string[],
): ConversationMessage[] {
  const nowMs = clock.epochMs()
  const group = newId('group')
  const facts = { conversationId, keyId, parentId, role: 'assistant', status: 'running' } as const
  return modelNames.map(model => ({
    ...facts,
    id: newId('msg'),
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
    content: { text: '', model, group },
  }))
}

function titleOf({ content: { text, attachments = [] } }: ConversationMessage): string {
  const line = text.trim() === '' ? (attachments[0]?.name ?? '') : text.trim().split('\n')[0]!
  return line.slice(0, titleLengthMax)
}

const attachmentsGiven = lazy(() =>
  z
    .array(
      z.union([
        z.strictObject({
          name: z.string().min(1).max(255),
          data: z.string().describe('The bytes of the file are in base64.'),
        }),
        z.strictObject({
          id: z.string().max(64).describe('It is a file of an earlier question of this conversation.'),
        }),
      ]),
    )
    .max(10)
    .default([])
    .describe('They are pictures, PDF, sound or text: 20 MiB each, texts 1 MiB.'),
)

const answersBody = lazy(() =>
  z.strictObject({
    parent_id: z.string().max(64).nullable().default(null).describe('The answer before; null = it begins anew.'),
    text: z.string().max(1_000_000).default('').describe('May be empty where there are attachments.'),
    attachments: attachmentsGiven(),
    models: models(),
  }),
)

/** The files as they are stored and named: those that are sent now, and those of earlier questions. */
function readAttachments(
  given: z.infer<ReturnType<typeof attachmentsGiven>>,
  stored: readonly ConversationMessage[],
): { named: Attachment[]; added: NewAttachment[] } {
  const known = new Map(stored.flatMap(({ content }) => (content.attachments ?? []).map(one => [one.id, one])))
  const added: NewAttachment[] = []
  const named = given.map((one, at): Attachment => {
    if ('id' in one) {
      const earlier = known.get(one.id)
      if (!earlier) throw absent('attachment', `attachments.${at}.id`)
      return earlier
    }
    const content = Buffer.from(one.data, 'base64')
    if (Math.ceil(content.length / 3) * 4 !== one.data.length)
      throw unprocessable([
        { loc: ['body', 'attachments', at, 'data'], msg: 'is not base64 with its padding', type: 'invalid' },
      ])
    const mediaType = attachmentType({ name: one.name, bytes: content }, at)
    const id = newId('att')
    added.push({ id, mediaType, content })
    return { id, name: one.name, media_type: mediaType, bytes: content.length }
  })
  return { named, added }
}

/** All messages, their bytes counted as memory of the request. */
const storedMessages = ({ services, request }: EndpointContext, conversation: Conversation) =>
  services.conversations.messages(conversation, size => request.body.hold(size))

const ask: Endpoint = jsonEndpoint(conversationAnswersSchema, {
  method: 'POST',
  paths: [`${conversationPath}/messages`],
  auth: 'key',
  doc: {
    tag,
    operationId: 'createConversationMessage',
    summary: 'Ask: the answers are made in the background, and can be followed as they come',
    request: answersBody,
    failures: [403, 409],
  },
  async handle(request, services, caller) {
    const given = await readJsonAs(request, answersBody(), services.current.settings.bodyBytesMax)
    const { parent_id: parentId, text } = given
    if (text === '' && given.attachments.length === 0)
      throw unprocessable([
        { loc: ['body', 'text'], msg: 'is empty; write something, or attach a file', type: 'missing' },
      ])
    const all = { request, services, caller: caller! }
    const conversation = await foundConversation(all)
    const messages = await storedMessages(all, conversation)
    if (parentId !== null && !messages.some(one => one.id === parentId)) throw absent('message', 'parent_id')
    const { named, added } = readAttachments(given.attachments, messages)
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
      content: { text, ...(named.length > 0 && { attachments: named }) },
    }
    const answers = await start(all, { conversation, messages, question, attachments: added, models: given.models })
    return { message: shownMessage(question), answers: answers.map(shownMessage) }
  },
})

async function messageOf(context: EndpointContext): Promise<ConversationMessage> {
  const { request, services } = context
  const conversation = await foundConversation(context)
  const message = await services.conversations.message(conversation, request.params.message_id!)
  if (!message) throw absent('message', 'message_id')
  return currentMessage(services, message)
}

const answerAgain = withBody(
  lazy(() => z.strictObject({ models: models() })),
  {
    paths: [`${conversationPath}/messages/{message_id}/answers`],
    auth: 'key',
    tag,
    answer: conversationAnswersSchema,
    operationId: 'createConversationAnswers',
    summary: 'Answer a question again, by the same model or another',
    failures: [403, 409],
    async handle({ models }, context) {
      const conversation = await foundConversation(context)
      const messages = await storedMessages(context, conversation)
      const question = messages.find(one => one.id === context.request.params.message_id)
      if (!question) throw absent('message', 'message_id')
      if (question.role === 'assistant')
        throw new GatewayError('invalid-request', 'this is an answer; name the question before it', {
          param: 'message_id',
        })
      const answers = await start(context, { conversation, messages, question, models })
      return { message: shownMessage(question), answers: answers.map(shownMessage) }
    },
  },
)

const stop = withQuery(nothing, {
  method: 'POST',
  paths: [`${conversationPath}/messages/{message_id}/stop`],
  auth: 'key',
  tag,
  answer: conversationMessageSchema,
  operationId: 'stopConversationAnswer',
  summary: 'Stop an answer; what has come of it is kept',
  async handle(_, context) {
    const { services, request, caller } = context
    const message = await messageOf(context)
    if (await services.conversations.stopAnswer(conversationReference(request, caller), message.id))
      services.detached.cancel(message.id)
    return shownMessage(message)
  },
})

/** Follows an answer that another replica works on. */
async function followStored(
  { services, request, caller }: EndpointContext,
  from: ConversationMessage,
  events: EventStream,
): Promise<void> {
  const reference = conversationReference(request, caller)
  let before = from
  while (isRunning(before) && !request.left) {
    await Bun.sleep(lookMs)
    const read = await services.conversations.message(reference, before.id)
    if (!read) break
    const now = await currentMessage(services, read)
    const grew = JSON.stringify(now.content) !== JSON.stringify(before.content)
    if (grew || now.status !== before.status) events.emit('message', shownMessage(now))
    before = now
  }
}

const follow: Endpoint = {
  method: 'GET',
  paths: [`${conversationPath}/messages/{message_id}/events`],
  auth: 'key',
  doc: {
    tag,
    operationId: 'followConversationAnswer',
    summary: 'An answer as it comes: the message so far, its further pieces, and the message at its end',
    success: { 'text/event-stream': conversationEventSchema },
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
      void followStored({ services, request, caller: caller! }, message, events)
        .catch(error => events.fail(toGatewayError(error)))
        .finally(() => events.end())
    return events.answer(request.id)
  },
}

/** What a file may do where a browser opens it: nothing. */
const fileHeaders = {
  'content-security-policy': "default-src 'none'; sandbox",
  'x-content-type-options': 'nosniff',
  // Nothing of it stays in a browser that others use, too.
  'cache-control': 'no-store',
}

const getAttachment: Endpoint = {
  method: 'GET',
  paths: [`${conversationPath}/attachments/{attachment_id}`],
  auth: 'key',
  doc: {
    tag,
    operationId: 'getConversationAttachment',
    summary: 'A file that was sent with a question',
    success: Object.fromEntries(attachmentTypes.map(type => [type, bytes])),
  },
  async handle(request, services, caller): Promise<Answer> {
    const reference = conversationReference(request, caller!)
    await foundConversation({ request, services, caller: caller! })
    const found = await services.conversations.attachment(reference, request.params.attachment_id!, size =>
      request.body.hold(size),
    )
    if (!found) throw absent('attachment', 'attachment_id')
    const headers = { ...fileHeaders, 'content-type': found.mediaType }
    return { status: 200, headers, body: found.content }
  },
}

/** Questions, answers and files. */
export const answerEndpoints: readonly Endpoint[] = [ask, answerAgain, follow, stop, getAttachment]
