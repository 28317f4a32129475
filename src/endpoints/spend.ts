/** The ledger, read: one row a call, newest first, by cursor. */
import { z } from 'zod'
import { nanoUsdToText } from '../accounts/cost.ts'
import { jsonAnswer } from '../core/answer.ts'
import type { Caller } from '../core/caller.ts'
import type { Endpoint } from '../core/endpoint.ts'
import { GatewayError, unprocessable } from '../core/errors.ts'
import type { LedgerQuery, LedgerRow } from '../core/ports.ts'
import { parseIsoDate } from '../lib/iso-date.ts'
import { readQuery } from './checked-input.ts'
import { json } from './openapi/schema.ts'

const moment = z.string().transform((text, context) => {
  const read = parseIsoDate(text)
  if (read) return read
  context.addIssue({
    code: 'custom',
    message: 'must be a date of the calendar: 2026-11-21, 2026-11-21T08:00:00Z or with an offset such as +02:00',
  })
  return z.NEVER
})
const word = z.string().min(1).max(255)
const spendQuery = z.strictObject({
  key_id: word.optional(),
  user_id: word.optional(),
  team_id: word.optional(),
  model: word.optional(),
  request_id: word.optional(),
  outcome: z.enum(['success', 'error', 'client_closed', 'upstream_cut', 'interrupted']).optional(),
  start_date: moment.optional(),
  end_date: moment.optional(),
  limit: z.coerce.number().int().min(1).max(1000).default(50),
  cursor: z.string().max(1000).optional(),
})

const dateForms = '2026-11-21, 2026-11-21T08:00:00Z or 2026-11-21T08:00:00+02:00; UTC unless it says otherwise.'

/**
 * Money is dollars in decimal text. 403 for another key's calls, 422 for wrong filters, 400 for a cursor that is not
 * ours.
 */
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
      request_id: { schema: { type: 'string' }, description: 'One call (`x-request-id`).' },
      outcome: { schema: { type: 'string' }, description: 'success, error, client_closed, upstream_cut, interrupted.' },
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

/** An end without a time is the whole of its day, as users of the peer know it. */
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

/** `spend` is dollars as decimal text, exact; null = the price is not known. `audio_seconds` is for human eyes. */
function shownRow(row: LedgerRow): object {
  return {
    ...row,
    started_at: new Date(row.started_at_ms).toISOString(),
    spend: row.cost_nano_usd === null ? null : nanoUsdToText(BigInt(row.cost_nano_usd)),
    audio_seconds: row.audio_microseconds === null ? null : row.audio_microseconds / 1e6,
  }
}
