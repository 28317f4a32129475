/** Batches: OpenAI's API reference, "Batch". A batch runs where its input file is. */
import { z } from 'zod'
import { metadataField } from '../../assistants/fields.ts'
import { jsonAnswer } from '../../core/answer.ts'
import type { Answer } from '../../core/answer.ts'
import type { Call, StartedBatch } from '../../core/call.ts'
import { ownerOf } from '../../core/caller.ts'
import type { Endpoint, EndpointContext, EndpointDoc } from '../../core/endpoint.ts'
import { GatewayError, unprocessable } from '../../core/errors.ts'
import type { FileRecord } from '../../core/objects/file-records.ts'
import { askForBatch, refreshedBatch } from '../../files/batch-state.ts'
import { aboutObject, deploymentOf, findRecord, isIntent, notFound, upstreamPath } from '../../files/objects.ts'
import { findInputFile, listedBatch, startBatch, startedBatch } from '../../files/start-batch.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { checkJson, readQuery } from '../common/checked-input.ts'
import {
  anyObject,
  constant,
  integer,
  json,
  listOf,
  named,
  nullable,
  oneOf,
  pageOf,
  shape,
  text,
  unixSeconds,
} from '../openapi/schema.ts'
import { pathsOf } from './common/paths.ts'
import { lazy } from '../../lib/lazy.ts'

const batchSchema = named('Batch', () =>
  shape(
    {
      id: text,
      object: constant('batch'),
      status: oneOf(
        'validating',
        'failed',
        'in_progress',
        'finalizing',
        'completed',
        'expired',
        'cancelling',
        'cancelled',
      ),
      input_file_id: text,
    },
    {
      endpoint: text,
      model: nullable(text),
      completion_window: text,
      output_file_id: nullable(text),
      error_file_id: nullable(text),
      errors: nullable(shape({}, { object: text, data: listOf(anyObject) })),
      created_at: unixSeconds,
      in_progress_at: nullable(unixSeconds),
      expires_at: nullable(unixSeconds),
      finalizing_at: nullable(unixSeconds),
      completed_at: nullable(unixSeconds),
      failed_at: nullable(unixSeconds),
      expired_at: nullable(unixSeconds),
      cancelling_at: nullable(unixSeconds),
      cancelled_at: nullable(unixSeconds),
      request_counts: nullable(shape({ total: integer, completed: integer, failed: integer })),
      usage: nullable(anyObject),
      metadata: nullable(anyObject),
    },
  ),
)

const deletedBatchSchema = named('DeletedBatch', () =>
  shape({ id: text, object: constant('batch'), deleted: constant(true) }),
)

const batchListSchema = named('BatchList', () => pageOf(batchSchema, nullable(text)))

const doc = (more: Omit<EndpointDoc, 'tag'>): EndpointDoc => ({
  tag: 'Batches',
  failures: [400, 403, 404, 408, 409, 502],
  callsObjects: true,
  ...more,
})

/** Other fields are refused: some upstreams have fields that replace the model of the lines, or the file itself. */
const createBody = lazy(() =>
  z.strictObject({
    input_file_id: z.string().min(1).max(100),
    endpoint: z.string().min(1).max(100),
    completion_window: z.string().max(20).default('24h'),
    metadata: metadataField(),
    output_expires_after: z.record(z.string(), z.unknown()).nullish(),
    custom_llm_provider: z.string().nullish(),
  }),
)

const create: Endpoint = {
  method: 'POST',
  paths: pathsOf('/batches'),
  auth: 'key',
  doc: doc({
    operationId: 'createBatch',
    summary: 'Run the requests of a file that was sent with the purpose `batch`',
    success: json(batchSchema),
    request: createBody,
  }),
  handle(request, services, caller) {
    let input: FileRecord | undefined
    let started: StartedBatch
    return services.callObjects(request, caller!, {
      operation: 'files',
      route: '/v1/batches',
      body: 'json',
      async prepare(call) {
        const { custom_llm_provider: provider, input_file_id: id } = checkJson(call.body!, createBody())
        input = await findInputFile(services, call, id)
        const deployment = deploymentOf(services, input)
        if (provider && provider !== deployment.target.provider.name)
          throw new GatewayError(
            'invalid-request',
            'a batch runs where its input file is; leave `custom_llm_provider` out, or send the file there',
            { param: 'custom_llm_provider' },
          )
        await services.files.admit(input.keyId)
        started = await startedBatch(services, call, input)
      },
      startsBatch: () => started,
      async work(call) {
        const { custom_llm_provider: _, input_file_id: __, ...fields } = checkJson(call.body!, createBody())
        return jsonAnswer(await startBatch(services, call, input!, fields))
      },
    })
  },
}

/** The batch that the path names: looked up before its upstream is called. */
function aboutBatch(
  { request, services, caller }: EndpointContext,
  route: string,
  work: (record: FileRecord, call: Call) => Promise<Json>,
): Promise<Answer> {
  let record: FileRecord | undefined
  return services.callObjects(request, caller, {
    operation: 'files',
    route,
    body: 'none',
    async prepare() {
      record = await findRecord(services, caller, { kind: 'batch', id: request.params.batch_id!, param: 'batch_id' })
      deploymentOf(services, record)
    },
    work: async call => jsonAnswer(await work(record!, call)),
  })
}

const retrieve: Endpoint = {
  method: 'GET',
  paths: pathsOf('/batches/{batch_id}'),
  auth: 'key',
  doc: doc({
    operationId: 'getBatch',
    summary: 'A batch, as its upstream sees it now',
    success: json(batchSchema),
  }),
  handle: (request, services, caller) =>
    aboutBatch({ request, services, caller: caller! }, '/v1/batches/{batch_id}', (record, call) =>
      askForBatch(services, { request: call.client, of: call, record }),
    ),
}

const cancel: Endpoint = {
  method: 'POST',
  paths: pathsOf('/batches/{batch_id}/cancel'),
  auth: 'key',
  doc: doc({
    operationId: 'cancelBatch',
    summary: 'Cancel a batch that has not ended',
    success: json(batchSchema),
  }),
  handle: (request, services, caller) =>
    aboutBatch({ request, services, caller: caller! }, '/v1/batches/{batch_id}/cancel', async (record, call) => {
      if (isIntent(record))
        throw new GatewayError('conflict', `the batch '${record.id}' is being started; cancel it in a minute`)
      const deployment = deploymentOf(services, record)
      const path = upstreamPath(record, '/cancel')
      const answer = await aboutObject(record, 'batch_id', () =>
        services.fileCalls.json({ request: call.client, of: call, deployment, method: 'POST', path }),
      )
      return refreshedBatch(services, record, answer, { request: call.client })
    }),
}

/** Batches count towards the quota of their key: those that have ended can be forgotten. */
const remove: Endpoint = {
  method: 'DELETE',
  paths: pathsOf('/batches/{batch_id}'),
  auth: 'key',
  doc: doc({
    operationId: 'deleteBatch',
    summary: 'Forget a batch that has ended; its files stay, and its upstream is not asked',
    success: json(deletedBatchSchema),
  }),
  handle: (request, services, caller) =>
    services.callObjects(request, caller!, {
      operation: 'files',
      route: '/v1/batches/{batch_id}',
      body: 'none',
      async work() {
        const target = { kind: 'batch', id: request.params.batch_id!, param: 'batch_id' } as const
        const record = await findRecord(services, caller!, target)
        if (!record.recorded)
          throw new GatewayError(
            'conflict',
            `the batch '${record.id}' is not settled: it can be deleted once it has ended; cancel it to end it now`,
          )
        if (!(await services.files.delete(record.id))) throw notFound('batch', record.id, 'batch_id')
        return jsonAnswer({ id: record.id, object: 'batch', deleted: true })
      },
    }),
}

const listQuery = lazy(() =>
  z.object({ after: z.string().optional(), limit: z.coerce.number().int().min(1).max(100).default(20) }),
)

/** Requests to upstreams at once, for one list. */
const parallelRequestsMax = 8

const list: Endpoint = {
  method: 'GET',
  paths: pathsOf('/batches'),
  auth: 'key',
  doc: doc({
    operationId: 'listBatches',
    summary: 'The batches of this key; with the master key, all',
    query: {
      after: { schema: { type: 'string' }, description: 'It is the `last_id` of the page before.' },
      limit: {
        schema: { type: 'integer', default: 20, minimum: 1, maximum: 100 },
        description: 'How many batches a page has.',
      },
    },
    success: json(batchListSchema),
  }),
  handle: (request, services, caller) =>
    services.callObjects(request, caller!, {
      operation: 'files',
      route: '/v1/batches',
      body: 'none',
      async work(call) {
        const query = readQuery(request, listQuery())
        const found = await services.files.list({ kind: 'batch', keyId: ownerOf(caller!), order: 'desc', ...query })
        if (!found)
          throw unprocessable([{ loc: ['query', 'after'], msg: 'no batch of this key has this id', type: 'invalid' }])
        request.body.hold(found.bytes)
        const data: Json[] = []
        for (let at = 0; at < found.records.length; at += parallelRequestsMax)
          data.push(
            ...(await Promise.all(
              found.records.slice(at, at + parallelRequestsMax).map(record => listedBatch(services, call, record)),
            )),
          )
        return jsonAnswer({
          object: 'list',
          data,
          first_id: data[0]?.id ?? null,
          last_id: data.at(-1)?.id ?? null,
          has_more: found.hasMore,
        })
      },
    }),
}

/**
 * 404 for a batch of another key, 409 when its upstream is no longer configured. Reading a batch, also in a list,
 * updates its stored state and settles it once it has ended; the gateway also does so by itself
 * (`files/batch-watch.ts`). 409 for the deletion of one that is not settled.
 */
export const batchEndpoints: readonly Endpoint[] = [create, list, retrieve, cancel, remove]
