/** Files: OpenAI's API reference, "Files". Each goes to one upstream and is known here under an id of ours. */
import { z } from 'zod'
import { jsonAnswer } from '../core/answer.ts'
import type { Caller } from '../core/caller.ts'
import type { Deployment } from '../core/deployment.ts'
import type { Endpoint, EndpointDoc, Services } from '../core/endpoint.ts'
import type { HttpRequest } from '../core/request.ts'
import { GatewayError, unprocessable } from '../core/errors.ts'
import type { FileCall } from '../core/files.ts'
import { withLocalIds } from '../core/local-ids.ts'
import type { FileRecord } from '../core/ports.ts'
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
import { ownerOf, pathsOf } from './kept-objects.ts'
import type { Fields } from './kept-objects.ts'

const fileSchema = {
  type: 'object',
  properties: {
    id: { type: 'string' },
    object: { const: 'file' },
    bytes: { type: 'integer' },
    created_at: { type: 'integer' },
    filename: { type: 'string' },
    purpose: { type: 'string' },
  },
}
const doc = (summary: string, more: Partial<EndpointDoc> = {}): EndpointDoc => ({
  summary,
  tag: 'Files',
  response: fileSchema,
  ...more,
})

const where = 'A model of the upstream that the file goes to; not needed when only one upstream takes files.'

/** Fields of ours, in the form or in the query; upstreams never see them. */
const routingFields = ['model', 'target_model_names', 'custom_llm_provider'] as const

const create: Endpoint = {
  method: 'POST',
  paths: pathsOf('/files'),
  auth: 'key',
  doc: doc('Send a file to an upstream; the lines of a batch are checked and name models as everywhere', {
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
  handle: (request, services, caller) =>
    services.fileCalls.limited(request, caller!, async () => {
      const { body, upload } = await services.fileCalls.readForm(request)
      try {
        return jsonAnswer(await send(services, caller!, { request, body, upload }))
      } finally {
        upload.close()
      }
    }),
}

interface Sending {
  readonly request: HttpRequest
  readonly body: JsonBody
  readonly upload: Upload
}

async function send(services: Services, caller: Caller, { request, body, upload }: Sending): Promise<Fields> {
  const file = fileOf(upload)
  const purpose = body.get('purpose')
  if (typeof purpose !== 'string' || !/^[\w-]{1,64}$/.test(purpose))
    throw unprocessable([
      { loc: ['body', 'purpose'], msg: 'is missing or not one word, such as "batch"', type: 'missing' },
    ])
  const deployment = chooseUpstream(services, caller, wishOf(request, body))
  const edits = routingFields.map(name => ({ remove: name }))
  const call = { request, deployment, method: 'POST', path: '/files' } as const
  const post = (sent: Upload): Promise<Fields> =>
    services.fileCalls.json({ ...call, body: { upload: sent, edits } }).catch(noFiles)
  const sent = { purpose, filename: file.filename!, deployment, keyId: caller.key.id }
  if (purpose !== 'batch') return keep(services, request, { ...sent, models: [], answer: await post(upload) })
  const lines = new BatchLines(services, caller, deployment)
  const rewritten = await services.fileCalls.rewriteLines(upload, file, (line, number) => lines.rewrite(line, number))
  try {
    if (lines.count === 0)
      throw new GatewayError('invalid-request', 'the file has no requests; a batch needs at least one line of JSON', {
        param: 'file',
      })
    return await keep(services, request, { ...sent, models: lines.models, answer: await post(rewritten) })
  } finally {
    rewritten.close()
  }
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
function wishOf({ query }: HttpRequest, body: JsonBody): { models: string[]; provider: string | undefined } {
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

async function keep(services: Services, request: HttpRequest, { answer, deployment, ...sent }: Sent): Promise<Fields> {
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
  doc: doc('The files of this key; with the master key, all', {
    query: {
      after: { schema: { type: 'string' }, description: '`last_id` of the page before.' },
      limit: {
        schema: { type: 'integer', default: 10_000, minimum: 1, maximum: 10_000 },
        description: 'Files a page.',
      },
      order: { schema: { enum: ['asc', 'desc'], default: 'desc' }, description: 'By the time of creation.' },
      purpose: { schema: { type: 'string' }, description: 'Only files with this purpose.' },
    },
    response: { type: 'object' },
  }),
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

/** Finds the file of the path and prepares a call about it. */
async function about(
  { request, services, caller }: Asked,
  method: FileCall['method'],
  rest = '',
): Promise<{ record: FileRecord; call: FileCall }> {
  const record = await findRecord(services, caller, { kind: 'file', id: request.params.file_id!, param: 'file_id' })
  return {
    record,
    call: { request, deployment: deploymentOf(services, record), method, path: upstreamPath(record, rest) },
  }
}

interface Asked {
  readonly request: HttpRequest
  readonly services: Services
  readonly caller: Caller
}

const retrieve: Endpoint = {
  method: 'GET',
  paths: pathsOf('/files/{file_id}'),
  auth: 'key',
  doc: doc('A file, as its upstream sees it now'),
  handle: (request, services, caller) =>
    services.fileCalls.limited(request, caller!, async () => {
      const { record, call } = await about({ request, services, caller: caller! }, 'GET')
      const answer = await aboutObject(record, 'file_id', () => services.fileCalls.json(call))
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
  doc: doc('Delete a file at its upstream', { response: { type: 'object' } }),
  handle: (request, services, caller) =>
    services.fileCalls.limited(request, caller!, async () => {
      const { record, call } = await about({ request, services, caller: caller! }, 'DELETE')
      await services.fileCalls.json(call).catch(error => {
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
  doc: doc('The bytes of a file, as its upstream keeps them', {
    response: { type: 'string', contentEncoding: 'binary' },
    responseType: 'application/octet-stream',
  }),
  handle: (request, services, caller) =>
    services.fileCalls.limited(request, caller!, async hold => {
      const { record, call } = await about({ request, services, caller: caller! }, 'GET', '/content')
      const { stream, contentType, over } = await aboutObject(record, 'file_id', () => services.fileCalls.content(call))
      hold(over)
      return {
        status: 200,
        headers: {
          'content-type': contentType ?? 'application/octet-stream',
          // What somebody sent is never shown as a page of this gateway.
          'content-disposition': `attachment; filename*=UTF-8''${encodeURIComponent(record.filename.toWellFormed()).replaceAll("'", '%27')}`,
          'x-content-type-options': 'nosniff',
        },
        body: stream,
      }
    }),
}

/**
 * 404 for a file of another key, 409 when its upstream is no longer configured. Only the list is answered without a
 * call of an upstream.
 */
export const fileEndpoints: readonly Endpoint[] = [create, list, retrieve, remove, content]
