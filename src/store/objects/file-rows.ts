/** Rows of table `upstream_files`. */
import type { SQL } from 'bun'
import type { FileKind, FileOwner, FileRecord } from '../../core/objects/file-records.ts'
import { toNumber } from '../database/open.ts'

type UpstreamReference = Pick<FileRecord, 'kind' | 'keyId' | 'deploymentId' | 'upstreamId'>

/** The object that a key has under this id of its upstream. */
export async function findUpstream(
  sql: SQL,
  { kind, keyId, deploymentId, upstreamId }: UpstreamReference,
): Promise<FileRecord | undefined> {
  const [row] = (await sql`
    select * from upstream_files
    where key_id = ${keyId} and kind = ${kind} and deployment_id = ${deploymentId}
      and upstream_id = ${upstreamId}`) as FileRow[]
  return row && toRecord(row)
}

/** As it is stored, beside its lease. */
export interface FileRow {
  id: string
  kind: string
  key_id: string
  deployment_id: string
  upstream_id: string
  purpose: string
  filename: string
  bytes: unknown
  models: string
  created_at_ms: unknown
  body: string
  recorded: unknown
  owner: string | null
  bounds: string | null
  reserved: string | null
  expires_at_ms: unknown
}

/** Of a record. */
export function toRow(record: FileRecord): FileRow {
  return {
    id: record.id,
    kind: record.kind,
    key_id: record.keyId,
    deployment_id: record.deploymentId,
    upstream_id: record.upstreamId,
    purpose: record.purpose,
    filename: record.filename,
    bytes: record.bytes,
    models: JSON.stringify(record.models),
    created_at_ms: record.createdAtMs,
    body: JSON.stringify(record.body),
    recorded: record.recorded ? 1 : 0,
    owner: record.owner && JSON.stringify(record.owner),
    bounds: record.bounds ? JSON.stringify(record.bounds) : null,
    reserved: record.reserved ? JSON.stringify(record.reserved) : null,
    expires_at_ms: record.kind === 'file' ? fileEndMs(record.body) : null,
  }
}

/** Seconds since 1970 beyond the year 5000 are none. */
const endSecondsMax = 1e11

/** When the upstream deletes a file, as its `expires_at` says; null = it does not say so. */
export function fileEndMs({ expires_at: seconds }: FileRecord['body']): number | null {
  return Number.isSafeInteger(seconds) && Number(seconds) > 0 && Number(seconds) < endSecondsMax
    ? Number(seconds) * 1000
    : null
}

/** Of a row, as the driver returns it. */
export function toRecord(row: FileRow): FileRecord {
  return {
    id: row.id,
    kind: row.kind as FileKind,
    keyId: row.key_id,
    deploymentId: row.deployment_id,
    upstreamId: row.upstream_id,
    purpose: row.purpose,
    filename: row.filename,
    bytes: toNumber(row.bytes),
    models: JSON.parse(row.models) as string[],
    createdAtMs: toNumber(row.created_at_ms),
    body: JSON.parse(row.body) as Record<string, unknown>,
    recorded: toNumber(row.recorded) === 1,
    owner: row.owner === null ? null : (JSON.parse(row.owner) as FileOwner),
    ...(row.bounds && { bounds: JSON.parse(row.bounds) as NonNullable<FileRecord['bounds']> }),
    ...(row.reserved && { reserved: JSON.parse(row.reserved) as NonNullable<FileRecord['reserved']> }),
  }
}
