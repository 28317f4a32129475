/** The ledger, read: one row a call, newest first, by cursor. */
import { z } from 'zod'
import { nanoUsdToText } from '../accounts/cost.ts'
import { jsonAnswer } from '../core/answer.ts'
import type { Caller } from '../core/call.ts'
import type { Endpoint } from '../core/endpoint.ts'
import { GatewayError } from '../core/errors.ts'
import type { LedgerQuery, LedgerRow } from '../core/ports.ts'
import { readQuery } from './admin-body.ts'

const moment = z
  .string()
  .transform((text, context) => {
    const ms = Date.parse(/^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00:00Z` : text)
    if (Number.isNaN(ms)) context.addIssue({ code: 'custom', message: 'must be a date: 2026-11-21 or 2026-11-21T08:00:00Z' })
    return ms
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

export const spendLogs: Endpoint = {
  method: 'GET',
  paths: ['/spend/logs'],
  auth: 'key',
  doc: {
    summary: "The ledger: every call with usage and cost; a key sees its own, the master key everyone's",
    tag: 'Spend',
    query: {
      key_id: { schema: { type: 'string' }, description: 'Only calls of this key (`token_id`).' },
      user_id: { schema: { type: 'string' }, description: 'Only calls of this user.' },
      team_id: { schema: { type: 'string' }, description: 'Only calls of this team.' },
      model: { schema: { type: 'string' }, description: 'Only calls of this model.' },
      request_id: { schema: { type: 'string' }, description: 'One call (`x-request-id`).' },
      outcome: { schema: { type: 'string' }, description: 'success, error, client_closed, upstream_cut, interrupted.' },
      start_date: { schema: { type: 'string' }, description: 'From here on, inclusive (UTC).' },
      end_date: { schema: { type: 'string' }, description: 'Up to here, exclusive (UTC).' },
      limit: { schema: { type: 'integer', default: 50, maximum: 1000 }, description: 'Rows a page.' },
      cursor: { schema: { type: 'string' }, description: '`next_cursor` of the page before.' },
    },
    response: { type: 'object' },
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
  return {
    limit: query.limit,
    ...(keyId !== undefined && { keyId }),
    ...(query.user_id !== undefined && { userId: query.user_id }),
    ...(query.team_id !== undefined && { teamId: query.team_id }),
    ...(query.model !== undefined && { model: query.model }),
    ...(query.request_id !== undefined && { requestId: query.request_id }),
    ...(query.outcome !== undefined && { outcome: query.outcome }),
    ...(query.start_date !== undefined && { fromMs: query.start_date }),
    ...(query.end_date !== undefined && { toMs: query.end_date }),
    ...(query.cursor !== undefined && { cursor: query.cursor }),
  }
}

/** `spend` is dollars as decimal text, exact; null = the price is not known. */
function shownRow(row: LedgerRow): object {
  return {
    ...row,
    started_at: new Date(row.started_at_ms).toISOString(),
    spend: row.cost_nano_usd === null ? null : nanoUsdToText(BigInt(row.cost_nano_usd)),
  }
}
