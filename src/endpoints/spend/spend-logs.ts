/** Reads the ledger: one row per call, newest first, in pages by number or cursor. */
import { z } from 'zod'
import { jsonTextAnswer } from '../../core/answer.ts'
import { unprocessable } from '../../core/errors.ts'
import type { Endpoint } from '../../core/endpoint.ts'
import { columnList } from '../../core/ledger/ledger-columns.ts'
import type { LedgerColumn } from '../../core/ledger/ledger-columns.ts'
import type { CallOrder } from '../../core/ledger/ledger.ts'
import { shownFields } from '../../core/ledger/shown-call.ts'
import { readQuery } from '../common/checked-input.ts'
import { boolean, dateTime, described, integer, json, listOf, named, nullable, shape, text } from '../openapi/schema.ts'
import { followedRows, resolved, rowFilter, rowFilterDoc } from './common/row-filter.ts'
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
      not_found: described(
        'For those who see everything: parameters whose value names no key, user, team or organization that there is ' +
          'now. It is taken for the id of a former one.',
        listOf(text),
      ),
      page: integer,
      page_size: integer,
      total_pages: described('How many pages `total` has.', integer),
    },
  ),
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
    model_group: z.string().min(1).max(255).optional(),
    page: z.coerce.number().int().min(1).max(offsetMax).optional(),
    page_size: z.coerce.number().int().min(1).max(1000).default(50),
    cursor: z.string().max(1000).optional(),
    sort_by: z.enum(sortNames).default('startTime'),
    sort_order: z.enum(['asc', 'desc']).optional(),
  }),
)

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
    const found = await resolved(services, query)
    const rowQuery = followedRows(found, caller!)
    const { rows, nextCursor, total, sortedFromMs } = await services.ledger.shown({
      ...rowQuery,
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
    // Others learn of what they may not see nothing, not even that it is there.
    const notFound = rowQuery.visible === undefined && found.notFound.length > 0 && { not_found: found.notFound }
    const rest = JSON.stringify({ next_cursor: nextCursor, ...counts, ...sorted, ...notFound })
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
