/** What may stand in the fields of a key, for whoever makes or changes one: the API and the command line. */
import { z } from 'zod'
import type { KeyChanges, KeyRecord } from '../core/ports.ts'
import { keyHint, readDuration } from './key.ts'

/** Postgres keeps no NUL, and lists should stay lines. */
export const keyName = z
  .string({ error: ({ input }) => (input === undefined ? 'is missing; send a string' : 'must be a string') })
  .min(1, 'must not be empty')
  .max(255, 'must be at most 255 characters')
  .regex(/^[^\u0000-\u001f\u007f]*$/, 'must not hold control characters')

/** For whoever cannot say null: the command line. */
export const limitRange = 'must be a whole number from 1 to 1000000000'
const limitText = `${limitRange}, or null for no limit`
const limit = z.number(limitText).int(limitText).min(1, limitText).max(1_000_000_000, limitText).nullable()

/** Milliseconds. */
const duration = z.string().transform((text, context) => {
  const read = readDuration(text)
  if ('ms' in read) return read.ms
  context.addIssue({ code: 'custom', message: read.problem })
  return z.NEVER
})

/** As users of the peer know them. null = as if it had not been sent when the key was made. */
export const keyFields = {
  key_alias: keyName.nullable().optional(),
  duration: duration
    .nullable()
    .optional()
    .describe('Time to live from now: 45s, 15m, 12h, 30d, 2w, 1mo; null = for ever.'),
  models: z
    .array(keyName)
    .max(1000)
    .nullable()
    .optional()
    .describe('Names, `prefix/*` patterns or access groups; empty or null = every model.'),
  user_id: keyName.nullable().optional(),
  team_id: keyName.nullable().optional(),
  metadata: z.record(z.string(), z.unknown()).nullable().optional(),
  rpm_limit: limit.optional(),
  tpm_limit: limit.optional(),
  max_parallel_requests: limit.optional(),
  blocked: z.boolean().nullable().optional(),
}

/** What makes a key, in the API and on the command line. Fields that are not listed are refused. */
export const keyBody = z.strictObject(keyFields)
/** As read: `duration` is in milliseconds. Undefined = not sent. */
export type KeyFields = z.infer<typeof keyBody>

/** Only what was sent changes. */
export function keyChanges(fields: KeyFields, nowMs: number): KeyChanges {
  const changes: { -readonly [K in keyof KeyChanges]: KeyChanges[K] } = {}
  if (fields.key_alias !== undefined) changes.alias = fields.key_alias
  if (fields.models !== undefined) changes.models = fields.models ?? []
  if (fields.user_id !== undefined) changes.userId = fields.user_id
  if (fields.team_id !== undefined) changes.teamId = fields.team_id
  if (fields.metadata !== undefined) changes.metadata = fields.metadata ?? {}
  if (fields.rpm_limit !== undefined) changes.requestsPerMinute = fields.rpm_limit
  if (fields.tpm_limit !== undefined) changes.tokensPerMinute = fields.tpm_limit
  if (fields.max_parallel_requests !== undefined) changes.parallelRequests = fields.max_parallel_requests
  if (fields.blocked !== undefined) changes.blocked = fields.blocked ?? false
  if (fields.duration !== undefined) changes.expiresAtMs = fields.duration === null ? null : nowMs + fields.duration
  return changes
}

/** Of `keyText`, the secret, only the hint is kept. */
interface KeyMaking {
  readonly id: string
  readonly keyText: string
  readonly fields: KeyFields
  readonly nowMs: number
  /** Id of the key that made it, or `cli`. */
  readonly createdBy: string
}

/** A new key, but for its hash: only an installation can make that. */
export function newKey({ id, keyText, fields, nowMs, createdBy }: KeyMaking): Omit<KeyRecord, 'hash'> {
  return {
    id,
    hint: keyHint(keyText),
    alias: null,
    userId: null,
    teamId: null,
    models: [],
    expiresAtMs: null,
    blocked: false,
    requestsPerMinute: null,
    tokensPerMinute: null,
    parallelRequests: null,
    metadata: {},
    createdAtMs: nowMs,
    createdBy,
    updatedAtMs: nowMs,
    ...keyChanges(fields, nowMs),
  }
}
