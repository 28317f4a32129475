/** Schemas of the fields of a virtual key, shared by the key API and the command line. */
import { z } from 'zod'
import { bareKey } from '../../core/caller.ts'
import type { VirtualKey } from '../../core/caller.ts'
import { unprocessable } from '../../core/errors.ts'
import type { KeyChanges, KeyRecord } from '../../core/tenancy/keys.ts'
import { readDuration } from '../key.ts'
import {
  aliasMap,
  changesOf,
  durationText,
  iso,
  keyName,
  metadata,
  modelList,
  nameList,
  shownSpending,
  spendingChanges,
  spendingFields,
  storesBodies,
  version,
  without,
} from './spending-fields.ts'
import { lazy } from '../../lib/lazy.ts'

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

/** Every limit counts on its own; none is divided among the keys below it. */
const limitType = lazy(() =>
  z.enum(['best_effort_throughput']).nullable().optional().describe('Limits are checked as calls come.'),
)

/** Of LiteLLM's fields those that this gateway has nothing for; each is refused unless it asks for nothing. */
const absentFields = lazy(() => ({
  spend: without('what a key has spent is the sum of its calls in the ledger'),
  agent_id: without('leave it out'),
  project_id: without('use `team_id`'),
  config: without('settings are those of the gateway'),
  permissions: without('use `allowed_routes`'),
  object_permission: without('use `models` and `allowed_routes`'),
  allowed_passthrough_routes: without('there are no pass-through routes'),
  allowed_vector_store_indexes: without('there are no vector stores'),
  policies: without('policies are those of the gateway'),
  prompts: without('there are no stored prompts'),
  router_settings: without('retries and fallbacks are settings of the gateway'),
  access_group_ids: without('name the access groups in `models`'),
  send_invite_email: without('send the key yourself'),
}))

/**
 * Named as in LiteLLM's key API (https://docs.litellm.ai/docs/proxy/virtual_keys). null = the value that a new key gets
 * without the field.
 */
const keyFields = lazy(() => ({
  key_alias: keyName().nullable().optional(),
  duration: duration()
    .nullable()
    .optional()
    .describe('Time to live from now: 45s, 15m, 12h, 30d, 2w, 1mo; null = for ever.'),
  models: modelList(),
  aliases: aliasMap().describe('What the key calls a model -> the model.'),
  user_id: keyName().nullable().optional(),
  team_id: keyName().nullable().optional(),
  organization_id: keyName().nullable().optional(),
  metadata: metadata(),
  tags: nameList().describe('Tags of each of its calls.'),
  allowed_routes: nameList().describe('Paths, `/prefix/*`, `llm_api_routes`, `management_routes`, `info_routes`.'),
  enforced_params: nameList().describe('Fields that each call has to have, such as `user` or `metadata.job`.'),
  allowed_cache_controls: nameList().describe('Fields of `cache` that its calls may have; empty = all.'),
  guardrails: nameList().describe('Guardrails that hold for each of its calls, beside those that hold anyway.'),
  store_prompts_in_spend_logs: storesBodies(),
  blocked: z.boolean().nullable().optional(),
  rpm_limit_type: limitType(),
  tpm_limit_type: limitType(),
  auto_rotate: z
    .boolean()
    .nullable()
    .optional()
    .describe('true = the text has to be replaced each `rotation_interval`, which has to be sent with it.'),
  rotation_interval: durationText()
    .nullable()
    .optional()
    .describe('After which the text has to be replaced by POST /key/regenerate: `30d`; null = never.'),
  ...spendingFields(),
  ...absentFields(),
}))

/** A text of the client's choice. */
const ownKeyText = lazy(() =>
  z.string().regex(/^sk-[A-Za-z0-9_-]{17,200}$/, 'must be `sk-` and 17 to 200 letters, digits, - and _, hard to guess'),
)

/** The body that creates a key, in the API and on the command line. Unknown fields are refused. */
export const keyBody = lazy(() =>
  z.strictObject({
    ...keyFields(),
    key: ownKeyText().nullable().optional().describe('The text of the key; absent = one is made.'),
    key_type: z
      .enum(Object.keys(routesOfType) as (keyof typeof routesOfType)[])
      .nullable()
      .optional()
      .describe('Short for `allowed_routes`.'),
  }),
)
/** The parsed body: `duration` is in milliseconds. Undefined = not sent. */
export type KeyFields = z.infer<ReturnType<typeof keyBody>>
/** The body that changes a key, beside what names it. */
export const keyUpdateFields = lazy(() => ({ ...keyFields(), version: version() }))

const keyNames = {
  key_alias: 'alias',
  models: 'models',
  aliases: 'aliases',
  user_id: 'userId',
  team_id: 'teamId',
  organization_id: 'organizationId',
  metadata: 'metadata',
  tags: 'tags',
  allowed_routes: 'allowedRoutes',
  enforced_params: 'enforcedParams',
  allowed_cache_controls: 'allowedCacheControls',
  guardrails: 'guardrails',
  store_prompts_in_spend_logs: 'storesBodies',
  blocked: 'blocked',
} as const

/** The changes to a key record; fields that were not sent stay absent. `nowMs` in epoch milliseconds. */
export function keyChanges(fields: Partial<KeyFields>, nowMs: number): KeyChanges {
  const { duration: lifetimeMs, key_type: type } = fields
  return {
    ...spendingChanges(fields),
    ...changesOf<Omit<VirtualKey, 'id'>>(fields, keyNames, bareKey),
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
export function shownKey(record: KeyRecord): Record<string, unknown> {
  return {
    token: record.hash,
    token_id: record.id,
    key_name: record.hint,
    key_alias: record.alias,
    user_id: record.userId,
    team_id: record.teamId,
    organization_id: record.organizationId,
    models: record.models,
    aliases: record.aliases,
    tags: record.tags,
    allowed_routes: record.allowedRoutes,
    enforced_params: record.enforcedParams,
    allowed_cache_controls: record.allowedCacheControls,
    guardrails: record.guardrails,
    store_prompts_in_spend_logs: record.storesBodies,
    expires: iso(record.expiresAtMs),
    auto_rotate: record.rotationInterval !== null,
    rotation_interval: record.rotationInterval,
    last_rotation_at: iso(record.textSinceMs),
    key_rotation_at: iso(record.rotateByMs),
    blocked: record.blocked,
    ...shownSpending(record),
    metadata: record.metadata,
    version: record.version,
    created_at: iso(record.createdAtMs),
    created_by: record.createdBy,
    updated_at: iso(record.updatedAtMs),
    updated_by: record.updatedBy,
  }
}
