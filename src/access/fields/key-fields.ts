/** Schemas of the fields of a virtual key, shared by the key API and the command line. */
import { z } from 'zod'
import { unprocessable } from '../../core/errors.ts'
import { keyFields, keyRecordFields } from '../../core/tenancy/field-tables.ts'
import type { KeyChanges, KeyRecord } from '../../core/tenancy/keys.ts'
import { lazy } from '../../lib/lazy.ts'
import { readDuration } from '../key.ts'
import { shownFields } from './answers.ts'
import { changesOf, version, writtenFields } from './checks.ts'

/** A text such as `30d`, parsed to milliseconds. */
const duration = lazy(() =>
  z.string().transform((text, context) => {
    const read = readDuration(text)
    if ('ms' in read) return read.ms
    context.addIssue({ code: 'custom', message: read.problem })
    return z.NEVER
  }),
)

/** The routes that a key of each type may ask for. */
const routesOfType = {
  default: [],
  llm_api: ['llm_api_routes'],
  management: ['management_routes'],
  read_only: ['info_routes'],
} as const

/**
 * Named as in LiteLLM's key API (https://docs.litellm.ai/docs/proxy/virtual_keys). null = the value that a new key gets
 * without the field.
 */
const keyBodyFields = lazy(() => ({
  duration: duration()
    .nullable()
    .optional()
    .describe('Time to live from now: 45s, 15m, 12h, 30d, 2w, 1mo; null = for ever.'),
  ...writtenFields(keyFields),
  auto_rotate: z
    .boolean()
    .nullable()
    .optional()
    .describe('true = the text has to be replaced each `rotation_interval`, which has to be sent with it.'),
}))

/** A text of the client's choice. */
const ownKeyText = lazy(() =>
  z.string().regex(/^sk-[A-Za-z0-9_-]{17,200}$/, 'must be `sk-` and 17 to 200 letters, digits, - and _, hard to guess'),
)

/** The body that creates a key, in the API and on the command line. Unknown fields are refused. */
export const keyBody = lazy(() =>
  z.strictObject({
    ...keyBodyFields(),
    key: ownKeyText().nullable().optional().describe('The text of the key; absent = one is made.'),
    key_type: z
      .enum(Object.keys(routesOfType) as (keyof typeof routesOfType)[])
      .nullable()
      .optional()
      .describe('A short form that stands for `allowed_routes`.'),
  }),
)
/** The parsed body: `duration` is in milliseconds. Undefined = not sent. */
export type KeyFields = z.infer<ReturnType<typeof keyBody>>
/** The body that changes a key, beside what names it. */
export const keyUpdateFields = lazy(() => ({ ...keyBodyFields(), version: version() }))

/** The changes to a key record; fields that were not sent stay absent. `nowMs` in epoch milliseconds. */
export function keyChanges(fields: Partial<KeyFields>, nowMs: number): KeyChanges {
  const { duration: lifetimeMs, key_type: type } = fields
  return {
    ...changesOf(keyFields, fields),
    ...(type && { allowedRoutes: routesOfType[type] }),
    ...(lifetimeMs !== undefined && { expiresAtMs: lifetimeMs === null ? null : nowMs + lifetimeMs }),
    ...rotationChanges(fields),
  }
}

/** Throws 422 where a rotation is asked for that has no interval. */
function rotationChanges({ auto_rotate: rotates, rotation_interval: interval }: Partial<KeyFields>): KeyChanges {
  if (rotates && interval == null)
    throw unprocessable([
      { loc: ['body', 'rotation_interval'], msg: 'is missing; `auto_rotate` needs it, such as 30d', type: 'missing' },
    ])
  if (rotates === false || rotates === null) return { rotationInterval: null }
  return interval === undefined ? {} : { rotationInterval: interval }
}

/** A key as the API shows it, without its text. */
export const shownKey = (record: KeyRecord) => ({
  ...shownFields(keyRecordFields, record),
  auto_rotate: record.rotationInterval !== null,
})
