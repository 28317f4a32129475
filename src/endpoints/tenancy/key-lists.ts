/** Keys read: one, several, lists of them, their aliases, and whether the caller's own works. */
import { z } from 'zod'
import { groupsOf, mayReadAll, maySeeKey, organizationsOf } from '../../access/rights.ts'
import { keyName } from '../../access/fields/checks.ts'
import { shownBudget } from '../../access/fields/tenant-fields.ts'
import { isMaster } from '../../core/caller.ts'
import type { Caller } from '../../core/caller.ts'
import type { Endpoint, Services } from '../../core/endpoint.ts'
import { GatewayError, unprocessable } from '../../core/errors.ts'
import { keyActions } from '../../core/tenancy/actions.ts'
import { budgetFields } from '../../core/tenancy/field-tables.ts'
import { keyStates } from '../../core/tenancy/keys.ts'
import type { KeyQuery, KeyRecord } from '../../core/tenancy/keys.ts'
import { readQuery } from '../common/checked-input.ts'
import { jsonEndpoint, withBody } from '../common/json-endpoint.ts'
import { fieldSchemas } from '../openapi/field-schemas.ts'
import { described, either, integer, listOf, named, nullable, shape, text } from '../openapi/schema.ts'
import type { Schema, ValueOf } from '../openapi/schema.ts'
import { allowedOfKey, maySchema } from './common/allowed-actions.ts'
import { spendingStateFields, spendingStateOf } from './common/budget-states.ts'
import { cursorField, forbidden, nextCursor, noSuchKey, pageOf, shownKeyFields, shownKeys } from '../common/answers.ts'
import { lookForKey, teamOf } from './common/key-rights.ts'
import { lazy } from '../../lib/lazy.ts'

const about = { tag: 'Keys' }
const nothing: Schema<null> = { type: 'null' }

const listedKeyFields = () => ({
  ...shownKeyFields(),
  team_alias: described('The name that its team has.', nullable(text)),
  user_alias: described('The name that its user has.', nullable(text)),
  user_email: described('The address that its user has.', nullable(text)),
})
const listedKeySchema = named('ListedKey', () => shape(listedKeyFields()))
const keyRowSchema = named('KeyRow', () =>
  shape({ ...listedKeyFields(), litellm_budget_table: nullable(shape(fieldSchemas(budgetFields))) }),
)
const keyInfoSchema = named('KeyInfo', () =>
  shape({
    key: described('The key as it was asked for.', text),
    may: maySchema(keyActions),
    info: keyRowSchema,
    ...spendingStateFields,
  }),
)
const keyListSchema = named('KeyList', () =>
  shape({
    keys: listOf(either(described('The hash by which a key is stored.', text), listedKeySchema)),
    total_count: integer,
    current_page: integer,
    total_pages: integer,
    next_cursor: nullable(text),
  }),
)

const infoQuery = lazy(() =>
  z.object({ key: z.string().optional().describe('It is the text of a key, its token or its id.') }),
)
const infoBody = lazy(() => z.strictObject({ keys: z.array(keyName()).max(100).optional() }))
const listQuery = lazy(() =>
  z.strictObject({
    page: z.coerce.number().int().min(1).default(1),
    size: z.coerce.number().int().min(1).max(100).default(10),
    cursor: cursorField(),
    user_id: keyName().optional(),
    team_id: keyName().optional(),
    organization_id: keyName().optional(),
    key_alias: keyName().optional(),
    key_hash: keyName().optional(),
    of_directory: z
      .stringbool()
      .optional()
      .describe('With true only tokens of directories are listed (POST /scim/tokens).'),
    search: keyName()
      .optional()
      .describe(
        "It is a part of the alias, of the last characters or of the team's name, in any case, or it is the whole id.",
      ),
    return_full_object: z.stringbool().default(false),
    include_team_keys: z
      .stringbool()
      .default(true)
      .describe('Whether keys of teams that you administer are listed as well.'),
    include_created_by_keys: z.stringbool().optional().describe('Accepted as LiteLLM takes it; without effect.'),
    sort_by: z
      .enum(['created_at', 'key_alias', 'expires'])
      .default('created_at')
      .describe('By another field than `created_at` pages go by `page`; keys without an end count as the last ones.'),
    sort_order: z.enum(['asc', 'desc']).default('desc'),
    state: z
      .enum(keyStates)
      .optional()
      .describe('Only keys that are so now: `active`, `ending` within 14 days, `expired`, `blocked`.'),
    expand: z.enum(['user']).optional().describe('Accepted as LiteLLM takes it; without effect.'),
    status: z.enum(['deleted']).optional().describe('Deleted keys are listed in place of the others.'),
  }),
)
const aliasQuery = lazy(() =>
  z.strictObject({
    page: z.coerce.number().int().min(1).default(1),
    size: z.coerce.number().int().min(1).max(1000).default(1000),
  }),
)

/** A key may read itself, its user's keys, and those of teams that its user administers. 403 for all others. */
export const keyInfo: Endpoint = jsonEndpoint(keyInfoSchema, {
  method: 'GET',
  paths: ['/key/info'],
  auth: 'key',
  doc: {
    ...about,
    operationId: 'getKey',
    summary: "One key; without `key`, the caller's own",
    query: infoQuery,
    failures: [404],
  },
  async handle(request, services, caller) {
    const { key: named } = readQuery(request, infoQuery())
    if (isMaster(caller!) && named === undefined)
      throw new GatewayError('not-found', 'the master key is no virtual key; name one: /key/info?key=...', {
        param: 'key',
      })
    const record = await visibleKey(services, caller!, named ?? caller!.key.id)
    const [info, state, may] = await Promise.all([
      infoOf(services, record),
      spendingStateOf(services, 'key', record),
      allowedOfKey(services, caller!, record),
    ])
    return { key: named ?? record.hint, may, info, ...state }
  },
})

const keyInfosSchema = named('KeyInfos', () => shape({ key: listOf(text), info: listOf(keyRowSchema) }))

/** Several keys at once; all or nothing. */
export const keyInfos: Endpoint = withBody(infoBody, {
  answer: keyInfosSchema,
  paths: ['/v2/key/info'],
  auth: 'key',
  ...about,
  operationId: 'getKeys',
  summary: 'Several keys',
  failures: [404],
  async handle(body, { services, caller }) {
    const { keys = [caller.key.id] } = body
    const records = await Promise.all(keys.map(named => visibleKey(services, caller, named)))
    return { key: keys, info: await Promise.all(records.map(record => infoOf(services, record))) }
  },
})

/** The same error for keys that exist and keys that do not: a key cannot be used to search for others. */
async function visibleKey(services: Services, caller: Caller, named: string): Promise<KeyRecord> {
  const record = await lookForKey(services, named)
  if (record && maySeeKey(caller, record, await teamOf(services.tenancy, record))) return record
  if (mayReadAll(caller)) throw noSuchKey()
  throw forbidden('a key may only ask about itself, its user, and teams that its user administers', 'key')
}

/** With the names of their teams and users; what is gone has none. */
async function listedKeys(services: Services, keys: readonly KeyRecord[]): Promise<ValueOf<typeof listedKeySchema>[]> {
  const idsOf = (name: 'teamId' | 'userId') => [...new Set(keys.flatMap(key => key[name] ?? []))]
  const [shown, teams, users] = await Promise.all([
    shownKeys(services, keys),
    services.tenancy.findAll('team', idsOf('teamId')),
    services.tenancy.findAll('user', idsOf('userId')),
  ])
  const teamsById = new Map(teams.map(team => [team.id, team]))
  const usersById = new Map(users.map(user => [user.id, user]))
  return shown.map((one, at) => {
    const { teamId, userId } = keys[at]!
    const user = usersById.get(userId ?? '')
    return {
      ...one,
      team_alias: teamsById.get(teamId ?? '')?.alias ?? null,
      user_alias: user?.alias ?? null,
      user_email: user?.email ?? null,
    }
  })
}

async function infoOf(services: Services, record: KeyRecord): Promise<ValueOf<typeof keyRowSchema>> {
  const budget = record.budgetId === null ? undefined : await services.tenancy.find('budget', record.budgetId)
  const [shown] = await listedKeys(services, [record])
  return { ...shown!, litellm_budget_table: budget ? shownBudget(budget) : null }
}

/** The keys that a caller may list; undefined = all. `withTeams` = also those of teams and organizations of its own. */
function visibleTo(caller: Caller, { withTeams }: { readonly withTeams: boolean }): KeyQuery['visible'] {
  if (mayReadAll(caller)) return undefined
  if (!caller.user || caller.role === 'key') throw forbidden('this key belongs to no user, whose keys it could list')
  return {
    userId: caller.user.id,
    teamIds: withTeams ? groupsOf(caller, 'team', 'admin') : [],
    organizationIds: withTeams ? organizationsOf(caller) : [],
  }
}

/**
 * Newest first, in pages from 1 or by cursor; only hashes unless `return_full_object=true`. A page after the last one
 * is empty. Callers that may not read everything get the keys of their user and of the teams that they administer.
 */
export const keyList: Endpoint = jsonEndpoint(keyListSchema, {
  method: 'GET',
  paths: ['/key/list'],
  auth: 'key',
  doc: {
    ...about,
    operationId: 'listKeys',
    summary: 'List keys',
    query: listQuery,
  },
  async handle(request, services, caller) {
    const query = readQuery(request, listQuery())
    const sortBy = sortFields[query.sort_by]
    if (sortBy && query.cursor)
      throw unprocessable([
        { loc: ['query', 'cursor'], msg: 'is for lists by `created_at`; use `page`', type: 'invalid' },
      ])
    const page = pageOf(query.page, query.size, query.cursor)
    const { keys, total } = await services.keys.list({
      userId: query.user_id,
      teamId: query.team_id,
      organizationId: query.organization_id,
      alias: query.key_alias,
      search: query.search,
      hash: query.key_hash,
      ofDirectory: query.of_directory,
      deleted: query.status === 'deleted',
      state: query.state && { is: query.state, nowMs: services.clock.epochMs() },
      sortBy,
      ascending: query.sort_order === 'asc',
      visible: visibleTo(caller!, { withTeams: query.include_team_keys }),
      ...page,
    })
    const shown = query.return_full_object ? await listedKeys(services, keys) : keys.map(record => record.hash)
    return {
      keys: shown,
      total_count: total,
      current_page: query.page,
      total_pages: Math.ceil(total / query.size),
      next_cursor: sortBy ? null : nextCursor(keys, query.size),
    }
  },
})

const sortFields = { created_at: undefined, key_alias: 'name', expires: 'end' } as const

const keyAliasesSchema = named('KeyAliases', () =>
  shape({ aliases: listOf(text), total_count: integer, current_page: integer, total_pages: integer }),
)

/** The aliases of the keys that the caller may list. */
export const keyAliases: Endpoint = jsonEndpoint(keyAliasesSchema, {
  method: 'GET',
  paths: ['/key/aliases'],
  auth: 'key',
  doc: {
    ...about,
    operationId: 'listKeyAliases',
    summary: 'The aliases of keys',
    query: aliasQuery,
  },
  async handle(request, services, caller) {
    const { page, size } = readQuery(request, aliasQuery())
    const { keys, total } = await services.keys.list({
      visible: visibleTo(caller!, { withTeams: true }),
      ...pageOf(page, size, undefined),
    })
    return {
      aliases: [...new Set(keys.flatMap(({ alias }) => (alias === null ? [] : [alias])))],
      total_count: total,
      current_page: page,
      total_pages: Math.ceil(total / size),
    }
  },
})

const keyHealthSchema = named('KeyHealth', () => shape({ key: text, logging_callbacks: nothing }))

/** Answers only a key that works. */
export const keyHealth: Endpoint = jsonEndpoint(keyHealthSchema, {
  method: 'POST',
  paths: ['/key/health'],
  auth: 'key',
  doc: {
    ...about,
    operationId: 'getKeyHealth',
    summary: 'Whether this key works',
  },
  handle: () => ({ key: 'healthy', logging_callbacks: null }),
})
