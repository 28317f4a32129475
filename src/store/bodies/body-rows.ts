/** Rows of `call_bodies`: what was said is packed and encrypted in them, under the id of its call. */
import { constants, deflateRawSync, inflateRawSync } from 'node:zlib'
import type { CallBodies, CallOwner, CallContent } from '../../core/ledger/stored-bodies.ts'
import type { KeyRing } from '../../lib/encryption.ts'
import { dayMs } from '../../lib/clock.ts'

/** No packed text of this program is larger when it is unpacked. */
const unpackedBytesMax = 512 * 1024 * 1024

/** A row, by its columns. */
export interface BodyRow {
  readonly request_id: string
  /** Of the id, since 1970 in UTC. */
  readonly day: number
  readonly key_id: string
  readonly user_id: string | null
  readonly team_id: string | null
  readonly organization_id: string | null
  /** Of the content. */
  readonly bytes: number
  readonly content: string
}

/** What the encryption binds a content to. */
const encryptionContext = (requestId: string): string => `call_bodies:${requestId}`

/**
 * The day of a call's id, whose first 48 bits are milliseconds (RFC 9562, 5.7): so that a row is found by its id in one
 * partition. undefined = it is no such id.
 */
export function dayOfId(requestId: string): number | undefined {
  const found = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/.exec(requestId)
  return found ? Math.floor(parseInt(found[1]! + found[2]!, 16) / dayMs) : undefined
}

/** The row of a call. */
export function toBodyRow(ring: KeyRing, bodies: CallBodies): BodyRow {
  const packed = deflateRawSync(JSON.stringify(bodies.said), { level: constants.Z_BEST_SPEED })
  const content = ring.seal(packed, encryptionContext(bodies.requestId))
  return {
    request_id: bodies.requestId,
    day: dayOfId(bodies.requestId) ?? 0,
    key_id: bodies.keyId,
    user_id: bodies.userId,
    team_id: bodies.teamId,
    organization_id: bodies.organizationId,
    bytes: content.length,
    content,
  }
}

/** What was said in the call of a row. Throws DecryptionError. */
export function contentOfRow(
  keys: { open(sealed: string, context: string): Buffer },
  { request_id, content }: Pick<BodyRow, 'request_id' | 'content'>,
): CallContent {
  const packed = keys.open(content, encryptionContext(request_id))
  const text = inflateRawSync(packed, { maxOutputLength: unpackedBytesMax }).toString('utf8')
  return JSON.parse(text) as CallContent
}

/** The same content under the present key. */
export function resealed(
  keys: { open(sealed: string, context: string): Buffer },
  ring: KeyRing,
  { request_id, content }: Pick<BodyRow, 'request_id' | 'content'>,
): string {
  const context = encryptionContext(request_id)
  return ring.seal(keys.open(content, context), context)
}

/** Whose call a row is of. */
export function ownerOfRow(row: Omit<BodyRow, 'content' | 'bytes' | 'day'>): CallOwner {
  return {
    requestId: row.request_id,
    keyId: row.key_id,
    userId: row.user_id,
    teamId: row.team_id,
    organizationId: row.organization_id,
  }
}
