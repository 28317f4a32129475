/** Sends a file to its upstream and stores its record. */
import { storingIdOf } from '../core/caller.ts'
import type { Call } from '../core/call.ts'
import type { Deployment } from '../core/deployment.ts'
import type { Services } from '../core/endpoint.ts'
import { GatewayError, unprocessable } from '../core/errors.ts'
import type { FileOwner, FileRecord } from '../core/objects/file-records.ts'
import type { Client, HttpRequest } from '../core/request.ts'
import type { Upload, UploadPart } from '../core/upload.ts'
import type { JsonBody } from '../lib/json/json-body.ts'
import type { Json } from '../lib/json/json-values.ts'
import { BatchLines } from './batch-lines.ts'
import { bytesIn, fileOwnerOf, idIn, newId, publicFile, upstreamPath } from './objects.ts'
import { chooseUpstream } from './upstreams.ts'
import type { FileTarget } from './upstreams.ts'

/** Fields of this gateway, in the form or in the query; they are not sent to upstreams. */
const routingFields = ['model', 'target_model_names', 'custom_llm_provider'] as const

/**
 * The upstream for the file of the call's form. Throws 422 for a form without a file or a purpose, 400 when the request
 * does not name one upstream.
 */
export function upstreamFor({ query }: HttpRequest, call: Call): Deployment {
  fileOf(call.upload!)
  purposeOf(call.body!)
  return chooseUpstream(call, targetOf(query, call.body!))
}

/**
 * Sends the file of the call's form to its upstream, the lines of a batch checked and rewritten, and stores its record.
 * Resolves with the file as clients see it.
 */
export async function sendFile(services: Services, call: Call, deployment: Deployment): Promise<Json> {
  const upload = call.upload!
  const file = fileOf(upload)
  const purpose = purposeOf(call.body!)
  const edits = routingFields.map(name => ({ remove: name }))
  const fileCall = { request: call.client, of: call, deployment, method: 'POST', path: '/files' } as const
  const post = (sent: Upload): Promise<Json> =>
    services.fileCalls.json({ ...fileCall, body: { upload: sent, edits } }).catch(noFiles)
  const sent = {
    purpose,
    filename: file.filename!,
    deployment,
    keyId: storingIdOf(call.caller),
    owner: fileOwnerOf(call),
  }
  if (purpose !== 'batch') return store(services, call.client, { ...sent, models: [], answer: await post(upload) })
  const lines = new BatchLines(services, call, deployment)
  const rewritten = await services.fileCalls.rewriteLines(upload, file, (line, number) => lines.rewrite(line, number))
  try {
    if (lines.count === 0)
      throw new GatewayError('invalid-request', 'the file has no requests; a batch needs at least one line of JSON', {
        param: 'file',
      })
    return await store(services, call.client, {
      ...sent,
      models: lines.models,
      bounds: lines.bounds,
      answer: await post(rewritten),
    })
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

/** An upstream that answers 404 does not know the path: the request names neither a model nor a file. */
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
  // Postgres refuses some of these characters in texts.
  if (/[\0-\x1f\x7f]/.test(file?.filename ?? ''))
    throw unprocessable([
      { loc: ['body', 'file'], msg: 'has control characters in its filename; leave them out', type: 'invalid' },
    ])
  if (file?.name === 'file' && files.length === 1) return file
  const msg =
    files.length === 0 ? 'is missing; send the file as a part with a filename' : 'must be the only part with a filename'
  throw unprocessable([{ loc: ['body', 'file'], msg, type: files.length === 0 ? 'missing' : 'invalid' }])
}

/** Where both the form and the query have a field, the form's is used. */
function targetOf(query: URLSearchParams, body: JsonBody): FileTarget {
  const valuesOf = (name: (typeof routingFields)[number]): string[] => {
    const values = body.has(name) ? [body.get(name)].flat() : query.getAll(name)
    if (values.some(value => typeof value !== 'string'))
      throw unprocessable([{ loc: ['body', name], msg: 'must be a text, not a file', type: 'wrong_type' }])
    return (values as string[]).map(value => value.trim()).filter(value => value !== '')
  }
  const providers = valuesOf('custom_llm_provider')
  if (providers.length > 1)
    throw unprocessable([{ loc: ['body', 'custom_llm_provider'], msg: 'is there twice; give one', type: 'invalid' }])
  const listed = valuesOf('target_model_names').flatMap(names => names.split(',').map(name => name.trim()))
  return { models: [...new Set([...valuesOf('model'), ...listed])].filter(name => name !== ''), provider: providers[0] }
}

interface SentFile {
  readonly purpose: string
  readonly filename: string
  readonly deployment: Deployment
  readonly keyId: string
  readonly owner: FileOwner
  readonly models: readonly string[]
  readonly bounds?: NonNullable<FileRecord['bounds']>
  readonly answer: Json
}

async function store(services: Services, request: Client, { answer, deployment, ...sent }: SentFile): Promise<Json> {
  const upstreamId = idIn(answer)
  const createdAtMs = services.clock.epochMs()
  const made = { ...sent, id: newId('file'), upstreamId, createdAtMs, bytes: bytesIn(answer) }
  const record: FileRecord = {
    ...made,
    kind: 'file',
    deploymentId: deployment.id,
    body: publicFile(answer, made),
    recorded: false,
  }
  try {
    return { ...(await services.files.put(record, { withinQuota: true })).body }
  } catch (error) {
    // Without its record the file could not be read or deleted through this gateway.
    await services.fileCalls
      .json({ request, deployment, method: 'DELETE', path: upstreamPath(record), outlivesClient: true })
      .catch(() => undefined)
    throw error
  }
}
