/** Files: OpenAI's API reference, "Files". Each goes to one upstream and is known here under an id of ours. */
import { z } from 'zod'
import { jsonAnswer } from '../core/answer.ts'
import type { Answer } from '../core/answer.ts'
import type { Call } from '../core/call.ts'
import type { Caller } from '../core/caller.ts'
import type { Deployment } from '../core/deployment.ts'
import type { Endpoint, EndpointDoc, Services } from '../core/endpoint.ts'
import { GatewayError, unprocessable } from '../core/errors.ts'
import type { FileCall } from '../core/files.ts'
import { withLocalIds } from '../core/local-ids.ts'
import type { Outcome } from '../core/operation.ts'
import type { FileRecord } from '../core/ports.ts'
import type { Client, HttpRequest } from '../core/request.ts'
import type { Upload, UploadPart } from '../core/upload.ts'
import type { JsonBody } from '../lib/json/json-body.ts'
import { readQuery } from './checked-input.ts'
import { BatchLines } from './files/batch-lines.ts'
import {
  aboutObject,
  bytesIn,
  deploymentOf,
  findRecord,
  idIn,
  newId,
  notFound,
  publicFile,
  upstreamPath,
} from './files/objects.ts'
import { chooseUpstream } from './files/upstreams.ts'
import type { FileTarget } from './files/upstreams.ts'
import { ownerOf, pathsOf } from './kept-objects.ts'
import type { Fields } from './kept-objects.ts'
import { bytes, json } from './openapi/schema.ts'

/** Statuses of every call of an upstream about a file; 409 = its upstream is no longer configured. */
const failures = [400, 403, 404, 408, 409, 502]

const doc = (more: Omit<EndpointDoc, 'tag'>): EndpointDoc => ({
  tag: 'Files',
  failures,
  callsObjects: true,
  ...more,
})

const where = 'A model of the upstream that the file goes to; not needed when only one upstream takes files.'

/** Fields of ours, in the form or in the query; upstreams never see them. */
const routingFields = ['model', 'target_model_names', 'custom_llm_provider'] as const

const create: Endpoint = {
  method: 'POST',
  paths: pathsOf('/files'),
  auth: 'key',
  doc: doc({
    operationId: 'createFile',
    summary: 'Send a file to an upstream; the lines of a batch are checked and name models as everywhere',
    success: json('File'),
    requestType: 'multipart/form-data',
    request: {
      type: 'object',
      properties: {
        file: { type: 'string', format: 'binary' },
        purpose: { type: 'string', examples: ['batch'] },
        model: { type: 'string', description: where },
        target_model_names: {
          type: 'string',
          description: 'The same for several models, with commas between; all must be at one upstream.',
        },
        custom_llm_provider: { type: 'string', description: 'Narrows the choice to the upstreams of a provider.' },
      },
      required: ['file', 'purpose'],
    },
  }),
  handle(request, services, caller) {
    let upstream: Deployment | undefined
    return services.callObjects(request, caller!, {
      operation: 'files',
      route: '/v1/files',
      body: 'form',
      prepare(call) {
        fileOf(call.upload!)
        purposeOf(call.body!)
        upstream = chooseUpstream(call, targetOf(request, call.body!))
      },
      work: async call => jsonAnswer(await send(services, call, upstream!)),
    })
  },
}

async function send(services: Services, call: Call, deployment: Deployment): Promise<Fields> {
  const upload = call.upload!
  const file = fileOf(upload)
  const purpose = purposeOf(call.body!)
  const edits = routingFields.map(name => ({ remove: name }))
  const asked = { request: call.client, of: call, deployment, method: 'POST', path: '/files' } as const
  const post = (sent: Upload): Promise<Fields> =>
    services.fileCalls.json({ ...asked, body: { upload: sent, edits } }).catch(noFiles)
  const sent = { purpose, filename: file.filename!, deployment, keyId: call.caller.key.id }
  if (purpose !== 'batch') return keep(services, call.client, { ...sent, models: [], answer: await post(upload) })
  const lines = new BatchLines(services, call, deployment)
  const rewritten = await services.fileCalls.rewriteLines(upload, file, (line, number) => lines.rewrite(line, number))
  try {
    if (lines.count === 0)
      throw new GatewayError('invalid-request', 'the file has no requests; a batch needs at least one line of JSON', {
        param: 'file',
      })
    return await keep(services, call.client, { ...sent, models: lines.models, answer: await post(rewritten) })
  } finally {
    rewritten.close()
  }
}

function purposeOf(body: JsonBody): string {
  const purpose = body.get('purpose')
  if (typeof purpose === 'string' && /^[\w-]{1,64}$/.test(purpose)) return purpose
  throw unprocessable([
    { loc: ['body', 'purpose'], msg: 'is missing or not one word, such as "batch"', type: 'missing' },
  ])
}

/** The path itself is what an upstream does not find here: no model, and no file. */
function noFiles(error: unknown): never {
  if (!(error instanceof GatewayError) || error.kind !== 'model-not-found') throw error
  throw new GatewayError('upstream-refused', `the upstream takes no files: ${error.message}`, {
    status: error.status,
    cause: error,
  })
}

function fileOf({ parts }: Upload): UploadPart {
  const files = parts.filter(part => part.filename !== undefined)
  const [file] = files
  // Databases refuse some of these characters, and no file's name needs any.
  if (/[\0-\x1f\x7f]/.test(file?.filename ?? ''))
    throw unprocessable([
      { loc: ['body', 'file'], msg: 'has control characters in its filename; leave them out', type: 'invalid' },
    ])
  if (file?.name === 'file' && files.length === 1) return file
  const msg =
    files.length === 0 ? 'is missing; send the file as a part with a filename' : 'must be the only part with a filename'
  throw unprocessable([{ loc: ['body', 'file'], msg, type: files.length === 0 ? 'missing' : 'invalid' }])
}

/** The form wins over the query. */
function targetOf({ query }: HttpRequest, body: JsonBody): FileTarget {
  const said = (name: (typeof routingFields)[number]): string[] => {
    const values = body.has(name) ? [body.get(name)].flat() : query.getAll(name)
    if (values.some(value => typeof value !== 'string'))
      throw unprocessable([{ loc: ['body', name], msg: 'must be a text, not a file', type: 'wrong_type' }])
    return (values as string[]).map(value => value.trim()).filter(value => value !== '')
  }
  const providers = said('custom_llm_provider')
  if (providers.length > 1)
    throw unprocessable([{ loc: ['body', 'custom_llm_provider'], msg: 'is there twice; give one', type: 'invalid' }])
  const listed = said('target_model_names').flatMap(names => names.split(',').map(name => name.trim()))
  return { models: [...new Set([...said('model'), ...listed])].filter(name => name !== ''), provider: providers[0] }
}

interface Sent {
  readonly purpose: string
  readonly filename: string
  readonly deployment: Deployment
  readonly keyId: string
  readonly models: readonly string[]
  readonly answer: Fields
}

async function keep(services: Services, request: Client, { answer, deployment, ...sent }: Sent): Promise<Fields> {
  const upstreamId = idIn(answer)
  const createdAtMs = services.epochMs()
  const made = { ...sent, id: newId('file'), upstreamId, createdAtMs, bytes: bytesIn(answer) }
  const record: FileRecord = {
    ...made,
    kind: 'file',
    deploymentId: deployment.id,
    body: publicFile(answer, made),
    recorded: false,
  }
  try {
    return { ...(await services.files.put(record)).body }
  } catch (error) {
    // Nobody could ever ask for it, or delete it.
    await services.fileCalls
      .json({ request, deployment, method: 'DELETE', path: upstreamPath(record), outlivesClient: true })
      .catch(() => undefined)
    throw error
  }
}

const listQuery = z.object({
  after: z.string().optional(),
  limit: z.coerce.number().int().min(1).max(10_000).default(10_000),
  order: z.enum(['asc', 'desc']).default('desc'),
  purpose: z.string().max(64).optional(),
})

const list: Endpoint = {
  method: 'GET',
  paths: pathsOf('/files'),
  auth: 'key',
  doc: {
    tag: 'Files',
    operationId: 'listFiles',
    summary: 'The files of this key; with the master key, all',
    query: {
      after: { schema: { type: 'string' }, description: '`last_id` of the page before.' },
      limit: {
        schema: { type: 'integer', default: 10_000, minimum: 1, maximum: 10_000 },
        description: 'Files a page.',
      },
      order: { schema: { enum: ['asc', 'desc'], default: 'desc' }, description: 'By the time of creation.' },
      purpose: { schema: { type: 'string' }, description: 'Only files with this purpose.' },
    },
    success: json('FileList'),
  },
  async handle(request, services, caller) {
    const query = readQuery(request, listQuery)
    const found = await services.files.list({ kind: 'file', keyId: ownerOf(caller!), ...query })
    if (!found)
      throw unprocessable([{ loc: ['query', 'after'], msg: 'no file of this key has this id', type: 'invalid' }])
    const data = found.records.map(record => record.body)
    return jsonAnswer({
      object: 'list',
      data,
      first_id: data[0]?.id ?? '',
      last_id: data.at(-1)?.id ?? '',
      has_more: found.hasMore,
    })
  },
}

/** One file of the path: found before anything is asked of its upstream. */
interface FileWork {
  readonly record: FileRecord
  readonly call: Call
  /** A request to the upstream about this file; `rest` = what follows its path there. */
  about(method: FileCall['method'], rest?: string): FileCall
}

type Work = (work: FileWork, hold: (until: Promise<Outcome>) => void) => Promise<Answer>

function aboutFile(
  { request, services, caller }: { request: HttpRequest; services: Services; caller: Caller },
  route: string,
  work: Work,
): Promise<Answer> {
  let record: FileRecord | undefined
  return services.callObjects(request, caller, {
    operation: 'files',
    route,
    body: 'none',
    async prepare() {
      record = await findRecord(services, caller, { kind: 'file', id: request.params.file_id!, param: 'file_id' })
      deploymentOf(services, record)
    },
    work(call, hold) {
      const file = record!
      const deployment = deploymentOf(services, file)
      const about: FileWork['about'] = (method, rest = '') => ({
        request: call.client,
        of: call,
        deployment,
        method,
        path: upstreamPath(file, rest),
      })
      return work({ record: file, call, about }, hold)
    },
  })
}

const retrieve: Endpoint = {
  method: 'GET',
  paths: pathsOf('/files/{file_id}'),
  auth: 'key',
  doc: doc({
    operationId: 'getFile',
    summary: 'A file, as its upstream sees it now',
    success: json('File'),
  }),
  handle: (request, services, caller) =>
    aboutFile({ request, services, caller: caller! }, '/v1/files/{file_id}', async ({ record, about }) => {
      const answer = await aboutObject(record, 'file_id', () => services.fileCalls.json(about('GET')))
      const bytes = bytesIn(answer)
      const body = publicFile(answer, { ...record, bytes })
      await services.files.update(record.id, { body, bytes })
      return jsonAnswer(body)
    }),
}

const remove: Endpoint = {
  method: 'DELETE',
  paths: pathsOf('/files/{file_id}'),
  auth: 'key',
  doc: doc({
    operationId: 'deleteFile',
    summary: 'Delete a file at its upstream',
    success: json('DeletedFile'),
  }),
  handle: (request, services, caller) =>
    aboutFile({ request, services, caller: caller! }, '/v1/files/{file_id}', async ({ record, about }) => {
      await services.fileCalls.json(about('DELETE')).catch(error => {
        // What is gone there already can go here too.
        if (error instanceof GatewayError && error.kind === 'model-not-found') return
        throw error instanceof GatewayError ? withLocalIds(error, new Map([[record.upstreamId, record.id]])) : error
      })
      if (!(await services.files.delete(record.id))) throw notFound('file', record.id, 'file_id')
      return jsonAnswer({ id: record.id, object: 'file', deleted: true })
    }),
}

const content: Endpoint = {
  method: 'GET',
  paths: pathsOf('/files/{file_id}/content'),
  auth: 'key',
  doc: doc({
    operationId: 'getFileContent',
    summary: 'The bytes of a file, as its upstream keeps them',
    success: { '*/*': bytes },
    headers: ['content-disposition'],
  }),
  handle: (request, services, caller) =>
    aboutFile(
      { request, services, caller: caller! },
      '/v1/files/{file_id}/content',
      async ({ record, about }, hold) => {
        const { stream, contentType, over } = await aboutObject(record, 'file_id', () =>
          services.fileCalls.content(about('GET', '/content')),
        )
        hold(over)
        return {
          status: 200,
          headers: {
            'content-type': contentType ?? 'application/octet-stream',
            // What a client sent is never shown as a page of this gateway.
            'content-disposition': `attachment; filename*=UTF-8''${encodeURIComponent(record.filename.toWellFormed()).replaceAll("'", '%27')}`,
            'x-content-type-options': 'nosniff',
          },
          body: stream,
        }
      },
    ),
}

/**
 * 404 for a file of another key, 409 when its upstream is no longer configured. Only the list is answered without a
 * call of an upstream.
 */
export const fileEndpoints: readonly Endpoint[] = [create, list, retrieve, remove, content]
