/** Batches: OpenAI's API reference, "Batch". A batch runs where its input file is. */
import { z } from 'zod'
import { jsonAnswer } from '../core/answer.ts'
import type { Caller } from '../core/caller.ts'
import type { Deployment } from '../core/deployment.ts'
import type { Endpoint, EndpointDoc, Services } from '../core/endpoint.ts'
import type { HttpRequest } from '../core/request.ts'
import { GatewayError, unprocessable } from '../core/errors.ts'
import type { FileCall } from '../core/files.ts'
import type { FileRecord } from '../core/ports.ts'
import { readJsonAs, readQuery } from './checked-input.ts'
import {
  aboutObject,
  deploymentOf,
  findRecord,
  idIn,
  newId,
  optionalMs,
  publicBatch,
  upstreamPath,
} from './files/objects.ts'
import { hasEnded, recordBatch } from './files/settle.ts'
import { callable } from './files/upstreams.ts'
import { ownerOf, pathsOf } from './kept-objects.ts'
import type { Fields } from './kept-objects.ts'

const batchSchema = {
  type: 'object',
  properties: {
    id: { type: 'string' },
    object: { const: 'batch' },
    status: { type: 'string' },
    input_file_id: { type: 'string' },
    output_file_id: { type: ['string', 'null'] },
    error_file_id: { type: ['string', 'null'] },
  },
}
const doc = (summary: string, more: Partial<EndpointDoc> = {}): EndpointDoc => ({
  summary,
  tag: 'Batches',
  response: batchSchema,
  ...more,
})

/** Nothing else gets through: some upstreams have fields that replace the model of the lines, or the file itself. */
const createBody = z.strictObject({
  input_file_id: z.string().min(1).max(100),
  endpoint: z.string().min(1).max(100),
  completion_window: z.string().max(20).default('24h'),
  metadata: z.record(z.string(), z.unknown()).nullish(),
  output_expires_after: z.record(z.string(), z.unknown()).nullish(),
  custom_llm_provider: z.string().nullish(),
})

const create: Endpoint = {
  method: 'POST',
  paths: pathsOf('/batches'),
  auth: 'key',
  doc: doc('Run the requests of a file that was sent with the purpose `batch`', {
    request: z.toJSONSchema(createBody, { io: 'input' }),
  }),
  handle: (request, services, caller) =>
    services.fileCalls.limited(request, caller!, async () => {
      const { custom_llm_provider: provider, ...fields } = await readJsonAs(request, createBody)
      const input = await inputFile(services, caller!, fields.input_file_id)
      const deployment = deploymentOf(services, input)
      if (provider && provider !== deployment.target.provider.name)
        throw new GatewayError(
          'invalid-request',
          'a batch runs where its input file is; leave `custom_llm_provider` out, or send the file there',
          {
            param: 'custom_llm_provider',
          },
        )
      const answer = await aboutObject(input, 'input_file_id', () =>
        services.fileCalls.json({
          request,
          deployment,
          method: 'POST',
          path: '/batches',
          body: { json: { ...fields, input_file_id: input.upstreamId } },
          outlivesClient: true,
        }),
      )
      const record = await keep(services, request, { input, deployment, upstreamId: idIn(answer) })
      return jsonAnswer(await shown(services, request, record, answer))
    }),
}

interface Started {
  readonly input: FileRecord
  readonly deployment: Deployment
  readonly upstreamId: string
}

async function keep(
  services: Services,
  request: HttpRequest,
  { input, deployment, upstreamId }: Started,
): Promise<FileRecord> {
  const id = newId('batch')
  const record: FileRecord = {
    id,
    kind: 'batch',
    keyId: input.keyId,
    deploymentId: deployment.id,
    upstreamId,
    purpose: '',
    filename: '',
    bytes: 0,
    models: input.models,
    createdAtMs: services.epochMs(),
    body: { id, object: 'batch', status: 'validating', input_file_id: input.id },
    recorded: false,
  }
  try {
    return await services.files.put(record)
  } catch (error) {
    // Nobody could ever ask for it, and its cost would be in no ledger.
    const path = upstreamPath(record, '/cancel')
    await services.fileCalls
      .json({ request, deployment, method: 'POST', path, outlivesClient: true })
      .catch(() => undefined)
    throw error
  }
}

/** Its models are asked about again: what the key may call can have changed since the file was sent. */
async function inputFile(services: Services, caller: Caller, id: string): Promise<FileRecord> {
  const record = await findRecord(services, caller, { kind: 'file', id, param: 'input_file_id' })
  if (record.purpose !== 'batch')
    throw new GatewayError(
      'invalid-request',
      `the file '${record.id}' was sent with the purpose '${record.purpose}'; a batch needs one with the purpose 'batch'`,
      {
        param: 'input_file_id',
      },
    )
  for (const model of record.models) {
    const found = callable(services, caller, model)
    if (typeof found === 'string') throw new GatewayError('model-forbidden', found, { param: 'input_file_id' })
  }
  return record
}

/** What clients see of the upstream's answer: kept, and settled when it is the end. */
async function shown(services: Services, request: HttpRequest, record: FileRecord, answer: Fields): Promise<Fields> {
  const body = await publicBatch(services, request, record, answer)
  const ends = hasEnded(body) && !record.recorded
  if (ends) await recordBatch(services, record, deploymentOf(services, record), body)
  await services.files.update(record.id, ends ? { body, recorded: true } : { body })
  return body
}

async function ask(
  services: Services,
  request: HttpRequest,
  record: FileRecord,
  limits: Pick<FileCall, 'totalMs'> = {},
): Promise<Fields> {
  const deployment = deploymentOf(services, record)
  const answer = await aboutObject(record, 'batch_id', () =>
    services.fileCalls.json({ request, deployment, method: 'GET', path: upstreamPath(record), ...limits }),
  )
  return shown(services, request, record, answer)
}

const retrieve: Endpoint = {
  method: 'GET',
  paths: pathsOf('/batches/{batch_id}'),
  auth: 'key',
  doc: doc('A batch, as its upstream sees it now'),
  handle: (request, services, caller) =>
    services.fileCalls.limited(request, caller!, async () => {
      const record = await findRecord(services, caller!, {
        kind: 'batch',
        id: request.params.batch_id!,
        param: 'batch_id',
      })
      return jsonAnswer(await ask(services, request, record))
    }),
}

const cancel: Endpoint = {
  method: 'POST',
  paths: pathsOf('/batches/{batch_id}/cancel'),
  auth: 'key',
  doc: doc('Cancel a batch that has not ended'),
  handle: (request, services, caller) =>
    services.fileCalls.limited(request, caller!, async () => {
      const record = await findRecord(services, caller!, {
        kind: 'batch',
        id: request.params.batch_id!,
        param: 'batch_id',
      })
      const deployment = deploymentOf(services, record)
      const answer = await aboutObject(record, 'batch_id', () =>
        services.fileCalls.json({ request, deployment, method: 'POST', path: upstreamPath(record, '/cancel') }),
      )
      return jsonAnswer(await shown(services, request, record, answer))
    }),
}

const listQuery = z.object({ after: z.string().optional(), limit: z.coerce.number().int().min(1).max(100).default(20) })
/** Upstreams asked at once for one list. */
const askedAtOnceMax = 8

const list: Endpoint = {
  method: 'GET',
  paths: pathsOf('/batches'),
  auth: 'key',
  doc: doc('The batches of this key; with the master key, all', {
    query: {
      after: { schema: { type: 'string' }, description: '`last_id` of the page before.' },
      limit: { schema: { type: 'integer', default: 20, minimum: 1, maximum: 100 }, description: 'Batches a page.' },
    },
    response: { type: 'object' },
  }),
  handle: (request, services, caller) =>
    services.fileCalls.limited(request, caller!, async () => {
      const query = readQuery(request, listQuery)
      const found = await services.files.list({ kind: 'batch', keyId: ownerOf(caller!), order: 'desc', ...query })
      if (!found)
        throw unprocessable([{ loc: ['query', 'after'], msg: 'no batch of this key has this id', type: 'invalid' }])
      const data: Fields[] = []
      for (let at = 0; at < found.records.length; at += askedAtOnceMax)
        data.push(
          ...(await Promise.all(
            found.records.slice(at, at + askedAtOnceMax).map(record => current(services, request, record)),
          )),
        )
      return jsonAnswer({
        object: 'list',
        data,
        first_id: data[0]?.id ?? null,
        last_id: data.at(-1)?.id ?? null,
        has_more: found.hasMore,
      })
    }),
}

/** One batch of a list: asked for anew until it has ended. One upstream that fails or hangs must not hide the batches of others. */
async function current(services: Services, request: HttpRequest, record: FileRecord): Promise<Fields> {
  // A slower answer from before the end may have been kept after it.
  if (record.recorded && hasEnded(record.body)) return record.body
  try {
    return await ask(services, request, record, { totalMs: optionalMs })
  } catch (error) {
    if (error instanceof GatewayError && error.kind !== 'client-closed' && error.kind !== 'internal') return record.body
    throw error
  }
}

/**
 * 404 for a batch of another key, 409 when its upstream is no longer configured. Whoever looks at a batch, in a list too,
 * brings what is kept of it up to date, and writes its row of the ledger once it has ended.
 */
export const batchEndpoints: readonly Endpoint[] = [create, list, retrieve, cancel]
