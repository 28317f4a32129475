/**
 * Threads, messages and runs (OpenAI API reference, "Threads"). Stored per key.
 */
import { z } from 'zod'
import { jsonAnswer } from '../../core/answer.ts'
import { ownerOf } from '../../core/caller.ts'
import type { Endpoint } from '../../core/endpoint.ts'
import { findObject } from '../../assistants/objects.ts'
import { deleteObject, listObjects, pageParameters, readAssistantJson } from './common/object-requests.ts'
import { metadataField, toolResourcesField } from '../../assistants/fields.ts'
import {
  deleteEndpoint,
  deleted,
  docUnder,
  findThread,
  kept,
  metadata,
  metadataEndpoint,
  retrieveEndpoint,
} from './common/object-endpoints.ts'
import type { ObjectPath } from './common/object-endpoints.ts'
import { pathsOf } from './common/paths.ts'
import { messageBody, newMessage } from '../../assistants/message-object.ts'
import { threadFields, workId } from '../../assistants/run-object.ts'
import { appendToThread, newThread } from '../../assistants/thread-object.ts'
import { lazy } from '../../lib/lazy.ts'
import {
  anyObject,
  constant,
  either,
  listOf,
  named,
  nullable,
  oneOf,
  pageOf,
  shape,
  text,
  unixSeconds,
} from '../openapi/schema.ts'

const textPart = shape({ type: constant('text'), text: shape({ value: text, annotations: listOf(anyObject) }) })
const imagePart = shape({ type: constant('image_url'), image_url: shape({ url: text }, { detail: text }) })
const refusalPart = shape({ type: constant('refusal'), refusal: text })

const deletedThreadSchema = named('DeletedThread', () => deleted('thread'))

/** A message of a thread. */
export const threadMessageSchema = named('ThreadMessage', () =>
  shape({
    ...kept('thread.message'),
    thread_id: text,
    status: oneOf('in_progress', 'incomplete', 'completed'),
    incomplete_details: nullable(
      shape({ reason: oneOf('content_filter', 'max_tokens', 'run_cancelled', 'run_expired', 'run_failed') }),
    ),
    completed_at: nullable(unixSeconds),
    incomplete_at: nullable(unixSeconds),
    role: oneOf('user', 'assistant'),
    content: listOf(either(textPart, imagePart, refusalPart)),
    assistant_id: nullable(text),
    run_id: nullable(text),
    attachments: listOf(anyObject),
    metadata,
  }),
)

/** A thread. */
export const threadSchema = named('Thread', () =>
  shape({ ...kept('thread'), metadata, tool_resources: nullable(anyObject) }),
)

const threadListSchema = named('ThreadList', () => pageOf(threadSchema))
const threadMessageListSchema = named('ThreadMessageList', () => pageOf(threadMessageSchema))
const deletedThreadMessageSchema = named('DeletedThreadMessage', () => deleted('thread.message'))

const createBody = lazy(() => z.strictObject(threadFields()))
const modifyThreadBody = lazy(() => z.strictObject({ metadata: metadataField(), tool_resources: toolResourcesField() }))

const doc = docUnder('Threads')

const create: Endpoint = {
  method: 'POST',
  paths: pathsOf('/threads'),
  auth: 'key',
  takesRequest: true,
  doc: doc(
    { operationId: 'createThread', summary: 'Create a thread', answer: threadSchema },
    { request: createBody, requestOptional: true },
  ),
  async handle(request, services, caller) {
    const body = await readAssistantJson(request, services, createBody())
    const thread = newThread(services, caller!, body.metadata)
    const messages = (body.messages ?? []).map(message => newMessage(services, thread, message))
    await services.assistants.insert([thread, ...messages])
    return jsonAnswer(thread.body)
  },
}

/** OpenAI has no such list; without it a thread whose id was lost could not be deleted. */
const list: Endpoint = {
  method: 'GET',
  paths: pathsOf('/threads'),
  auth: 'key',
  doc: doc(
    {
      operationId: 'listThreads',
      summary: 'The threads of this key; with the master key, all',
      answer: threadListSchema,
    },
    { query: pageParameters },
  ),
  handle: (request, services, caller) => listObjects(request, services, { kind: 'thread', keyId: ownerOf(caller!) }),
}

const oneThread: ObjectPath = { paths: pathsOf('/threads/{thread_id}'), tag: 'Threads', find: findThread }

const remove: Endpoint = {
  method: 'DELETE',
  paths: oneThread.paths,
  auth: 'key',
  doc: doc({
    operationId: 'deleteThread',
    summary: 'Delete a thread with its messages and runs',
    answer: deletedThreadSchema,
  }),
  async handle(request, services, caller) {
    const thread = await findThread(request, services, caller!)
    // Only the last run can be active.
    const runs = await services.assistants.list({
      kind: 'run',
      keyId: null,
      parentId: thread.id,
      limit: 1,
      order: 'desc',
    })
    const answer = await deleteObject(services, thread)
    for (const run of runs?.objects ?? []) services.detached.cancel(workId(run))
    return answer
  },
}

const messagePaths = (rest: string) => pathsOf(`/threads/{thread_id}/messages${rest}`)

const addMessage: Endpoint = {
  method: 'POST',
  paths: messagePaths(''),
  auth: 'key',
  takesRequest: true,
  doc: doc(
    { operationId: 'createThreadMessage', summary: 'Add a message to a thread', answer: threadMessageSchema },
    { request: messageBody },
  ),
  async handle(request, services, caller) {
    const thread = await findThread(request, services, caller!)
    const message = newMessage(services, thread, await readAssistantJson(request, services, messageBody()))
    await appendToThread(
      services,
      thread,
      [message],
      run => `Can't add messages to ${thread.id} while a run ${run} is active.`,
    )
    return jsonAnswer(message.body)
  },
}

const listMessages: Endpoint = {
  method: 'GET',
  paths: messagePaths(''),
  auth: 'key',
  doc: doc(
    { operationId: 'listThreadMessages', summary: 'The messages of a thread', answer: threadMessageListSchema },
    {
      query: {
        ...pageParameters,
        run_id: { schema: { type: 'string' }, description: 'Only the messages of this run are listed.' },
      },
    },
  ),
  async handle(request, services, caller) {
    const thread = await findThread(request, services, caller!)
    return listObjects(request, services, { kind: 'message', keyId: null, parentId: thread.id })
  },
}

const oneMessage: ObjectPath = {
  paths: messagePaths('/{message_id}'),
  tag: 'Threads',
  find: ({ params }, services, caller) =>
    findObject(services, caller, { kind: 'message', id: params.message_id!, parentId: params.thread_id! }),
}

/**
 * A key sees its own objects, the master key all; 404 for another's and for objects of another thread. 400 for a
 * thread on which a run is active, 422 for bodies.
 */
export const threadEndpoints: readonly Endpoint[] = [
  create,
  list,
  retrieveEndpoint(oneThread, { operationId: 'getThread', summary: 'A thread', answer: threadSchema }),
  metadataEndpoint(
    oneThread,
    { operationId: 'updateThread', summary: 'Change the metadata of a thread', answer: threadSchema },
    modifyThreadBody,
  ),
  remove,
  addMessage,
  listMessages,
  retrieveEndpoint(oneMessage, {
    operationId: 'getThreadMessage',
    summary: 'A message of a thread',
    answer: threadMessageSchema,
  }),
  metadataEndpoint(oneMessage, {
    operationId: 'updateThreadMessage',
    summary: 'Change the metadata of a message',
    answer: threadMessageSchema,
  }),
  deleteEndpoint(oneMessage, {
    operationId: 'deleteThreadMessage',
    summary: 'Delete a message of a thread',
    answer: deletedThreadMessageSchema,
  }),
]
