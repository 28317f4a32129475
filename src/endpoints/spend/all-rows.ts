/** GET /spend/logs: LiteLLM's list of rows without pages, and its sums by day. */
import { z } from 'zod'
import { jsonAnswer } from '../../core/answer.ts'
import type { Answer } from '../../core/answer.ts'
import type { Caller } from '../../core/caller.ts'
import type { Endpoint, Services } from '../../core/endpoint.ts'
import type { ShownPage, ShownQuery } from '../../core/ledger/ledger.ts'
import { subtractUsageSums } from '../../core/ledger/usage-report.ts'
import type { UsageField, UsageGroup, UsageQuery, UsageSums } from '../../core/ledger/usage-report.ts'
import { lazy } from '../../lib/lazy.ts'
import { readQuery } from '../common/checked-input.ts'
import { described, either, json, listOf, mapOf, named, number, open, shape } from '../openapi/schema.ts'
import { followedRows } from './common/row-filter.ts'
import { spendLogSchema } from './spend-logs.ts'
import { day, dollars, keyIdOf, keysById, topSpendersFor, usageFor, usd } from './common/access.ts'
import { daySpanOf, dayText, spanDoc, spanFields } from '../common/date-span.ts'

const allSpendLogsSchema = named('AllSpendLogs', () =>
  described(
    'These are rows, newest first; with both dates and without `summarize=false` they are days, oldest first.',
    either(
      listOf(spendLogSchema),
      listOf(
        described(
          'Dollars of keys stand under their hashes, `other` = what is not listed of very many.',
          open(shape({ startTime: day, spend: usd, users: mapOf(number), models: mapOf(number) })),
        ),
      ),
    ),
  ),
)

const word = lazy(() => z.string().min(1).max(255))

/** As FastAPI reads it, which LiteLLM uses. */
const flag = lazy(() =>
  z
    .string()
    .toLowerCase()
    .pipe(z.enum(['true', '1', 'on', 'yes', 'false', '0', 'off', 'no']))
    .transform(text => ['true', '1', 'on', 'yes'].includes(text)),
)

const rowsQuery = lazy(() =>
  z.strictObject({
    api_key: word().optional(),
    user_id: word().optional(),
    request_id: word().optional(),
    ...spanFields(),
    summarize: flag().default(true),
  }),
)

type RowsQuery = z.infer<ReturnType<typeof rowsQuery>>

/** 403 for another key's calls, 422 for wrong filters. */
export const allSpendLogs: Endpoint = {
  method: 'GET',
  paths: ['/spend/logs'],
  auth: 'key',
  doc: {
    operationId: 'listSpendLogs',
    summary: 'Every row of the ledger in one list, or sums by day; a key sees its own. Pages: `/spend/logs/v2`',
    tag: 'Spend',
    query: {
      api_key: {
        schema: { type: 'string' },
        description: 'Only calls of this key are listed: it is its text, `token_id` or hash.',
      },
      user_id: { schema: { type: 'string' }, description: 'Only calls of this user are listed.' },
      request_id: {
        schema: { type: 'string' },
        description: 'Only this call (`x-proxy-call-id`) is listed, or nothing.',
      },
      ...spanDoc,
      summarize: {
        schema: { type: 'boolean', default: true },
        description: 'With both dates, true means sums by day, false means rows.',
      },
    },
    success: json(allSpendLogsSchema),
    failures: [403],
  },
  async handle(request, services, caller) {
    const query = readQuery(request, rowsQuery())
    const keyId = query.api_key && (await keyIdOf(services, query.api_key))
    const isSummary = query.start_date && query.end_date && query.summarize && query.request_id === undefined
    if (isSummary) return jsonAnswer(await daySums(services, caller!, { ...query, keyId }))
    return allRows(
      services,
      followedRows({ filter: { ...query, key_id: keyId, api_key: undefined }, among: {} }, caller!),
    )
  },
}

/** Rows that are in memory for one answer. */
const pageRows = 1000

/** One page after the other, as the client reads them: an answer of any length takes the memory of one. */
async function allRows({ ledger }: Services, query: Omit<ShownQuery, 'limit'>): Promise<Answer> {
  const read = (cursor?: string) => ledger.shown({ ...query, limit: pageRows, ...(cursor !== undefined && { cursor }) })
  const headers = { 'content-type': 'application/json' }
  const first = await read()
  if (first.nextCursor === null)
    return { status: 200, headers, body: Buffer.concat([Buffer.from('['), first.rows, Buffer.from(']')]) }
  let page: ShownPage | undefined = first
  let separator = '['
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (page === undefined) return
        if (page.rows.length > 0) {
          controller.enqueue(Buffer.concat([Buffer.from(separator), page.rows]))
          separator = ','
        }
        // A failure cuts the connection: the client sees that the list is not whole.
        page = page.nextCursor === null ? undefined : await read(page.nextCursor)
        if (page !== undefined) return
        controller.enqueue(Buffer.from(']'))
        controller.close()
      },
    },
    { highWaterMark: 1 },
  )
  return { status: 200, headers, body }
}

/** Of very many keys or users, so many are listed. */
const listedMax = 100
const groupsMax = 50_000

/** By day, oldest first; after the last day that has calls every day of the span is there, with nothing. */
async function daySums(
  services: Services,
  caller: Caller,
  query: RowsQuery & { readonly keyId: string | undefined },
): Promise<object[]> {
  const span = daySpanOf(query, services.clock.epochMs())
  const where: UsageQuery['where'] = {
    ...(query.keyId !== undefined && { key_id: [query.keyId] }),
    ...(query.user_id !== undefined && { user_id: [query.user_id] }),
  }
  const base = { ...span, where, order: 'day', limit: groupsMax } as const
  const isWhole = Object.keys(where).length === 0
  const sums = (groups: readonly (UsageField | 'day')[]) =>
    usageFor(services, caller, { ...base, scope: isWhole ? 'total' : 'key', groups })
  const parts = async (field: 'user_id' | 'key_id') => {
    const topQuery = { ...span, scope: 'key', field, most: listedMax } as const
    const listed = isWhole ? await topSpendersFor(services, caller, topQuery) : null
    return usageFor(services, caller, {
      ...base,
      scope: 'key',
      where: { ...where, ...(listed && { [field]: listed.entities }) },
      groups: ['day', field],
    })
  }
  const [models, users, keys] = await Promise.all([sums(['day', 'model']), parts('user_id'), parts('key_id')])
  // The whole last: what is counted meanwhile is in it, and not missing.
  const days = (await sums(['day'])).toReversed()
  const known = await keysById(
    services,
    keys.map(one => one.fields.key_id),
  )
  const hashOf = (id: string) => known.get(id)?.hash ?? id
  const shown = days.map(day => ({
    startTime: dayText(day.day),
    spend: dollars(day.costNanoUsd),
    users: byName(day, users, one => one.user_id),
    models: byName(day, models, one => one.model),
    ...byName(day, keys, one => hashOf(one.key_id)),
  }))
  const last = days.at(-1)
  const after = last === undefined ? [] : Array.from({ length: span.lastDay - last.day }, (_, at) => last.day + 1 + at)
  return [...shown, ...after.map(day => ({ startTime: dayText(day), spend: 0, users: {}, models: {} }))]
}

/** Dollars of the parts of a day, and under `other` what is in none of them. */
function byName(
  day: UsageGroup,
  parts: readonly UsageGroup[],
  nameOf: (fields: UsageGroup['fields']) => string,
): Record<string, number> {
  const ofDay = parts.filter(part => part.day === day.day)
  const rest = ofDay.reduce<UsageSums>(subtractUsageSums, day)
  return Object.fromEntries([
    ...ofDay.map(part => [nameOf(part.fields), dollars(part.costNanoUsd)] as const),
    ...(rest.requests > 0 ? [['other', dollars(rest.costNanoUsd)] as const] : []),
  ])
}
