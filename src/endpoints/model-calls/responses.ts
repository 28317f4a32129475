/** OpenAI API reference, "Responses". Stored per key. */
import { z } from 'zod'
import { jsonAnswer, jsonTextAnswer } from '../../core/answer.ts'
import type { Answer } from '../../core/answer.ts'
import type { CallInAdmission } from '../../core/call.ts'
import { storingIdOf } from '../../core/caller.ts'
import type { Caller } from '../../core/caller.ts'
import type { Endpoint, EndpointDoc, Services } from '../../core/endpoint.ts'
import { lostProcess } from '../../core/objects/detached-runs.ts'
import { GatewayError, unprocessable } from '../../core/errors.ts'
import { bodySchema } from '../../core/dialects/fields.ts'
import { responseName } from '../../core/objects/responses.ts'
import type { StoredAnswer, StoredResponse } from '../../core/objects/responses.ts'
import { readJsonBody } from '../../core/request.ts'
import type { HttpRequest } from '../../core/request.ts'
import { responsesTable } from '../../formats/openai/responses/fields.ts'
import { openaiInputTokens, openaiResponses } from '../../formats/openai/responses/index.ts'
import { isTrigger } from '../../formats/openai/responses/compaction.ts'
import { itemsOf } from '../../formats/openai/responses/decode.ts'
import { canReplay, replayResponse } from '../../formats/openai/responses/replay.ts'
import type { JsonBody } from '../../lib/json/json-body.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { readQuery } from '../common/checked-input.ts'
import { abortBackground, failed, startBackground } from './responses/background.ts'
import { asStream, compactedAnswer, compactRoute, prepareCompaction, withItem } from './responses/compaction.ts'
import type { Compaction } from './responses/compaction.ts'
import { readConversation } from './responses/conversation.ts'
import { keepAnswer } from './responses/keep.ts'
import type { KeptCall } from './responses/keep.ts'
import { openResponsesSocket } from './responses/socket.ts'
import { runResponses } from './tool-loop/responses-answer.ts'
import { prepareResponsesRun } from './tool-loop/responses-turns.ts'
import type { ResponsesRun } from './tool-loop/responses-turns.ts'
import { lazy } from '../../lib/lazy.ts'
import { exactText, parseExact } from '../../lib/json/exact-json.ts'
import { schemaNames } from '../../core/dialects/exact-names.ts'

/** The last one is that of Azure's dated versions. */
const paths = (rest: string) =>
  ['/v1/responses', '/responses', '/openai/v1/responses', '/openai/responses'].map(base => base + rest)

const answers = () => import('./answers/responses.ts')
const requestSchema = () => bodySchema(responsesTable.fields)

const doc = (more: Omit<EndpointDoc, 'tag'>): EndpointDoc => ({ tag: 'Responses', ...more })

/**
 * "Create a model response". Stored under its id unless `store` is false; with `background` answered at once as queued.
 */
export const responsesCreate: Endpoint = {
  method: 'POST',
  paths: paths(''),
  auth: 'key',
  doc: doc({
    operationId: 'createResponse',
    summary: 'Create a response',
    request: requestSchema,
    success: async () => (await answers()).responseOrEvents,
    callsModel: true,
  }),
  upgrade: (request, services) => openResponsesSocket(request, services, responsesCreate),
  handle: (request, services, caller) => create(request, services, caller!),
}

function create(request: HttpRequest, services: Services, caller: Caller): Promise<Answer> {
  let kept: KeptCall | undefined
  let compaction: Compaction | undefined
  let run: ResponsesRun | undefined
  let sent: JsonBody
  const answer = services.callModel(request, caller, {
    format: openaiResponses,
    route: '/v1/responses',
    async prepare(call) {
      sent = call.body!
      kept = await readKept(call, request, services)
      compaction = await prepareCompaction(call, { request, services })
      run = await prepareResponsesRun(call, { request, services })
    },
    detach: (call, run) => (kept?.background ? startBackground({ services, call, body: sent, kept, run }) : undefined),
  })
  return answer.then(async made => {
    const whole = run ? await runResponses(made, run) : made
    const compacted = compaction ? withItem(whole, compaction) : whole
    const stored = kept && !kept.background ? await keepAnswer(compacted, kept, services) : compacted
    return compaction?.kind === 'asked' && compaction.stream ? asStream(stored) : stored
  })
}

/**
 * "Compact a response": by the upstream where it can, else by a summary. Nothing of it is stored. The answer has the
 * messages of the user and one item that stands for all else, for later requests of the same team, user or key.
 */
export const responsesCompact: Endpoint = {
  method: 'POST',
  paths: paths('/compact'),
  auth: 'key',
  doc: doc({
    operationId: 'compactResponse',
    summary: 'Compact a conversation',
    request: requestSchema,
    success: async () => (await answers()).compactedSuccess,
    callsModel: true,
  }),
  handle: async (request, services, caller) => {
    let items: Json[] = []
    let compaction: Compaction | undefined
    const answer = await services.callModel(request, caller!, {
      format: openaiResponses,
      route: compactRoute,
      stream: false,
      async prepare(call) {
        const { bytes } = await readConversation(call.body!, { caller: call.caller, request, services })
        items = conversationOf(readJsonBody(bytes))
        const json = exactText([...items, { type: 'compaction_trigger' }])
        call.body = readJsonBody(
          Buffer.concat(readJsonBody(bytes).edited([{ set: 'input', json }, { remove: 'context_management' }])),
        )
        compaction = await prepareCompaction(call, { request, services })
      },
    })
    return compactedAnswer(compaction ? withItem(answer, compaction) : answer, items)
  },
}

const conversationOf = (body: JsonBody): Json[] =>
  itemsOf(body.exact('input', schemaNames) ?? body.get('input')).filter(item => !isTrigger(item))

/** Replaces the call's body by one that contains everything it refers to; returns what is to be stored. */
async function readKept(call: CallInAdmission, request: HttpRequest, services: Services): Promise<KeptCall> {
  const body = call.body!
  const background = body.get('background') === true
  if (background) checkBackground(body.get('stream'), body.get('store'))
  const keyId = storingIdOf(call.caller)
  // Where it was not requested, an answer that is not stored says so (`store: false`).
  if (background || body.get('store') === true) await services.responses.admit(keyId)
  const { input, previousId, bytes } = await readConversation(body, { caller: call.caller, request, services })
  if (bytes !== body.bytes) call.body = readJsonBody(bytes)
  return { keyId, input, previousId, store: body.get('store') !== false, background }
}

function checkBackground(stream: unknown, store: unknown): void {
  if (store === false)
    throw refused('store', 'a response in the background can only be fetched when it is stored; leave `store` out')
  if (stream === true)
    throw refused(
      'stream',
      'a response in the background is not streamed here; leave `stream` out, poll GET /v1/responses/{id}, and add ' +
        '?stream=true once it has ended',
    )
}

function refused(param: string, message: string): GatewayError {
  return new GatewayError('invalid-request', message, { param })
}

/**
 * "Get input token counts", with the earlier responses and items that it refers to. An estimate where no upstream
 * counts.
 */
export const responsesInputTokens: Endpoint = {
  method: 'POST',
  paths: paths('/input_tokens'),
  auth: 'key',
  doc: doc({
    operationId: 'countResponseInputTokens',
    summary: 'Count the input tokens of a response, by the counter of its provider',
    request: requestSchema,
    success: async () => (await answers()).inputTokensSuccess,
    callsModel: true,
    headers: ['x-token-count-source'],
  }),
  handle: (request, services, caller) =>
    services.callModel(request, caller!, {
      format: openaiInputTokens,
      route: '/v1/responses/input_tokens',
      async prepare(call) {
        const { bytes } = await readConversation(call.body!, { caller: call.caller, request, services })
        if (bytes !== call.body!.bytes) call.body = readJsonBody(bytes)
      },
    }),
}

/** To be shown. Throws 404 also for a response of another key. */
async function findAnswer(request: HttpRequest, services: Services, caller: Caller): Promise<StoredAnswer> {
  const id = request.params.id!
  const found = await services.responses.answer(storingIdOf(caller), id, bytes => request.body.hold(bytes))
  if (!found) throw notFound(id)
  if (!(await isAbandoned({ ...found, keyId: storingIdOf(caller), id }, services))) return found
  const ended = await find(request, services, caller)
  return { ...ended, json: exactText(ended.response) }
}

type RunningResponse = Pick<StoredResponse, 'keyId' | 'id' | 'status' | 'updatedAtMs'>

async function isAbandoned(record: RunningResponse, { responseWatch }: Services): Promise<boolean> {
  const { status, updatedAtMs } = record
  const runs = status === 'queued' || status === 'in_progress'
  return runs && responseWatch.isAbandoned({ id: responseName(record), updatedAtMs })
}

/** The whole record. Throws 404 also for a response of another key. */
async function find(request: HttpRequest, services: Services, caller: Caller): Promise<StoredResponse> {
  const id = request.params.id!
  const record = await services.responses.find(storingIdOf(caller), id, bytes => request.body.hold(bytes))
  if (!record) throw notFound(id)
  if (!(await isAbandoned(record, services))) return record
  const response = failed(record, `the gateway process that worked on this response ${lostProcess}`)
  const ended = { ...record, status: 'failed', response, updatedAtMs: services.clock.epochMs() }
  return (await services.responses.finish(ended, record.updatedAtMs))
    ? ended
    : ((await services.responses.find(storingIdOf(caller), id)) ?? ended)
}

function notFound(id: string): GatewayError {
  return new GatewayError('not-found', `Response with id '${id}' not found.`, { param: 'response_id' })
}

const retrieveQuery = lazy(() =>
  z.object({
    stream: z.enum(['true', 'false']).optional(),
    starting_after: z.coerce.number().int().min(0).default(-1),
  }),
)

/**
 * "Get a model response". 404 for a response of another key; 400 for a stream of one that has not ended, which can
 * be polled.
 */
export const responsesRetrieve: Endpoint = {
  method: 'GET',
  paths: paths('/{id}'),
  auth: 'key',
  doc: doc({
    operationId: 'getResponse',
    summary: 'A stored response',
    success: async () => (await answers()).responseOrEvents,
    failures: [400],
    query: {
      stream: {
        schema: { enum: ['true', 'false'], default: 'false' },
        description: 'The response as server-sent events, once it has ended.',
      },
      starting_after: {
        schema: { type: 'integer', minimum: 0 },
        description:
          'With `stream`, of a response made in the background: only the events after the one of this number.',
      },
    },
  }),
  async handle(request, services, caller) {
    const { stream, starting_after: after } = readQuery(request, retrieveQuery())
    const { json: text, background } = await findAnswer(request, services, caller!)
    if (stream !== 'true') return jsonTextAnswer(text)
    const response = parseExact(text, schemaNames) as Record<string, unknown>
    if (!canReplay(response)) {
      const status = String(response.status)
      throw refused(
        'stream',
        `a response that is ${status} is not streamed here; leave \`stream\` out and poll GET /v1/responses/{id}`,
      )
    }
    // The original stream had other sequence numbers: events are not stored.
    if (after >= 0 && !background)
      throw refused(
        'starting_after',
        'only a response created with `background: true` can be streamed from a certain event; leave ' +
          '`starting_after` out',
      )
    const headers = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' }
    return { status: 200, headers, body: replayResponse(response, after) }
  },
}

/**
 * "Delete a model response". One that runs in the background is ended. 404 for one of another key or that was deleted.
 */
export const responsesDelete: Endpoint = {
  method: 'DELETE',
  paths: paths('/{id}'),
  auth: 'key',
  doc: doc({
    operationId: 'deleteResponse',
    summary: 'Delete a stored response',
    success: async () => (await answers()).deletedSuccess,
  }),
  async handle(request, services, caller) {
    const id = request.params.id!
    const keyId = storingIdOf(caller!)
    await findAnswer(request, services, caller!)
    if (!(await services.responses.delete(keyId, id))) throw notFound(id)
    abortBackground({ keyId, id }, services)
    return jsonAnswer({ id, object: 'response', deleted: true })
  },
}

/** "Cancel a response". One that has ended is returned unchanged; 400 for one that did not run in the background. */
export const responsesCancel: Endpoint = {
  method: 'POST',
  paths: paths('/{id}/cancel'),
  auth: 'key',
  doc: doc({
    operationId: 'cancelResponse',
    summary: 'Cancel a response that runs in the background',
    success: async () => (await answers()).responseSuccess,
    failures: [400],
  }),
  async handle(request, services, caller) {
    const record = await find(request, services, caller!)
    if (!record.background)
      throw refused(
        'response_id',
        'only a response created with `background: true` can be cancelled; close the connection to end another',
      )
    const response = { ...record.response, status: 'cancelled' }
    const cancelled = { ...record, status: 'cancelled', response, updatedAtMs: services.clock.epochMs() }
    // It has ended meanwhile.
    if (!(await services.responses.finish(cancelled)))
      return jsonAnswer((await find(request, services, caller!)).response)
    abortBackground(record, services)
    return jsonAnswer(response)
  },
}

const itemsQuery = lazy(() =>
  z.object({
    limit: z.coerce.number().int().min(1).max(100).default(20),
    order: z.enum(['asc', 'desc']).default('desc'),
    after: z.string().optional(),
  }),
)

/** "List input items": those sent with this response, without the conversation that it continues. */
export const responsesInputItems: Endpoint = {
  method: 'GET',
  paths: paths('/{id}/input_items'),
  auth: 'key',
  doc: doc({
    operationId: 'listResponseInputItems',
    summary: 'The input items of a stored response',
    query: {
      limit: { schema: { type: 'integer', default: 20, maximum: 100 }, description: 'How many items a page has.' },
      order: {
        schema: { enum: ['asc', 'desc'], default: 'desc' },
        description: 'By the order in which they were sent.',
      },
      after: { schema: { type: 'string' }, description: 'It is the `last_id` of the page before.' },
    },
    success: async () => (await answers()).inputItemsSuccess,
  }),
  async handle(request, services, caller) {
    const { limit, order, after } = readQuery(request, itemsQuery())
    const id = request.params.id!
    const input = await services.responses.input(storingIdOf(caller!), id, bytes => request.body.hold(bytes))
    if (!input) throw notFound(id)
    const items = order === 'asc' ? [...input] : input.toReversed()
    const start = after === undefined ? 0 : items.findIndex(item => item.id === after) + 1
    if (after !== undefined && start === 0)
      throw unprocessable([{ loc: ['query', 'after'], msg: 'no input item has this id', type: 'invalid' }])
    const data = items.slice(start, start + limit)
    return jsonAnswer({
      object: 'list',
      data,
      has_more: start + limit < items.length,
      first_id: data[0]?.id ?? '',
      last_id: data.at(-1)?.id ?? '',
    })
  },
}
