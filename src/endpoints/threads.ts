/** Threads, messages and runs: gateway API specification, and OpenAI's API reference, "Threads". Kept for each key by itself. */
import { z } from 'zod'
import { jsonAnswer } from '../core/answer.ts'
import type { Endpoint, EndpointDoc } from '../core/endpoint.ts'
import {
  changeBody, deleteObject, findObject, listObjects, pageParameters, pathsOf, readJson, schemaOf,
} from './assistants/common.ts'
import { metadataField, toolResourcesField } from './assistants/fields.ts'
import { messageBody, newMessage } from './threads/message-object.ts'
import { threadFields, workId } from './threads/run-object.ts'
import { runEndpoints } from './threads/runs.ts'
import { appendToThread, newThread } from './threads/thread-object.ts'

const createBody = z.strictObject(threadFields)
const modifyThreadBody = z.strictObject({ metadata: metadataField, tool_resources: toolResourcesField })
const modifyMessageBody = z.strictObject({ metadata: metadataField })

const doc = (summary: string, more: Partial<EndpointDoc> = {}): EndpointDoc => ({ summary, tag: 'Threads', response: { type: 'object' }, ...more })

const create: Endpoint = {
  method: 'POST',
  paths: pathsOf('/threads'),
  auth: 'key',
  doc: doc('Create a thread', { request: schemaOf(createBody) }),
  async handle(request, services, caller) {
    const body = await readJson(request, services, createBody)
    const thread = newThread(services, caller!, body.metadata)
    const messages = (body.messages ?? []).map(message => newMessage(services, thread, message))
    await services.assistants.insert([thread, ...messages])
    return jsonAnswer(thread.body)
  },
}

const retrieve: Endpoint = {
  method: 'GET',
  paths: pathsOf('/threads/{thread_id}'),
  auth: 'key',
  doc: doc('A thread'),
  async handle({ params }, services, caller) {
    return jsonAnswer((await findObject(services, caller!, { kind: 'thread', id: params.thread_id! })).body)
  },
}

const modify: Endpoint = {
  method: 'POST',
  paths: pathsOf('/threads/{thread_id}'),
  auth: 'key',
  doc: doc('Change the metadata of a thread', { request: schemaOf(modifyThreadBody) }),
  async handle(request, services, caller) {
    const thread = await findObject(services, caller!, { kind: 'thread', id: request.params.thread_id! })
    const { metadata } = await readJson(request, services, modifyThreadBody)
    return changeBody(services, thread, { metadata: metadata === null ? {} : metadata })
  },
}

const remove: Endpoint = {
  method: 'DELETE',
  paths: pathsOf('/threads/{thread_id}'),
  auth: 'key',
  doc: doc('Delete a thread with its messages and runs'),
  async handle({ params }, services, caller) {
    const thread = await findObject(services, caller!, { kind: 'thread', id: params.thread_id! })
    // Only the last run can be at work.
    const runs = await services.assistants.list({ kind: 'run', keyId: null, parentId: thread.id, limit: 1, order: 'desc' })
    const answer = await deleteObject(services, thread, 'thread')
    for (const run of runs?.objects ?? []) services.detached.cancel(workId(run))
    return answer
  },
}

const messagePaths = (rest: string) => pathsOf(`/threads/{thread_id}/messages${rest}`)

const addMessage: Endpoint = {
  method: 'POST',
  paths: messagePaths(''),
  auth: 'key',
  doc: doc('Add a message to a thread', { request: schemaOf(messageBody) }),
  async handle(request, services, caller) {
    const thread = await findObject(services, caller!, { kind: 'thread', id: request.params.thread_id! })
    const message = newMessage(services, thread, await readJson(request, services, messageBody))
    await appendToThread(services, thread, [message], run => `Can't add messages to ${thread.id} while a run ${run} is active.`)
    return jsonAnswer(message.body)
  },
}

const listMessages: Endpoint = {
  method: 'GET',
  paths: messagePaths(''),
  auth: 'key',
  doc: doc('The messages of a thread', {
    query: { ...pageParameters, run_id: { schema: { type: 'string' }, description: 'Only the messages of this run.' } },
  }),
  async handle(request, services, caller) {
    const thread = await findObject(services, caller!, { kind: 'thread', id: request.params.thread_id! })
    return listObjects(request, services, { kind: 'message', keyId: null, parentId: thread.id })
  },
}

const oneMessage = messagePaths('/{message_id}')
const messageOf = (params: Readonly<Record<string, string>>) =>
  ({ kind: 'message', id: params.message_id!, parentId: params.thread_id! }) as const

const retrieveMessage: Endpoint = {
  method: 'GET',
  paths: oneMessage,
  auth: 'key',
  doc: doc('A message of a thread'),
  async handle({ params }, services, caller) {
    return jsonAnswer((await findObject(services, caller!, messageOf(params))).body)
  },
}

const modifyMessage: Endpoint = {
  method: 'POST',
  paths: oneMessage,
  auth: 'key',
  doc: doc('Change the metadata of a message', { request: schemaOf(modifyMessageBody) }),
  async handle(request, services, caller) {
    const message = await findObject(services, caller!, messageOf(request.params))
    const { metadata } = await readJson(request, services, modifyMessageBody)
    return changeBody(services, message, { metadata: metadata === null ? {} : metadata })
  },
}

const removeMessage: Endpoint = {
  method: 'DELETE',
  paths: oneMessage,
  auth: 'key',
  doc: doc('Delete a message of a thread'),
  async handle({ params }, services, caller) {
    return deleteObject(services, await findObject(services, caller!, messageOf(params)), 'thread.message')
  },
}

export const threadEndpoints: readonly Endpoint[] = [
  create, retrieve, modify, remove, addMessage, listMessages, retrieveMessage, modifyMessage, removeMessage, ...runEndpoints,
]
