/** Reads the ledger: one row per call, newest first, in pages by number or cursor. */
import { z } from 'zod'
import { jsonTextAnswer } from '../../core/answer.ts'
import type { Caller } from '../../core/caller.ts'
import { unprocessable } from '../../core/errors.ts'
import type { Endpoint, EndpointDoc, Services } from '../../core/endpoint.ts'
import { columnList, ledgerColumns } from '../../core/ledger/ledger-columns.ts'
import type { LedgerColumn } from '../../core/ledger/ledger-columns.ts'
import type { CallOrder } from '../../core/ledger/ledger.ts'
import type { FollowedRows } from '../../core/ledger/ledger-tail.ts'
import { shownFields } from '../../core/ledger/shown-call.ts'
import { readQuery } from '../common/checked-input.ts'
import { boolean, dateTime, described, integer, json, listOf, named, nullable, shape, text } from '../openapi/schema.ts'
import { checkRequestedKey, keyIdOf, keyIdsOf, visibleUsage } from './common/access.ts'
import { rangeOf, spanDoc, spanFields } from '../common/date-span.ts'
import { lazy } from '../../lib/lazy.ts'

/** A row of the ledger. */
export const spendLogSchema = named('SpendLog', () => shownRowSchema)

const spendLogsSchema = named('SpendLogs', () =>
  shape(
    { data: listOf(spendLogSchema), next_cursor: nullable(text) },
    {
      total: described('Rows of all pages; this and what follows are absent with a cursor.', integer),
      total_is_capped: described('There are more than `total`: follow `next_cursor`.', boolean),
      sorted_from: described(
        'With `sort_by`: only calls that began from here on are in order, as there are over 40,000; null = all.',
        nullable(dateTime),
      ),
      page: integer,
      page_size: integer,
      total_pages: described('How many pages `total` has.', integer),
    },
  ),
)

const outcomes = ledgerColumns.outcome.values!
const word = lazy(() => z.string().min(1).max(255))

/** Which rows are requested. */
export const rowFilter = lazy(() =>
  z.strictObject({
    key_id: word().optional(),
    user_id: word().optional(),
    team_id: word().optional(),
    model: word().optional(),
    request_id: word().optional(),
    session_id: word().optional(),
    outcome: z.enum(outcomes).optional(),
    hits: z.enum(['guardrail', 'cache']).optional(),
    end_user: word().optional(),
    min_duration_ms: z.coerce.number().min(0).max(1e12).optional(),
    min_spend: z.coerce.number().min(0).max(1e6).optional(),
    max_spend: z.coerce.number().min(0).max(1e6).optional(),
    model_id: word().optional(),
    error_code: z.coerce.number().int().min(100).max(599).optional(),
    api_key: word().optional(),
    ...spanFields(),
  }),
)

/** Rows before a page by its number: beyond them reading a page takes seconds, and a cursor does not. */
const offsetMax = 1_000_000

/** By the names of LiteLLM; undefined = by time, which alone an index knows. */
const sortFields: Readonly<Record<string, CallOrder | undefined>> = {
  startTime: undefined,
  endTime: 'end',
  spend: 'cost',
  total_tokens: 'tokens',
  request_duration_ms: 'duration',
  model: 'model',
  ttft_ms: 'first_byte',
}

const sortNames = Object.keys(sortFields)

const spendQuery = lazy(() =>
  rowFilter().extend({
    status_filter: z.enum(['success', 'failure']).optional(),
    key_alias: word().optional(),
    model_group: word().optional(),
    page: z.coerce.number().int().min(1).max(offsetMax).optional(),
    page_size: z.coerce.number().int().min(1).max(1000).default(50),
    cursor: z.string().max(1000).optional(),
    sort_by: z.enum(sortNames).default('startTime'),
    sort_order: z.enum(['asc', 'desc']).optional(),
  }),
)

/** What `rowFilter` takes. */
export const rowFilterDoc: NonNullable<EndpointDoc['query']> = {
  key_id: { schema: { type: 'string' }, description: 'Only calls of this key (`token_id`) are listed.' },
  user_id: { schema: { type: 'string' }, description: 'Only calls of this user are listed.' },
  team_id: { schema: { type: 'string' }, description: 'Only calls of this team are listed.' },
  model: { schema: { type: 'string' }, description: 'Only calls of this model are listed.' },
  request_id: { schema: { type: 'string' }, description: 'Only this call (`x-proxy-call-id`) is listed.' },
  session_id: {
    schema: { type: 'string' },
    description: 'Only calls of this session, conversation or trace are listed.',
  },
  outcome: { schema: { type: 'string' }, description: `How the calls have ended: ${outcomes.join(', ')}.` },
  hits: {
    schema: { enum: ['guardrail', 'cache'] },
    description: 'Only calls in which a guardrail found something or was not answered, or that the cache answered.',
  },
  end_user: { schema: { type: 'string' }, description: 'Only calls for this customer are listed.' },
  api_key: {
    schema: { type: 'string' },
    description: 'Only calls of this key are listed: it is its `token_id` or hash.',
  },
  min_duration_ms: {
    schema: { type: 'number', minimum: 0 },
    description:
      'Only calls that took so long. A page then looks at 40,000 calls: with fewer rows it may have a next one.',
  },
  min_spend: {
    schema: { type: 'number', minimum: 0 },
    description: 'Only calls that cost so many dollars; pages as with `min_duration_ms`.',
  },
  max_spend: {
    schema: { type: 'number', minimum: 0 },
    description:
      'Only calls that cost no more dollars, as far as their cost is known; pages as with `min_duration_ms`.',
  },
  model_id: {
    schema: { type: 'string' },
    description: 'Only calls of this deployment are listed; pages go as with `min_duration_ms`.',
  },
  error_code: {
    schema: { type: 'integer', minimum: 100, maximum: 599 },
    description: 'Only calls that failed with this HTTP status; pages as with `min_duration_ms`.',
  },
  ...spanDoc,
}

/** Money is dollars in decimal text. 403 for another key's calls, 422 for wrong filters, 400 for a foreign cursor. */
export const spendLogs: Endpoint = {
  method: 'GET',
  paths: ['/spend/logs/v2', '/spend/logs/ui', '/spend/logs/session/ui'],
  auth: 'key',
  doc: {
    operationId: 'listSpendLogPages',
    summary: "The ledger: every call with usage and cost; a key sees its own, the master key everyone's",
    tag: 'Spend',
    query: {
      ...rowFilterDoc,
      status_filter: {
        schema: { enum: ['success', 'failure'] },
        description: 'With `failure` every outcome but `success` is listed.',
      },
      key_alias: { schema: { type: 'string' }, description: 'Only calls of keys with this alias are listed.' },
      model_group: { schema: { type: 'string' }, description: 'As `model`, for scripts that name it so.' },
      page: {
        schema: { type: 'integer', minimum: 1 },
        description:
          'From 1, which it is without a cursor. New calls move the rows of a page: they do not with a cursor.',
      },
      page_size: { schema: { type: 'integer', default: 50, maximum: 1000 }, description: 'How many rows a page has.' },
      cursor: {
        schema: { type: 'string' },
        description:
          '`next_cursor` of the page before, in the same order; `first` = the first page. Nothing is counted.',
      },
      sort_by: {
        schema: { enum: sortNames, default: 'startTime' },
        description:
          'By another field than `startTime` the newest 40,000 rows are ordered, in pages by number; where there are ' +
          'more `sorted_from` is not null. What is not known comes last.',
      },
      sort_order: {
        schema: { enum: ['asc', 'desc'], default: 'desc' },
        description: 'With `asc` the oldest, least or first one of the alphabet comes first.',
      },
    },
    success: json(spendLogsSchema),
    failures: [400, 403],
  },
  async handle(request, services, caller) {
    const query = withModel(readQuery(request, spendQuery()))
    const { page_size: size, cursor } = query
    const page = pageOf(query)
    const sortBy = sortFields[query.sort_by]
    const rowQuery = followedRows(await withKeyId(services, query), caller!)
    const { rows, nextCursor, total, sortedFromMs } = await services.ledger.shown({
      ...rowQuery,
      ...(query.status_filter === 'success' && { outcome: 'success' }),
      ...(query.status_filter === 'failure' && { isFailed: true }),
      ...(query.key_alias !== undefined && { keyIds: await keyIdsOf(services, query.key_alias) }),
      ...(sortBy && { sortBy }),
      limit: size,
      isOldestFirst: query.sort_order === 'asc',
      ...(page === undefined
        ? cursor !== 'first' && { cursor: cursor! }
        : { offset: (page - 1) * size, isCounted: true }),
    })
    const counts = total && {
      total: total.rows,
      total_is_capped: total.isCapped,
      page,
      page_size: size,
      total_pages: Math.ceil(total.rows / size),
    }
    const sorted = sortedFromMs !== undefined && {
      sorted_from: sortedFromMs === null ? null : new Date(sortedFromMs).toISOString(),
    }
    const rest = JSON.stringify({ next_cursor: nextCursor, ...counts, ...sorted })
    return jsonTextAnswer(Buffer.concat([Buffer.from('{"data":['), rows, Buffer.from(`],${rest.slice(1)}`)]))
  },
}

/** With `model` where it is named as LiteLLM's group of a model. Throws 422 where the two differ. */
function withModel(query: z.infer<ReturnType<typeof spendQuery>>): typeof query {
  const { model, model_group: group } = query
  if (model === undefined || group === undefined || model === group) return { ...query, model: model ?? group }
  throw unprocessable([{ loc: ['query', 'model_group'], msg: 'is another than `model`; send one', type: 'invalid' }])
}

/**
 * The number of the page; undefined = pages by cursor. Throws 422 for both, for a page too far behind, and for a cursor
 * in a list that is not by time.
 */
function pageOf({ page, cursor, page_size: size, sort_by: sortBy }: z.infer<ReturnType<typeof spendQuery>>) {
  const refused = (msg: string, field = 'page') => unprocessable([{ loc: ['query', field], msg, type: 'invalid' }])
  if (cursor !== undefined && sortFields[sortBy])
    throw refused(`is for lists by time; with \`sort_by=${sortBy}\` pages go by \`page\``, 'cursor')
  if (cursor === undefined) {
    if (((page ?? 1) - 1) * size <= offsetMax) return page ?? 1
    throw refused(`is behind ${offsetMax} rows: follow next_cursor, or ask for a shorter span`)
  }
  if (page === undefined) return undefined
  throw refused('is given beside a cursor; send one of them')
}

type RowFilter = z.infer<ReturnType<typeof rowFilter>>

/** The filter with the id of the key that it names. */
export async function withKeyId<Filter extends RowFilter>(services: Services, filter: Filter): Promise<Filter> {
  return filter.api_key === undefined ? filter : { ...filter, key_id: await keyIdOf(services, filter.api_key) }
}

/** The rows of the filter that the caller may see. Throws 403 where it asks for another key's. */
export function followedRows(query: RowFilter, caller: Caller): FollowedRows {
  checkRequestedKey(caller, query.key_id)
  const { fromMs, toMs } = rangeOf(query)
  return {
    visible: visibleUsage(caller),
    ...(query.key_id !== undefined && { keyId: query.key_id }),
    ...(query.user_id !== undefined && { userId: query.user_id }),
    ...(query.team_id !== undefined && { teamId: query.team_id }),
    ...(query.model !== undefined && { model: query.model }),
    ...(query.request_id !== undefined && { requestId: query.request_id }),
    ...(query.session_id !== undefined && { sessionId: query.session_id }),
    ...(query.end_user !== undefined && { endUser: query.end_user }),
    ...(query.outcome !== undefined && { outcome: query.outcome }),
    ...(query.hits !== undefined && { hits: query.hits }),
    ...(query.min_duration_ms !== undefined && { minDurationMs: query.min_duration_ms }),
    ...(query.min_spend !== undefined && { minCostNanoUsd: Math.round(query.min_spend * 1e9) }),
    ...(query.max_spend !== undefined && { maxCostNanoUsd: Math.round(query.max_spend * 1e9) }),
    ...(query.model_id !== undefined && { deploymentId: query.model_id }),
    ...(query.error_code !== undefined && { errorStatus: query.error_code }),
    ...(fromMs !== undefined && { fromMs }),
    ...(toMs !== undefined && { toMs }),
  }
}

const jsonTypes: Readonly<Record<LedgerColumn['kind'], string>> = {
  text: 'string',
  list: 'array',
  json: 'string',
  decimal: 'string',
  integer: 'integer',
  integer32: 'integer',
  number: 'number',
  boolean: 'boolean',
}

function columnSchema({ kind, nullable, description, values }: LedgerColumn): object {
  const type = jsonTypes[kind]
  const items = kind === 'list' ? { items: { type: 'string' } } : {}
  return {
    type: nullable ? [type, 'null'] : type,
    ...items,
    ...(values && { enum: nullable ? [...values, null] : values }),
    description,
  }
}

/** JSON Schema of a row as the API shows it. */
export const shownRowSchema = {
  type: 'object',
  properties: {
    ...Object.fromEntries(columnList.map(column => [column.name, columnSchema(column)])),
    ...Object.fromEntries(Object.entries(shownFields).map(([name, field]) => [name, field.schema])),
  },
  required: [...columnList.map(column => column.name), ...Object.keys(shownFields)],
}
