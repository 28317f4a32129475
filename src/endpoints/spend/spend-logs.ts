/** Reads the ledger: one row per call, newest first, in pages by cursor. */
import { z } from 'zod'
import { jsonTextAnswer } from '../../core/answer.ts'
import type { Caller } from '../../core/caller.ts'
import type { Endpoint, EndpointDoc, Services } from '../../core/endpoint.ts'
import { columnList, ledgerColumns } from '../../core/ledger/ledger-columns.ts'
import type { LedgerColumn } from '../../core/ledger/ledger-columns.ts'
import type { FollowedRows } from '../../core/ledger/ledger-tail.ts'
import { shownFields } from '../../core/ledger/shown-call.ts'
import { readQuery } from '../common/checked-input.ts'
import { json } from '../openapi/schema.ts'
import { checkKeyAsked, keyIdOf, visibleUsage } from './common/access.ts'
import { rangeOf, spanDoc, spanFields } from '../common/date-span.ts'
import { lazy } from '../../lib/lazy.ts'

const outcomes = ledgerColumns.outcome.values!
const word = lazy(() => z.string().min(1).max(255))
/** Which rows are asked for. */
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
    api_key: word().optional(),
    ...spanFields(),
  }),
)
const spendQuery = lazy(() =>
  rowFilter().extend({
    limit: z.coerce.number().int().min(1).max(1000).default(50),
    cursor: z.string().max(1000).optional(),
    order: z.enum(['asc', 'desc']).optional(),
  }),
)

/** What `rowFilter` takes. */
export const rowFilterDoc: NonNullable<EndpointDoc['query']> = {
  key_id: { schema: { type: 'string' }, description: 'Only calls of this key (`token_id`).' },
  user_id: { schema: { type: 'string' }, description: 'Only calls of this user.' },
  team_id: { schema: { type: 'string' }, description: 'Only calls of this team.' },
  model: { schema: { type: 'string' }, description: 'Only calls of this model.' },
  request_id: { schema: { type: 'string' }, description: 'One call (`x-proxy-call-id`).' },
  session_id: { schema: { type: 'string' }, description: 'Only calls of this session, conversation or trace.' },
  outcome: { schema: { type: 'string' }, description: `${outcomes.join(', ')}.` },
  hits: {
    schema: { enum: ['guardrail', 'cache'] },
    description: 'Only calls in which a guardrail found something or was not answered, or that the cache answered.',
  },
  end_user: { schema: { type: 'string' }, description: 'Only calls for this customer.' },
  api_key: { schema: { type: 'string' }, description: 'Only calls of this key: its `token_id` or hash.' },
  min_duration_ms: {
    schema: { type: 'number', minimum: 0 },
    description:
      'Only calls that took so long. A page then looks at 40,000 calls: with fewer rows it may have a next one.',
  },
  min_spend: {
    schema: { type: 'number', minimum: 0 },
    description: 'Only calls that cost so many dollars; pages as with `min_duration_ms`.',
  },
  ...spanDoc,
}

/** Money is dollars in decimal text. 403 for another key's calls, 422 for wrong filters, 400 for a foreign cursor. */
export const spendLogs: Endpoint = {
  method: 'GET',
  paths: ['/spend/logs'],
  auth: 'key',
  doc: {
    operationId: 'listSpendLogs',
    summary: "The ledger: every call with usage and cost; a key sees its own, the master key everyone's",
    tag: 'Spend',
    query: {
      ...rowFilterDoc,
      limit: { schema: { type: 'integer', default: 50, maximum: 1000 }, description: 'Rows a page.' },
      cursor: { schema: { type: 'string' }, description: '`next_cursor` of the page before, in the same order.' },
      order: { schema: { enum: ['asc', 'desc'], default: 'desc' }, description: 'By time: `asc` = the oldest first.' },
    },
    success: json('SpendLogs'),
    failures: [400, 403],
  },
  async handle(request, services, caller) {
    const query = readQuery(request, spendQuery())
    const { limit, cursor, order } = query
    const asked = followedRows(await withKeyId(services, query), caller!)
    const page = await services.ledger.shown({
      ...asked,
      limit,
      isOldestFirst: order === 'asc',
      ...(cursor !== undefined && { cursor }),
    })
    return jsonTextAnswer(page)
  },
}

type RowFilter = z.infer<ReturnType<typeof rowFilter>>

/** The filter with the id of the key that it names. */
export async function withKeyId<Filter extends RowFilter>(services: Services, filter: Filter): Promise<Filter> {
  return filter.api_key === undefined ? filter : { ...filter, key_id: await keyIdOf(services, filter.api_key) }
}

/** The rows of the filter that the caller may see. Throws 403 where it asks for another key's. */
export function followedRows(query: RowFilter, caller: Caller): FollowedRows {
  checkKeyAsked(caller, query.key_id)
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
    ...(fromMs !== undefined && { fromMs }),
    ...(toMs !== undefined && { toMs }),
  }
}

const jsonTypes: Readonly<Record<LedgerColumn['kind'], string>> = {
  text: 'string',
  list: 'array',
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

/** JSON Schema of a row as `/spend/logs` shows it. */
export const spendLogSchema = {
  type: 'object',
  properties: {
    ...Object.fromEntries(columnList.map(column => [column.name, columnSchema(column)])),
    ...Object.fromEntries(Object.entries(shownFields).map(([name, field]) => [name, field.schema])),
  },
  required: [...columnList.map(column => column.name), ...Object.keys(shownFields)],
}
