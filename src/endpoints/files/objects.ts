/** Files and batches as clients see them: the upstream's objects under ids of ours. */
import { randomUUIDv7 } from 'bun'
import type { Caller } from '../../core/caller.ts'
import type { Deployment } from '../../core/deployment.ts'
import type { Services } from '../../core/endpoint.ts'
import type { Client } from '../../core/request.ts'
import { GatewayError } from '../../core/errors.ts'
import type { FileCall } from '../../core/files.ts'
import { replacedIds, withLocalIds } from '../../core/local-ids.ts'
import type { FileKind, FileRecord } from '../../core/ports.ts'
import { ownerOf } from '../kept-objects.ts'
import type { Fields } from '../kept-objects.ts'

/** An id in OpenAI's manner. */
export function newId(kind: FileKind): string {
  return `${kind === 'file' ? 'file-' : 'batch_'}${randomUUIDv7('hex').replaceAll('-', '')}`
}

/** 404 for what is not this caller's, whoever's it is. */
export async function findRecord(
  services: Services,
  caller: Caller,
  asked: { kind: FileKind; id: string; param: string },
): Promise<FileRecord> {
  const { kind, id, param } = asked
  const record = await services.files.find(kind, id, ownerOf(caller))
  if (!record) throw notFound(kind, id, param)
  return record
}

/** 404 in OpenAI's words. `param` = where the request names the object. */
export function notFound(kind: FileKind, id: string, param: string): GatewayError {
  return new GatewayError(
    'not-found',
    `No such ${kind === 'file' ? 'File object' : 'Batch object'}: ${id.slice(0, 100)}`,
    { param },
  )
}

/** Throws 409 when the configuration does not have it any more. */
export function deploymentOf(services: Services, record: FileRecord): Deployment {
  const deployment = services.settings().deployments.find(one => one.id === record.deploymentId)
  if (deployment?.target.provider.files) return deployment
  throw new GatewayError(
    'conflict',
    `the upstream that keeps the ${record.kind} '${record.id}' is no longer in the gateway's configuration; ask its operator to bring back a model with the id '${record.deploymentId}'`,
  )
}

/** The URL path of an object at its upstream. */
export function upstreamPath({ kind, upstreamId }: FileRecord, rest = ''): string {
  return `/${kind === 'file' ? 'files' : 'batches'}/${encodeURIComponent(upstreamId)}${rest}`
}

/** Calls the upstream about one object; what it says of the object in an error, it says by our id. */
export async function aboutObject<T>(record: FileRecord, param: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    // What an upstream does not find, among files, is never a model.
    if (error.kind === 'model-not-found') throw notFound(record.kind, record.id, param)
    throw withLocalIds(error, new Map([[record.upstreamId, record.id]]))
  }
}

/** The same value with ids of ours in all its texts. */
function localised(value: unknown, ids: ReadonlyMap<string, string>): unknown {
  if (typeof value === 'string') return replacedIds(value, ids)
  if (Array.isArray(value)) return value.map(one => localised(one, ids))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, localised(one, ids)]))
}

/** The id in an upstream's answer. Throws `upstream-broken` when it is none that can stand in a path. */
export function idIn(answer: Fields, name = 'id'): string {
  const id = answer[name]
  if (typeof id === 'string' && /^(?!\.{1,2}$)[\x21-\x7e]{1,1000}$/.test(id)) return id
  throw new GatewayError('upstream-broken', `the upstream's answer has no ${name} that can be used`)
}

/** `filename` wins over the upstream's: those of results are made of its ids. */
export function publicFile(
  answer: Fields,
  record: Pick<FileRecord, 'id' | 'upstreamId' | 'filename' | 'createdAtMs' | 'purpose' | 'bytes'>,
): Fields {
  const { id, upstreamId, filename, purpose } = record
  return {
    status: 'processed',
    bytes: record.bytes,
    created_at: Math.floor(record.createdAtMs / 1000),
    purpose,
    ...(localised(answer, new Map([[upstreamId, id]])) as Fields),
    id,
    object: 'file',
    filename,
  }
}

/** 0 = the upstream does not say how many. */
export function bytesIn(answer: Fields): number {
  const { bytes } = answer
  return typeof bytes === 'number' && Number.isSafeInteger(bytes) && bytes >= 0 ? bytes : 0
}

const fileFields: Readonly<Record<string, string>> = { output_file_id: 'output', error_file_id: 'error' }

/**
 * A batch as its upstream shows it, with ids and model names of ours; files that nobody has seen yet become the
 * owner's.
 */
export async function publicBatch(
  services: Services,
  request: Client,
  record: FileRecord,
  answer: Fields,
): Promise<Fields> {
  const ids = new Map([[record.upstreamId, record.id]])
  for (const [name, value] of Object.entries(answer)) {
    // Some vendors leave it empty until there is such a file.
    if (!/_file_id$/.test(name) || value === null || value === '') continue
    const upstreamId = idIn(answer, name)
    // What was seen before keeps its id, also when its owner deleted the file since.
    const before = record.body[name]
    ids.set(
      upstreamId,
      typeof before === 'string' && before !== ''
        ? before
        : await localFile(services, request, { batch: record, field: name, upstreamId }),
    )
  }
  const batch = localised(answer, ids) as Fields
  const [model, ...others] = record.models
  return {
    ...batch,
    // Some vendors write it in capitals.
    ...(typeof batch.status === 'string' && { status: batch.status.toLowerCase() }),
    // Public names, as everywhere else.
    ...(typeof batch.model === 'string' && model !== undefined && others.length === 0 && { model }),
    id: record.id,
    object: 'batch',
  }
}

interface SeenFile {
  readonly batch: FileRecord
  /** Of the batch's object. */
  readonly field: string
  readonly upstreamId: string
}

/** Our id of a file that a batch names; made when the file is first seen. */
async function localFile(services: Services, request: Client, { batch, field, upstreamId }: SeenFile): Promise<string> {
  const { keyId, deploymentId } = batch
  const known = await services.files.findUpstream({ kind: 'file', keyId, deploymentId, upstreamId })
  if (known) return known.id
  const id = newId('file')
  const what = fileFields[field]
  const record = {
    id,
    kind: 'file' as const,
    keyId,
    deploymentId,
    upstreamId,
    purpose: what === undefined ? 'batch' : 'batch_output',
    filename: what === undefined ? `${id}.jsonl` : `${batch.id}_${what}.jsonl`,
    bytes: 0,
    models: batch.models,
    createdAtMs: services.epochMs(),
    recorded: false,
  }
  const answer = await described(services, request, batch, upstreamId)
  const bytes = bytesIn(answer)
  return (await services.files.put({ ...record, bytes, body: publicFile(answer, { ...record, bytes }) })).id
}

/** How long an answer waits for what it can do without. */
export const optionalMs = 5000

/**
 * What the upstream says of a result. It is asked again when the client asks for the file, so that a failure here is no
 * loss.
 */
async function described(services: Services, request: Client, batch: FileRecord, upstreamId: string): Promise<Fields> {
  const call: FileCall = {
    request,
    deployment: deploymentOf(services, batch),
    method: 'GET',
    path: `/files/${encodeURIComponent(upstreamId)}`,
    totalMs: optionalMs,
  }
  try {
    return await services.fileCalls.json(call)
  } catch (error) {
    if (error instanceof GatewayError && error.kind !== 'client-closed') return {}
    throw error
  }
}
