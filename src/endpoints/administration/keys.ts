/** Virtual keys: created, shown once, listed, changed, blocked, deleted. The fields are named as LiteLLM's. */
import { randomUUIDv7 } from 'bun'
import { z } from 'zod'
import { mintKey } from '../../accounts/key.ts'
import { modelWarnings } from '../../accounts/key-warnings.ts'
import { keyBody, keyChanges, keyFields, keyName, newKey } from '../../accounts/key-fields.ts'
import type { KeyFields } from '../../accounts/key-fields.ts'
import { jsonAnswer } from '../../core/answer.ts'
import type { Endpoint, EndpointDoc, Services } from '../../core/endpoint.ts'
import { GatewayError } from '../../core/errors.ts'
import type { KeyChanges, KeyRecord } from '../../core/ports.ts'
import { readJsonAs, readQuery } from '../checked-input.ts'
import { json } from '../openapi/schema.ts'

const updateBody = z.strictObject({ key: keyName, ...keyFields })
const infoQuery = z.object({ key: z.string().optional() })
const oneKey = z.strictObject({ key: keyName })
const deleteBody = z
  .strictObject({
    keys: z.array(keyName).min(1).max(1000).optional(),
    key_aliases: z.array(keyName).min(1).max(1000).optional(),
  })
  .refine(body => body.keys || body.key_aliases, 'give `keys` or `key_aliases`')
const listQuery = z.strictObject({
  page: z.coerce.number().int().min(1).default(1),
  size: z.coerce.number().int().min(1).max(100).default(10),
  user_id: keyName.optional(),
  team_id: keyName.optional(),
  key_alias: keyName.optional(),
  return_full_object: z.stringbool().default(false),
})

interface About extends Pick<EndpointDoc, 'operationId' | 'summary' | 'failures'> {
  readonly request?: z.ZodType
  /** The name of the answer's schema. */
  readonly answer: string
}

const doc = ({ request, answer, ...about }: About): EndpointDoc => ({
  ...about,
  tag: 'Keys',
  ...(request && { request: z.toJSONSchema(request, { io: 'input' }) }),
  success: json(answer),
})

/**
 * Only the hash of the key text is stored. 422 for invalid fields, 409 when the user has the maximum number of keys.
 */
export const keyGenerate: Endpoint = {
  method: 'POST',
  paths: ['/key/generate'],
  auth: 'admin',
  doc: {
    ...doc({
      operationId: 'createKey',
      summary: 'Create a key; the answer is the only place that ever shows it',
      request: keyBody,
      answer: 'NewKey',
      failures: [409],
    }),
    requestOptional: true,
  },
  async handle(request, services, caller) {
    const fields = await readJsonAs(request, keyBody)
    const keyText = mintKey()
    const made = newKey({
      id: randomUUIDv7(),
      keyText,
      fields,
      nowMs: services.clock.epochMs(),
      createdBy: caller!.key.id,
    })
    const record: KeyRecord = { ...made, hash: services.hashKey(keyText) }
    const warnings = await keyWarnings(services, fields, record)
    await services.keys.insert(record, services.current.settings.keysPerUser)
    return jsonAnswer({ key: keyText, ...shown(record), ...warnings })
  },
}

/** `warnings` about the fields that were sent; nothing where there are none. */
async function keyWarnings(
  { keys, current }: Services,
  fields: Pick<KeyFields, 'models' | 'key_alias'>,
  record: KeyRecord,
): Promise<{ warnings?: readonly string[] }> {
  const warnings = fields.models ? modelWarnings(record.models, current.models) : []
  if (fields.key_alias && record.alias !== null) {
    const found = await keys.list({ alias: record.alias, limit: 2, offset: 0 })
    if (found.keys.some(one => one.id !== record.id))
      warnings.push(
        `key_alias: another key has the alias \`${record.alias}\` too; /key/delete by this alias is refused then`,
      )
  }
  return warnings.length > 0 ? { warnings } : {}
}

const iso = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString())

/** A key as administrators see it, without its text. */
function shown(record: KeyRecord): Record<string, unknown> {
  return {
    token: record.hash,
    token_id: record.id,
    key_name: record.hint,
    key_alias: record.alias,
    user_id: record.userId,
    team_id: record.teamId,
    models: record.models,
    expires: iso(record.expiresAtMs),
    blocked: record.blocked,
    rpm_limit: record.requestsPerMinute,
    tpm_limit: record.tokensPerMinute,
    max_parallel_requests: record.parallelRequests,
    metadata: record.metadata,
    created_at: iso(record.createdAtMs),
    created_by: record.createdBy,
    updated_at: iso(record.updatedAtMs),
  }
}

/** A key may be named by its text, its hash (`token`) or its id. */
async function lookForKey(services: Services, named: string): Promise<KeyRecord | undefined> {
  return (
    (await services.keys.find({ hash: services.hashKey(named) })) ??
    (await services.keys.find({ hash: named })) ??
    (await services.keys.find({ id: named }))
  )
}

async function findKey(services: Services, named: string): Promise<KeyRecord> {
  const record = await lookForKey(services, named)
  if (!record) throw new GatewayError('not-found', 'no such key', { param: 'key' })
  return record
}

/** A key may read itself, the master key every key. 403 for a key that asks for another, whether or not it exists. */
export const keyInfo: Endpoint = {
  method: 'GET',
  paths: ['/key/info'],
  auth: 'key',
  doc: {
    ...doc({
      operationId: 'getKey',
      summary: "One key; without `key`, the caller's own",
      answer: 'KeyInfo',
      failures: [403, 404],
    }),
    query: { key: { schema: { type: 'string' }, description: 'Key text, token or id.' } },
  },
  async handle(request, services, caller) {
    const { key: named } = readQuery(request, infoQuery)
    if (caller!.role === 'admin' && named === undefined)
      throw new GatewayError('not-found', 'the master key is no virtual key; name one: /key/info?key=...', {
        param: 'key',
      })
    const record = await lookForKey(services, named ?? caller!.key.id)
    // The same error for keys that exist and keys that do not: a key cannot be used to search for others.
    if (caller!.role !== 'admin' && record?.id !== caller!.key.id)
      throw new GatewayError('forbidden', 'a key may only ask about itself', { param: 'key' })
    if (!record) throw new GatewayError('not-found', 'no such key', { param: 'key' })
    return jsonAnswer({ key: named ?? record.hint, info: shown(record) })
  },
}

/**
 * Newest first, in pages from 1; only hashes unless `return_full_object=true`. A page after the last one is empty.
 */
export const keyList: Endpoint = {
  method: 'GET',
  paths: ['/key/list'],
  auth: 'admin',
  doc: {
    ...doc({ operationId: 'listKeys', summary: 'List keys', answer: 'KeyList' }),
    query: Object.fromEntries(
      Object.entries(z.toJSONSchema(listQuery, { io: 'input' }).properties ?? {}).map(([key, schema]) => [
        key,
        { schema: schema as object, description: key.replaceAll('_', ' ') },
      ]),
    ),
  },
  async handle(request, services) {
    const query = readQuery(request, listQuery)
    const { keys, total } = await services.keys.list({
      ...(query.user_id !== undefined && { userId: query.user_id }),
      ...(query.team_id !== undefined && { teamId: query.team_id }),
      ...(query.key_alias !== undefined && { alias: query.key_alias }),
      limit: query.size,
      offset: (query.page - 1) * query.size,
    })
    return jsonAnswer({
      keys: keys.map(record => (query.return_full_object ? shown(record) : record.hash)),
      total_count: total,
      current_page: query.page,
      total_pages: Math.ceil(total / query.size),
    })
  },
}

/**
 * null resets a field to its default. 404 for an unknown key, 409 when its new user has the maximum number of keys.
 */
export const keyUpdate: Endpoint = {
  method: 'POST',
  paths: ['/key/update'],
  auth: 'admin',
  doc: doc({
    operationId: 'updateKey',
    summary: 'Change a key; only the fields sent change',
    request: updateBody,
    answer: 'ChangedKey',
    failures: [404, 409],
  }),
  async handle(request, services) {
    const { key, ...fields } = await readJsonAs(request, updateBody)
    const record = await findKey(services, key)
    const changed = await change(services, record, keyChanges(fields, services.clock.epochMs()))
    return jsonAnswer({ key: record.hint, ...shown(changed), ...(await keyWarnings(services, fields, changed)) })
  },
}

async function change(services: Services, record: KeyRecord, changes: KeyChanges): Promise<KeyRecord> {
  const updated = await services.keys.update(record.id, changes, services.current.settings.keysPerUser)
  if (!updated) throw new GatewayError('not-found', 'no such key', { param: 'key' })
  return updated
}

function blocking(path: string, blocked: boolean): Endpoint {
  return {
    method: 'POST',
    paths: [path],
    auth: 'admin',
    doc: doc({
      operationId: blocked ? 'blockKey' : 'unblockKey',
      summary: blocked ? 'Block a key at once' : 'Let a blocked key work again',
      request: oneKey,
      answer: 'Key',
      failures: [404],
    }),
    async handle(request, services) {
      const { key } = await readJsonAs(request, oneKey)
      return jsonAnswer(shown(await change(services, await findKey(services, key), { blocked })))
    },
  }
}

/**
 * Its next request is refused with 401, on other replicas within a second; open calls continue. 404 for an unknown key.
 */
export const keyBlock = blocking('/key/block', true)
/** Has no effect on a key that is not blocked. 404 for an unknown key. */
export const keyUnblock = blocking('/key/unblock', false)

/**
 * Finds all keys before it deletes any: after 404 for an unknown one, or 409 for an ambiguous alias, nothing is
 * deleted.
 */
export const keyDelete: Endpoint = {
  method: 'POST',
  paths: ['/key/delete'],
  auth: 'admin',
  doc: doc({
    operationId: 'deleteKeys',
    summary: 'Delete keys for good',
    request: deleteBody,
    answer: 'DeletedKeys',
    failures: [404, 409],
  }),
  async handle(request, services) {
    const body = await readJsonAs(request, deleteBody)
    const records = await Promise.all([
      ...(body.keys ?? []).map(named => findKey(services, named)),
      ...(body.key_aliases ?? []).map(alias => findAlias(services, alias)),
    ])
    for (const record of records) await services.keys.delete(record.id)
    return jsonAnswer({ deleted_keys: [...(body.keys ?? []), ...(body.key_aliases ?? [])] })
  },
}

/** Several keys may share an alias, which then identifies none of them. */
async function findAlias(services: Services, alias: string): Promise<KeyRecord> {
  const { keys, total } = await services.keys.list({ alias, limit: 2, offset: 0 })
  const [record] = keys
  if (!record) throw new GatewayError('not-found', `no key has the alias '${alias}'`, { param: 'key_aliases' })
  if (total > 1)
    throw new GatewayError(
      'conflict',
      `${total} keys have the alias '${alias}'; delete by \`keys\` (GET /key/list?key_alias=... has their tokens)`,
      { param: 'key_aliases' },
    )
  return record
}
