/** Files: OpenAI's API reference, "Files". Each is stored at one upstream, and has an id of this gateway. */
import { z } from 'zod'
import { jsonAnswer } from '../../core/answer.ts'
import type { Answer } from '../../core/answer.ts'
import type { Call } from '../../core/call.ts'
import { ownerOf, storingIdOf } from '../../core/caller.ts'
import type { Deployment } from '../../core/deployment.ts'
import type { Endpoint, EndpointContext, EndpointDoc } from '../../core/endpoint.ts'
import { GatewayError, unprocessable } from '../../core/errors.ts'
import type { FileCall } from '../../core/objects/files.ts'
import { withLocalIds } from '../../core/dialects/local-ids.ts'
import type { Outcome } from '../../core/hub/operation.ts'
import type { FileRecord } from '../../core/objects/file-records.ts'
import {
  aboutObject,
  bytesIn,
  deploymentOf,
  findRecord,
  notFound,
  publicFile,
  upstreamPath,
} from '../../files/objects.ts'
import { sendFile, upstreamFor } from '../../files/send-file.ts'
import { readQuery } from '../common/checked-input.ts'
import {
  bytes,
  constant,
  described,
  integer,
  json,
  named,
  nullable,
  pageOf,
  shape,
  text,
  unixSeconds,
} from '../openapi/schema.ts'
import { pathsOf } from './common/paths.ts'
import { lazy } from '../../lib/lazy.ts'

const fileSchema = named('File', () =>
  shape(
    {
      id: text,
      object: constant('file'),
      bytes: nullable(integer),
      created_at: unixSeconds,
      filename: text,
      purpose: text,
      status: described('It is `uploaded`, `processed` or `error`, or a word of the upstream.', text),
    },
    { expires_at: nullable(unixSeconds), status_details: nullable(text) },
  ),
)

const fileListSchema = named('FileList', () => pageOf(fileSchema))

const deletedFileSchema = named('DeletedFile', () =>
  shape({ id: text, object: constant('file'), deleted: constant(true) }),
)

/** Statuses of every call of an upstream about a file; 409 = its upstream is no longer configured. */
const failures = [400, 403, 404, 408, 409, 502]

const doc = (more: Omit<EndpointDoc, 'tag'>): EndpointDoc => ({
  tag: 'Files',
  failures,
  callsObjects: true,
  ...more,
})

const where = 'A model of the upstream that the file goes to; not needed when only one upstream takes files.'

const create: Endpoint = {
  method: 'POST',
  paths: pathsOf('/files'),
  auth: 'key',
  doc: doc({
    operationId: 'createFile',
    summary: 'Send a file to an upstream; the lines of a batch are checked and name models as everywhere',
    success: json(fileSchema),
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
        upstream = upstreamFor(request, call)
        return services.files.admit(storingIdOf(caller!))
      },
      work: async call => jsonAnswer(await sendFile(services, call, upstream!)),
    })
  },
}

const listQuery = lazy(() =>
  z.object({
    after: z.string().optional(),
    limit: z.coerce.number().int().min(1).max(10_000).default(10_000),
    order: z.enum(['asc', 'desc']).default('desc'),
    purpose: z.string().max(64).optional(),
  }),
)

const list: Endpoint = {
  method: 'GET',
  paths: pathsOf('/files'),
  auth: 'key',
  doc: {
    tag: 'Files',
    operationId: 'listFiles',
    summary: 'The files of this key; with the master key, all',
    success: json(fileListSchema),
    query: {
      after: { schema: { type: 'string' }, description: 'It is the `last_id` of the page before.' },
      limit: {
        schema: { type: 'integer', default: 10_000, minimum: 1, maximum: 10_000 },
        description: 'How many files a page has.',
      },
      order: {
        schema: { enum: ['asc', 'desc'], default: 'desc' },
        description: 'The list is ordered by the time of creation.',
      },
      purpose: { schema: { type: 'string' }, description: 'Only files with this purpose are listed.' },
    },
  },
  async handle(request, services, caller) {
    const query = readQuery(request, listQuery())
    const found = await services.files.list({ kind: 'file', keyId: ownerOf(caller!), ...query })
    if (!found)
      throw unprocessable([{ loc: ['query', 'after'], msg: 'no file of this key has this id', type: 'invalid' }])
    request.body.hold(found.bytes)
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

/** The file that the path names: looked up before its upstream is called. */
interface FileWork {
  readonly record: FileRecord
  readonly call: Call
  /** A request to the upstream for this file; `rest` = appended to the file's path there. */
  about(method: FileCall['method'], rest?: string): FileCall
}

/** `settleAfter` delays the call's settlement until the promise resolves. */
type Work = (work: FileWork, settleAfter: (ended: Promise<Outcome>) => void) => Promise<Answer>

function aboutFile({ request, services, caller }: EndpointContext, route: string, work: Work): Promise<Answer> {
  let record: FileRecord | undefined
  return services.callObjects(request, caller, {
    operation: 'files',
    route,
    body: 'none',
    async prepare() {
      record = await findRecord(services, caller, { kind: 'file', id: request.params.file_id!, param: 'file_id' })
      deploymentOf(services, record)
    },
    work(call, settleAfter) {
      const file = record!
      const deployment = deploymentOf(services, file)
      const about: FileWork['about'] = (method, rest = '') => ({
        request: call.client,
        of: call,
        deployment,
        method,
        path: upstreamPath(file, rest),
      })
      return work({ record: file, call, about }, settleAfter)
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
    success: json(fileSchema),
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
    success: json(deletedFileSchema),
  }),
  handle: (request, services, caller) =>
    aboutFile({ request, services, caller: caller! }, '/v1/files/{file_id}', async ({ record, about }) => {
      await services.fileCalls.json(about('DELETE')).catch(error => {
        // A file that the upstream no longer has is deleted here as well.
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
      async ({ record, about }, settleAfter) => {
        const { stream, contentType, over } = await aboutObject(record, 'file_id', () =>
          services.fileCalls.content(about('GET', '/content')),
        )
        settleAfter(over)
        return {
          status: 200,
          headers: {
            'content-type': contentType ?? 'application/octet-stream',
            // Browsers must not render a client's file as a page of this gateway's origin.
            'content-disposition': `attachment; filename*=UTF-8''${encodedName(record)}`,
            'x-content-type-options': 'nosniff',
          },
          body: stream,
        }
      },
    ),
}

/** As `ext-value` of RFC 8187. */
function encodedName({ filename }: FileRecord): string {
  return encodeURIComponent(filename.toWellFormed()).replaceAll("'", '%27')
}

/**
 * 404 for a file of another key, 409 when its upstream is no longer configured. Only the list is answered without a
 * call of an upstream.
 */
export const fileEndpoints: readonly Endpoint[] = [create, list, retrieve, remove, content]
