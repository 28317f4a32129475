/** Reads the ledger: one row per call, newest first, in pages by cursor. */
import { z } from 'zod'
import { nanoUsdToText } from '../../accounts/cost.ts'
import { jsonAnswer } from '../../core/answer.ts'
import type { Caller } from '../../core/caller.ts'
import type { Endpoint } from '../../core/endpoint.ts'
import { GatewayError, unprocessable } from '../../core/errors.ts'
import { columnList, ledgerColumns } from '../../core/ledger-columns.ts'
import type { LedgerColumn, LedgerRow } from '../../core/ledger-columns.ts'
import type { LedgerQuery } from '../../core/ledger.ts'
import { parseIsoDate } from '../../lib/iso-date.ts'
import { readQuery } from '../checked-input.ts'
import { json } from '../openapi/schema.ts'

const moment = z.string().transform((text, context) => {
  const read = parseIsoDate(text)
  if (read) return read
  context.addIssue({
    code: 'custom',
    message: 'must be a date of the calendar: 2026-11-21, 2026-11-21T08:00:00Z or with an offset such as +02:00',
  })
  return z.NEVER
})
const outcomes = ledgerColumns.outcome.values!
const word = z.string().min(1).max(255)
const spendQuery = z.strictObject({
  key_id: word.optional(),
  user_id: word.optional(),
  team_id: word.optional(),
  model: word.optional(),
  request_id: word.optional(),
  outcome: z.enum(outcomes).optional(),
  start_date: moment.optional(),
  end_date: moment.optional(),
  limit: z.coerce.number().int().min(1).max(1000).default(50),
  cursor: z.string().max(1000).optional(),
})

const dateForms = '2026-11-21, 2026-11-21T08:00:00Z or 2026-11-21T08:00:00+02:00; UTC unless it says otherwise.'

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
      key_id: { schema: { type: 'string' }, description: 'Only calls of this key (`token_id`).' },
      user_id: { schema: { type: 'string' }, description: 'Only calls of this user.' },
      team_id: { schema: { type: 'string' }, description: 'Only calls of this team.' },
      model: { schema: { type: 'string' }, description: 'Only calls of this model.' },
      request_id: { schema: { type: 'string' }, description: 'One call (`x-proxy-call-id`).' },
      outcome: { schema: { type: 'string' }, description: `${outcomes.join(', ')}.` },
      start_date: { schema: { type: 'string' }, description: `From here on, inclusive. ${dateForms}` },
      end_date: {
        schema: { type: 'string' },
        description: `A date: up to its end, the day included. With a time: up to here, exclusive. ${dateForms}`,
      },
      limit: { schema: { type: 'integer', default: 50, maximum: 1000 }, description: 'Rows a page.' },
      cursor: { schema: { type: 'string' }, description: '`next_cursor` of the page before.' },
    },
    success: json('SpendLogs'),
    failures: [400, 403],
  },
  async handle(request, services, caller) {
    const query = readQuery(request, spendQuery)
    const { rows, nextCursor } = await services.ledger.query(ledgerQuery(query, caller!))
    return jsonAnswer({ data: rows.map(shownRow), next_cursor: nextCursor })
  },
}

function ledgerQuery(query: z.infer<typeof spendQuery>, caller: Caller): LedgerQuery {
  const own = caller.role === 'admin' ? undefined : caller.key.id
  if (own !== undefined && query.key_id !== undefined && query.key_id !== own)
    throw new GatewayError('forbidden', 'a key may only read its own calls', { param: 'key_id' })
  const keyId = own ?? query.key_id
  const { fromMs, toMs } = rangeOf(query)
  return {
    limit: query.limit,
    ...(keyId !== undefined && { keyId }),
    ...(query.user_id !== undefined && { userId: query.user_id }),
    ...(query.team_id !== undefined && { teamId: query.team_id }),
    ...(query.model !== undefined && { model: query.model }),
    ...(query.request_id !== undefined && { requestId: query.request_id }),
    ...(query.outcome !== undefined && { outcome: query.outcome }),
    ...(fromMs !== undefined && { fromMs }),
    ...(toMs !== undefined && { toMs }),
    ...(query.cursor !== undefined && { cursor: query.cursor }),
  }
}

const dayMs = 86_400_000

/** An end date without a time includes the whole day, as in LiteLLM. */
function rangeOf({ start_date: start, end_date: end }: z.infer<typeof spendQuery>): {
  fromMs?: number | undefined
  toMs?: number | undefined
} {
  const fromMs = start?.ms
  const lastMs = end && (end.isDay ? end.ms + dayMs - 1 : end.ms)
  if (fromMs !== undefined && lastMs !== undefined && fromMs > lastMs)
    throw unprocessable([{ loc: ['query', 'end_date'], msg: 'is before start_date; swap them', type: 'out_of_range' }])
  return { fromMs, toMs: end && (end.isDay ? end.ms + dayMs : end.ms) }
}

interface ShownField {
  /** JSON Schema of the value. */
  readonly schema: object
  readonly valueOf: (row: LedgerRow) => unknown
}

/** What a row shows beside its columns: the same values in units for people. */
const shownFields: Readonly<Record<string, ShownField>> = {
  started_at: {
    schema: { type: 'string', format: 'date-time' },
    valueOf: row => new Date(row.started_at_ms).toISOString(),
  },
  spend: {
    schema: { type: ['string', 'null'], description: '`cost_nano_usd` in dollars, as decimal text, exact.' },
    valueOf: ({ cost_nano_usd: nanoUsd }) => (nanoUsd === null ? null : nanoUsdToText(BigInt(nanoUsd))),
  },
  audio_seconds: {
    schema: { type: ['number', 'null'], description: '`audio_microseconds` in seconds.' },
    valueOf: ({ audio_microseconds: microseconds }) => (microseconds === null ? null : microseconds / 1e6),
  },
}
const shown = Object.entries(shownFields)

function shownRow(row: LedgerRow): object {
  return { ...row, ...Object.fromEntries(shown.map(([name, field]) => [name, field.valueOf(row)])) }
}

const jsonTypes: Readonly<Record<LedgerColumn['kind'], string>> = {
  text: 'string',
  decimal: 'string',
  integer: 'integer',
  integer32: 'integer',
  number: 'number',
  boolean: 'boolean',
}

function columnSchema({ kind, nullable, description, values }: LedgerColumn): object {
  const type = jsonTypes[kind]
  return { type: nullable ? [type, 'null'] : type, ...(values && { enum: values }), description }
}

/** JSON Schema of a row as `/spend/logs` shows it. */
export const spendLogSchema = {
  type: 'object',
  properties: {
    ...Object.fromEntries(columnList.map(column => [column.name, columnSchema(column)])),
    ...Object.fromEntries(shown.map(([name, field]) => [name, field.schema])),
  },
  required: [...columnList.map(column => column.name), ...shown.map(([name]) => name)],
}
