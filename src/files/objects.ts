/** Files and batches as clients see them: the upstream's objects with ids of this gateway. */
import { randomUUIDv7 } from 'bun'
import type { Call } from '../core/call.ts'
import type { Caller } from '../core/caller.ts'
import type { Deployment } from '../core/deployment.ts'
import type { Services } from '../core/endpoint.ts'
import type { Client } from '../core/request.ts'
import { GatewayError } from '../core/errors.ts'
import type { FileCall } from '../core/objects/files.ts'
import { replacedIdsIn, withLocalIds } from '../core/dialects/local-ids.ts'
import type { FileKind, FileOwner, FileRecord } from '../core/objects/file-records.ts'
import { ownerOf } from '../core/caller.ts'
import type { Json } from '../lib/json/json-values.ts'

/** An id in OpenAI's form. */
export function newId(kind: FileKind): string {
  return `${kind === 'file' ? 'file-' : 'batch_'}${randomUUIDv7('hex').replaceAll('-', '')}`
}

/** Who is charged for what this call stores. */
export function fileOwnerOf({ caller, tags }: Pick<Call, 'caller' | 'tags'>): FileOwner {
  const { key, organization, derived = [] } = caller
  return {
    keyAlias: key.alias,
    userId: key.userId,
    teamId: key.teamId,
    organizationId: organization?.id ?? key.organizationId,
    tags,
    derived: derived.map(({ id, endMs, maxBudgetNanoUsd }) => ({ id, endMs, maxNanoUsd: String(maxBudgetNanoUsd) })),
  }
}

/** Throws 404 also for an object of another key. */
export async function findRecord(
  services: Services,
  caller: Caller,
  target: { kind: FileKind; id: string; param: string },
): Promise<FileRecord> {
  const { kind, id, param } = target
  const record = await services.files.find(kind, id, ownerOf(caller))
  if (!record) throw notFound(kind, id, param)
  return record
}

/** 404 with OpenAI's message. `param` = the field or parameter that names the object. */
export function notFound(kind: FileKind, id: string, param: string): GatewayError {
  return new GatewayError(
    'not-found',
    `No such ${kind === 'file' ? 'File object' : 'Batch object'}: ${id.slice(0, 100)}`,
    { param },
  )
}

/** Of a batch: whether its upstream knows it is not known yet. */
export const isIntent = ({ id, upstreamId }: Pick<FileRecord, 'id' | 'upstreamId'>): boolean => id === upstreamId

/** The deployment that stores the object. Throws 409 when it is no longer configured. */
export function deploymentOf(services: Services, record: FileRecord): Deployment {
  const deployment = services.current.settings.deployments.find(one => one.id === record.deploymentId)
  if (deployment?.target.provider.files) return deployment
  throw new GatewayError(
    'conflict',
    `the upstream that keeps the ${record.kind} '${record.id}' is no longer in the gateway's configuration; ` +
      `ask its operator to bring back a model with the id '${record.deploymentId}'`,
  )
}

/** The URL path of an object at its upstream. */
export function upstreamPath({ kind, upstreamId }: FileRecord, rest = ''): string {
  return `/${kind === 'file' ? 'files' : 'batches'}/${encodeURIComponent(upstreamId)}${rest}`
}

/** Calls the upstream about one object; in an error's message the upstream's id is replaced by the gateway's. */
export async function aboutObject<T>(record: FileRecord, param: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    // The path names no model: a 404 of the upstream means that the object is missing.
    if (error.kind === 'model-not-found') throw notFound(record.kind, record.id, param)
    throw withLocalIds(error, new Map([[record.upstreamId, record.id]]))
  }
}

/** The id in an upstream's answer. Throws `upstream-broken` when it cannot be used in a path. */
export function idIn(answer: Json, name = 'id'): string {
  const id = answer[name]
  if (typeof id === 'string' && /^(?!\.{1,2}$)[\x21-\x7e]{1,1000}$/.test(id)) return id
  throw new GatewayError('upstream-broken', `the upstream's answer has no ${name} that can be used`)
}

/** `filename` replaces the upstream's, which for result files contains its ids. */
export function publicFile(
  answer: Json,
  record: Pick<FileRecord, 'id' | 'upstreamId' | 'filename' | 'createdAtMs' | 'purpose' | 'bytes'>,
): Json {
  const { id, upstreamId, filename, purpose } = record
  return {
    status: 'processed',
    bytes: record.bytes,
    created_at: Math.floor(record.createdAtMs / 1000),
    purpose,
    ...(replacedIdsIn(answer, new Map([[upstreamId, id]])) as Json),
    id,
    object: 'file',
    filename,
  }
}

/** 0 = the upstream reports no size. */
export function bytesIn(answer: Json): number {
  const { bytes } = answer
  return typeof bytes === 'number' && Number.isSafeInteger(bytes) && bytes >= 0 ? bytes : 0
}

const fileFields: Readonly<Record<string, string>> = { output_file_id: 'output', error_file_id: 'error' }

/**
 * A batch as its upstream reports it, with the gateway's ids and model names. Result files that appear for the first
 * time get a record of the batch's key.
 */
export async function publicBatch(
  services: Services,
  request: Client,
  record: FileRecord,
  answer: Json,
): Promise<Json> {
  const ids = new Map([[record.upstreamId, record.id]])
  for (const [name, value] of Object.entries(answer)) {
    // Some vendors send an empty id until the file exists.
    if (!/_file_id$/.test(name) || value === null || value === '') continue
    const upstreamId = idIn(answer, name)
    // A known file keeps its id, also when its record was deleted since.
    const before = record.body[name]
    ids.set(
      upstreamId,
      typeof before === 'string' && before !== ''
        ? before
        : await localFile(services, request, { batch: record, field: name, upstreamId }),
    )
  }
  const batch = replacedIdsIn(answer, ids) as Json
  const [model, ...others] = record.models
  return {
    ...batch,
    // Some vendors write it in capitals.
    ...(typeof batch.status === 'string' && { status: batch.status.toLowerCase() }),
    // The public name in place of the upstream's.
    ...(typeof batch.model === 'string' && model !== undefined && others.length === 0 && { model }),
    id: record.id,
    object: 'batch',
  }
}

interface ResultFile {
  readonly batch: FileRecord
  /** The field of the batch that names it. */
  readonly field: string
  readonly upstreamId: string
}

/** The gateway's id of a file that a batch names; its record is created at the first sight of the file. */
async function localFile(
  services: Services,
  request: Client,
  { batch, field, upstreamId }: ResultFile,
): Promise<string> {
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
    createdAtMs: services.clock.epochMs(),
    recorded: false,
    owner: batch.owner,
  }
  const answer = await described(services, request, batch, upstreamId)
  const bytes = bytesIn(answer)
  return (await services.files.put({ ...record, bytes, body: publicFile(answer, { ...record, bytes }) })).id
}

/** Timeout for details that an answer can do without. */
export const optionalMs = 5000

/**
 * The upstream's description of a result file; empty when the upstream fails. It is read again when a client asks for
 * the file.
 */
async function described(services: Services, request: Client, batch: FileRecord, upstreamId: string): Promise<Json> {
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
