/** Virtual keys: created, shown once, changed, replaced, blocked, deleted. The fields are named as LiteLLM's. */
import { randomUUIDv7 } from 'bun'
import { z } from 'zod'
import { actorOf } from '../../access/actor.ts'
import { keyHint, mintKey } from '../../access/key.ts'
import { checkKeyBounds, newKey } from '../../access/fields/key-bounds.ts'
import { keyBody, keyChanges, keyUpdateFields, shownKey } from '../../access/fields/key-fields.ts'
import type { KeyFields } from '../../access/fields/key-fields.ts'
import { modelWarnings } from '../../access/key-warnings.ts'
import { keyName } from '../../access/fields/checks.ts'
import { isAdministrator, newStoringId } from '../../core/caller.ts'
import type { Caller } from '../../core/caller.ts'
import type { Endpoint, EndpointContext, Services } from '../../core/endpoint.ts'
import { GatewayError, toGatewayError } from '../../core/errors.ts'
import type { KeyChanges, KeyRecord } from '../../core/tenancy/keys.ts'
import type { KeyUpdateOptions, NewKey, TenancyTransaction } from '../../core/tenancy/tenancy-store.ts'
import { withBody } from '../common/json-endpoint.ts'
import { described, integer, listOf, named, shape, text } from '../openapi/schema.ts'
import type { ValueOf } from '../openapi/schema.ts'
import { forbidden, keySchema, noSuchKey, shownKeyFields, shownKeyWithSpend, wrongField } from '../common/answers.ts'
import { checkGroups } from './common/access.ts'
import { blockingEndpoints } from './common/blocking-endpoints.ts'
import { changeableKey, checkKeyChange, checkMaker, grantedKey } from './common/key-rights.ts'
import { lazy } from '../../lib/lazy.ts'

const updateBody = lazy(() => z.strictObject({ key: keyName(), ...keyUpdateFields() }))
const oneKey = lazy(() => z.strictObject({ key: keyName() }))
const deleteBody = lazy(() =>
  z
    .strictObject({
      keys: z.array(keyName()).min(1).max(1000).optional(),
      key_aliases: z.array(keyName()).min(1).max(1000).optional(),
    })
    .refine(body => body.keys || body.key_aliases, 'give `keys` or `key_aliases`'),
)
const bulkBody = lazy(() => z.strictObject({ keys: z.array(updateBody()).min(1).max(500) }))
const graceField = lazy(() =>
  z
    .union([keyBody().shape.duration, z.literal('').transform(() => null), z.literal(0).transform(() => null)])
    .describe('How long the text before stays valid: `24h`, `7d`, ...; absent = it is refused at once.'),
)
const regenerateBody = lazy(() =>
  z.strictObject({
    ...keyUpdateFields(),
    key: keyName().optional().describe('The key to be replaced; else it stands in the path, or is the one that asks.'),
    new_key: keyBody().shape.key,
    grace_period: graceField(),
  }),
)

const warnings = described('What was accepted, and is probably a mistake; absent = nothing.', listOf(text))
const newKeySchema = named('NewKey', () =>
  shape({ key: described('The key itself, which is shown this once.', text), ...shownKeyFields() }, { warnings }),
)
const changedKeySchema = named('ChangedKey', () =>
  shape(
    { key: described('The last characters of its text, by which people know the key.', text), ...shownKeyFields() },
    { warnings },
  ),
)
const bulkKeyUpdateSchema = named('BulkKeyUpdate', () =>
  shape({
    total_requested: integer,
    successful_updates: listOf(shape({ key: text, key_info: changedKeySchema })),
    failed_updates: listOf(shape({ key: text, failed_reason: text })),
  }),
)
const deletedKeysSchema = named('DeletedKeys', () =>
  shape({ deleted_keys: described('The keys that are deleted, as the request named them.', listOf(text)) }),
)

const about = { tag: 'Keys' }

/**
 * Only the hash of the key text is stored. 422 for invalid fields, 403 beyond the caller's own rights, 409 when the
 * user has the maximum number of keys.
 */
export const keyGenerate: Endpoint = withBody(keyBody, {
  answer: newKeySchema,
  paths: ['/key/generate'],
  auth: 'manager',
  ...about,
  operationId: 'createKey',
  summary: 'Create a key; the answer is the only place that ever shows it',
  requestOptional: true,
  failures: [404, 409],
  async handle(body, { services, caller }) {
    return create(services, caller, body)
  },
})

/** A key of a team and of no user. 422 without `team_id`, or with `user_id`; else as `/key/generate`. */
export const serviceAccountGenerate: Endpoint = withBody(keyBody, {
  answer: newKeySchema,
  paths: ['/key/service-account/generate'],
  auth: 'manager',
  ...about,
  operationId: 'createServiceAccountKey',
  summary: 'Create a key of a team that belongs to no user',
  failures: [404, 409],
  async handle(fields, { services, caller }) {
    if (fields.team_id == null) throw wrongField('team_id', 'is missing; a service account belongs to a team')
    if (fields.user_id != null) throw wrongField('user_id', 'cannot be set; a service account belongs to no user')
    return create(services, caller, fields, { isService: true })
  },
})

async function create(
  services: Services,
  caller: Caller,
  fields: KeyFields,
  { isService = false }: { readonly isService?: boolean } = {},
): Promise<ValueOf<typeof newKeySchema>> {
  if (fields.key != null && !isAdministrator(caller))
    throw forbidden('only administrators choose the text of a key', 'key')
  const keyText = fields.key ?? mintKey()
  const nowMs = services.clock.epochMs()
  const { keysPerUser, newKeys: settings } = services.current.settings
  const made = newKey({ id: randomUUIDv7(), keyText, fields, nowMs, settings })
  const requestedKey = { ...made, hash: services.hashKey(keyText) }
  const record = await services.tenancy.change(actorOf(caller), async tx =>
    tx.insertKey(await grantedNew(tx, caller, requestedKey, { isService }), keysPerUser),
  )
  return {
    key: keyText,
    ...shownKey(record),
    spend: 0,
    ...(await keyWarnings(services, caller, fields, record)),
  }
}

/** Members get a key of their own where they ask for one of the team: it would end with them. Throws 403. */
async function grantedNew(
  tx: TenancyTransaction,
  caller: Caller,
  requestedKey: NewKey,
  { isService }: { readonly isService: boolean },
): Promise<NewKey> {
  const granted = await grantedKey(tx, caller, requestedKey)
  await checkGroups(tx, granted)
  if (isService && granted.userId !== null)
    throw forbidden('only admins of the team make keys that belong to no user', 'team_id')
  return granted
}

/**
 * `warnings` about the fields that were sent; nothing where there are none. For administrators alone: they name models,
 * aliases and objects of the whole gateway.
 */
async function keyWarnings(
  { keys, current, tenancy }: Services,
  caller: Caller,
  fields: Partial<KeyFields>,
  record: KeyRecord,
): Promise<{ warnings?: readonly string[] }> {
  if (!isAdministrator(caller)) return {}
  const warnings = fields.models ? modelWarnings(record.models, current.models.ofTeam(record.teamId)) : []
  if (fields.key_alias && record.alias !== null) {
    const found = await keys.list({ alias: record.alias, limit: 2, offset: 0 })
    if (found.keys.some(one => one.id !== record.id))
      warnings.push(
        `key_alias: another key has the alias \`${record.alias}\` too; /key/delete by this alias is refused then`,
      )
  }
  for (const [field, kind, id] of [
    ['user_id', 'user', record.userId],
    ['budget_id', 'budget', record.budgetId],
  ] as const)
    if (fields[field] && id !== null && !(await tenancy.find(kind, id)))
      warnings.push(`${field}: there is no ${kind} \`${id}\`, so that nothing of it holds for this key; make one`)
  return warnings.length > 0 ? { warnings } : {}
}

/**
 * null resets a field to its default. 404 for an unknown key, 409 when its new user has the maximum number of keys or
 * its `version` is another.
 */
export const keyUpdate: Endpoint = withBody(updateBody, {
  answer: changedKeySchema,
  paths: ['/key/update'],
  auth: 'manager',
  ...about,
  operationId: 'updateKey',
  summary: 'Change a key; only the fields sent change',
  failures: [404, 409],
  async handle(body, { services, caller }) {
    return update(services, caller, body)
  },
})

async function update(
  services: Services,
  caller: Caller,
  { key, version, ...fields }: z.infer<ReturnType<typeof updateBody>>,
) {
  const record = await changeableKey(services, caller, key)
  const changes = keyChanges(fields, services.clock.epochMs())
  const changed = await change({ services, caller }, record, changes, { version })
  const shown = await shownKeyWithSpend(services, changed)
  return { key: record.hint, ...shown, ...(await keyWarnings(services, caller, fields, changed)) }
}

/** Checked against the state of the key within the transaction. */
function change(
  { services, caller }: Pick<EndpointContext, 'services' | 'caller'>,
  { id }: KeyRecord,
  changes: KeyChanges,
  options: KeyUpdateOptions = {},
): Promise<KeyRecord> {
  const { keysPerUser: keysOfUserMax, newKeys } = services.current.settings
  return services.tenancy.change(actorOf(caller), async tx => {
    const before = await tx.findKey({ id })
    if (!before) throw noSuchKey()
    checkKeyBounds({ before, changes, bounds: newKeys.bounds, nowMs: services.clock.epochMs() })
    await checkKeyChange(tx, caller, before, changes)
    await checkGroups(tx, changes)
    return tx.updateKey(id, { ...changes, ...newOwner(caller, before, changes) }, { keysOfUserMax, ...options })
  })
}

/**
 * What a person has stored is not inherited by others who know a text of the key: the holder of a text that another
 * than its user gave it, and its next user, begin anew. With a text of the user's own making the user has it all again.
 */
function newOwner(caller: Caller, before: KeyRecord, changes: KeyChanges): KeyChanges {
  const { userId, id, objectsOwner } = before
  const isMoved = changes.userId !== undefined && changes.userId !== userId
  if (userId === null || (changes.hash === undefined && !isMoved)) return {}
  const isByUser = !isMoved && caller.user?.id === userId
  return {
    objectsOwner: isByUser ? null : newStoringId(id),
    formerObjectsOwner: changes.formerHash ? objectsOwner : null,
  }
}

/** Each key for itself: what fails is reported beside what succeeded. */
export const keyBulkUpdate: Endpoint = withBody(bulkBody, {
  answer: bulkKeyUpdateSchema,
  paths: ['/key/bulk_update'],
  auth: 'manager',
  ...about,
  operationId: 'updateKeys',
  summary: 'Change up to 500 keys, each for itself',
  async handle({ keys }, { services, caller }) {
    const successful: { key: string; key_info: ValueOf<typeof changedKeySchema> }[] = []
    const failed: { key: string; failed_reason: string }[] = []
    for (const one of keys)
      try {
        successful.push({ key: one.key, key_info: await update(services, caller, one) })
      } catch (thrown) {
        const error = toGatewayError(thrown)
        if (error.status >= 500) throw thrown
        failed.push({ key: one.key, failed_reason: error.message })
      }
    return { total_requested: keys.length, successful_updates: successful, failed_updates: failed }
  },
})

/**
 * Another text for the same key: id, limits, windows and what was spent stay. The text before is refused from then on,
 * or after `grace_period`; one that was valid by an earlier such period is refused at once. 404 for an unknown key.
 */
export const keyRegenerate: Endpoint = withBody(regenerateBody, {
  answer: newKeySchema,
  paths: ['/key/regenerate', '/key/{key}/regenerate'],
  auth: 'manager',
  ...about,
  operationId: 'regenerateKey',
  summary: 'Give a key another text; the one before is refused at once, or after `grace_period`',
  failures: [404, 409],
  async handle(body, { services, caller, request }) {
    const { key: named, new_key: chosen, version, grace_period: graceMs, ...fields } = body
    if (chosen != null && !isAdministrator(caller))
      throw forbidden('only administrators choose the text of a key', 'new_key')
    const record = await changeableKey(services, caller, request.params.key ?? named ?? caller.key.id)
    const keyText = chosen ?? mintKey()
    const nowMs = services.clock.epochMs()
    const text = {
      hash: services.hashKey(keyText),
      hint: keyHint(keyText),
      formerHash: graceMs ? record.hash : null,
      formerEndMs: graceMs ? nowMs + graceMs : null,
    }
    const changes = { ...keyChanges(fields, nowMs), ...text }
    const changed = await change({ services, caller }, record, changes, {
      version,
      // Of two regenerations at once only one succeeds: the text of the other would be refused already.
      hashBefore: record.hash,
      action: 'rotated',
    })
    return {
      key: keyText,
      ...(await shownKeyWithSpend(services, changed)),
      ...(await keyWarnings(services, caller, fields, changed)),
    }
  },
})

/**
 * The next request of a blocked key is refused with 401, on other replicas within a second; open calls continue. To
 * unblock one that is not blocked has no effect. 404 for an unknown key.
 */
export const keyBlocking: readonly Endpoint[] = blockingEndpoints(oneKey, {
  ...about,
  answer: keySchema,
  auth: 'manager',
  block: { paths: ['/key/block'], operationId: 'blockKey', summary: 'Block a key at once' },
  unblock: { paths: ['/key/unblock'], operationId: 'unblockKey', summary: 'Let a blocked key work again' },
  async setBlocked(blocked, { key }, { services, caller }) {
    const record = await changeableKey(services, caller, key)
    return shownKeyWithSpend(services, await change({ services, caller }, record, { blocked }))
  },
})

/**
 * Finds all keys before it deletes any: after 404 for an unknown one, or 409 for an ambiguous alias, nothing is
 * deleted.
 */
export const keyDelete: Endpoint = withBody(deleteBody, {
  answer: deletedKeysSchema,
  paths: ['/key/delete'],
  auth: 'manager',
  ...about,
  operationId: 'deleteKeys',
  summary: 'Delete keys for good',
  failures: [404, 409],
  async handle(body, { services, caller }) {
    if (!isAdministrator(caller)) checkMaker(caller)
    // One after the other: which of several is refused first must not show which of them exist.
    const records: KeyRecord[] = []
    for (const named of body.keys ?? []) records.push(await changeableKey(services, caller, named))
    for (const alias of body.key_aliases ?? []) records.push(await findAlias(services, caller, alias))
    await services.tenancy.change(actorOf(caller), async tx => {
      for (const id of new Set(records.map(record => record.id))) await tx.deleteKey(id)
    })
    return { deleted_keys: [...(body.keys ?? []), ...(body.key_aliases ?? [])] }
  },
})

/** Several keys may share an alias, which then identifies none of them. */
async function findAlias(services: Services, caller: Caller, alias: string): Promise<KeyRecord> {
  const { keys, total } = await services.keys.list({ alias, limit: 2, offset: 0 })
  const [record] = keys
  const missing = new GatewayError('not-found', `no key has the alias '${alias}'`, { param: 'key_aliases' })
  if (!record) throw missing
  if (total === 1)
    return changeableKey(services, caller, record.id).catch(() => {
      throw missing
    })
  if (!isAdministrator(caller)) throw missing
  throw new GatewayError(
    'conflict',
    `${total} keys have the alias '${alias}'; delete by \`keys\` (GET /key/list?key_alias=... has their tokens)`,
    { param: 'key_aliases' },
  )
}
