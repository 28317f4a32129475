/** Schemas of the fields of a virtual key, shared by the key API and the command line. */
import { z } from 'zod'
import type { KeyChanges, KeyRecord } from '../core/ports.ts'
import { keyHint, readDuration } from './key.ts'

/** A name, 1 to 255 characters. No control characters: Postgres text holds no NUL, and lists are printed in lines. */
export const keyName = z
  .string({ error: ({ input }) => (input === undefined ? 'is missing; send a string' : 'must be a string') })
  .min(1, 'must not be empty')
  .max(255, 'must be at most 255 characters')
  .regex(/^[^\u0000-\u001f\u007f]*$/, 'must not hold control characters')

/** The range of a limit, as an error text; for the command line, where no `null` can be given. */
export const limitRange = 'must be a whole number from 1 to 1000000000'
const limitText = `${limitRange}, or null for no limit`
const limit = z.number(limitText).int(limitText).min(1, limitText).max(1_000_000_000, limitText).nullable()

/** A text such as `30d`, parsed to milliseconds. */
const duration = z.string().transform((text, context) => {
  const read = readDuration(text)
  if ('ms' in read) return read.ms
  context.addIssue({ code: 'custom', message: read.problem })
  return z.NEVER
})

/**
 * Named as in LiteLLM's key API (https://docs.litellm.ai/docs/proxy/virtual_keys). null = the value that a new key gets
 * without the field.
 */
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

/** The body that creates a key, in the API and on the command line. Unknown fields are refused. */
export const keyBody = z.strictObject(keyFields)
/** The parsed body: `duration` is in milliseconds. Undefined = not sent. */
export type KeyFields = z.infer<typeof keyBody>

/** The changes to a key record; fields that were not sent stay absent. `nowMs` in epoch milliseconds. */
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

/** The parts of a new key. `keyText` is the secret; only its hint is stored. */
interface NewKeyParts {
  readonly id: string
  readonly keyText: string
  readonly fields: KeyFields
  readonly nowMs: number
  /** Id of the key that created it, or `cli`. */
  readonly createdBy: string
}

/** The record of a new key without its hash, which needs the installation's secret (`store/keys`). */
export function newKey({ id, keyText, fields, nowMs, createdBy }: NewKeyParts): Omit<KeyRecord, 'hash'> {
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
