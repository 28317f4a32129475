/** GET /spend/logs/histogram: how many calls there were when. */
import { z } from 'zod'
import type { HistogramBar } from '../../core/ledger/call-histogram.ts'
import type { Endpoint } from '../../core/endpoint.ts'
import { lazy } from '../../lib/lazy.ts'
import { readQuery } from '../common/checked-input.ts'
import { dateTime, described, integer, listOf, named, oneOf, shape, text } from '../openapi/schema.ts'
import { followedRows, resolved, rowFilter, rowFilterDoc } from './common/row-filter.ts'
import { jsonEndpoint } from '../common/json-endpoint.ts'

const [barsDefault, barsMax] = [60, 240]
const spanMsDefault = 86_400_000

const histogramQuery = lazy(() =>
  rowFilter().extend({ bars: z.coerce.number().int().min(4).max(barsMax).default(barsDefault) }),
)

const histogramSchema = named('SpendHistogram', () =>
  shape({
    start_date: dateTime,
    end_date: described('The end of the span, which is not part of it.', dateTime),
    counted_from: described(
      'From here on all calls are counted; later than `start_date` = there are too many before, in no number.',
      dateTime,
    ),
    unit: described(
      '`part`: rows were counted, in equal parts. `day`: there are too many: sums of days (UTC), which also have ' +
        'calls whose rows are deleted by now.',
      oneOf('part', 'day'),
    ),
    counted_at: described('The moment when the counting has begun.', dateTime),
    newest_from: described(
      'Of calls that began from here on those in `newest_ids` were counted and no others: what `/spend/logs/events` ' +
        'tells beyond them can be added. Earlier ones were counted if they were in the ledger at `counted_at`.',
      dateTime,
    ),
    newest_ids: described(
      '`request_id` of the newest calls that were counted, by their beginnings; 1,000 at most.',
      listOf(text),
    ),
    calls: integer,
    failed_calls: described('Whose outcome is not `success`.', integer),
    bars: described(
      'The first of them begins at `counted_from`.',
      listOf(shape({ start_date: dateTime, end_date: dateTime, calls: integer, failed_calls: integer })),
    ),
  }),
)

/** Counts what `/spend/logs/v2` lists. 403 for another key's calls, 422 for wrong filters. */
export const spendHistogram: Endpoint = jsonEndpoint(histogramSchema, {
  method: 'GET',
  paths: ['/spend/logs/histogram'],
  auth: 'key',
  doc: {
    operationId: 'countSpendLogs',
    summary: 'Calls over time, all that `/spend/logs/v2` would list, and how many failed; by default of the last day',
    tag: 'Spend',
    query: {
      ...rowFilterDoc,
      bars: {
        schema: { type: 'integer', default: barsDefault, minimum: 4, maximum: barsMax },
        description: 'Parts of the span. Days, where they are counted in place of rows, are no more than these.',
      },
    },
    failures: [403],
  },
  async handle(request, services, caller) {
    const { bars, ...filter } = readQuery(request, histogramQuery())
    const rows = followedRows(await resolved(services, filter), caller!)
    const nowMs = services.clock.epochMs()
    const toMs = rows.toMs ?? Math.max(nowMs, (rows.fromMs ?? 0) + 1)
    const fromMs = rows.fromMs ?? toMs - spanMsDefault
    const counts = await services.ledger.histogram({ ...rows, fromMs, toMs, bars, nowMs })
    const sum = (name: 'calls' | 'failed') => counts.bars.reduce((total, bar) => total + bar[name], 0)
    return {
      start_date: moment(fromMs),
      end_date: moment(toMs),
      counted_from: moment(counts.countedFromMs),
      unit: counts.unit,
      counted_at: moment(nowMs),
      newest_from: moment(counts.newestFromMs),
      newest_ids: counts.newestIds,
      calls: sum('calls'),
      failed_calls: sum('failed'),
      bars: counts.bars.map(shownBar),
    }
  },
})

const moment = (ms: number): string => new Date(ms).toISOString()

const shownBar = ({ fromMs, toMs, calls, failed }: HistogramBar) => ({
  start_date: moment(fromMs),
  end_date: moment(toMs),
  calls,
  failed_calls: failed,
})
