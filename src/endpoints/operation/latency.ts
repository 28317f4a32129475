/** GET /model/latency: percentiles of how long calls took, from counts that are kept by hour and day. */
import { z } from 'zod'
import type { Endpoint } from '../../core/endpoint.ts'
import { unprocessable } from '../../core/errors.ts'
import { latencyErrorShare } from '../../core/ledger/latency.ts'
import type { LatencyField, LatencyQuery } from '../../core/ledger/latency.ts'
import { lazy } from '../../lib/lazy.ts'
import { readQuery } from '../common/checked-input.ts'
import { described, listOf, named, nullable, number, shape, text } from '../openapi/schema.ts'
import { latency, latencyFigures } from './common/latency-figures.ts'
import { daySpanDoc, daySpanOf, spanFields } from '../common/date-span.ts'
import { jsonEndpoint } from '../common/json-endpoint.ts'

const modelLatencySchema = named('ModelLatency', () =>
  described(
    'Only calls that an upstream has answered in full are counted.',
    shape({
      start_date: described('The beginning of the first hour or day that is counted.', text),
      end_date: described('The end of the span, which is not part of it.', text),
      error_share: described('By which share of itself a percentile may be wrong, from 1 ms to 44 minutes.', number),
      total: shape(latency),
      groups: listOf(shape({ model: nullable(text), model_id: nullable(text), date: nullable(text), ...latency })),
    }),
  ),
)

const unitMs = { hour: 3_600_000, day: 86_400_000 } as const
/** Further hours may have been added to their day (`ledger-maintenance.ts`). */
const hoursMax = 72

const fieldOf = { model: 'model', deployment: 'deployment_id', time: 'start' } as const satisfies Record<
  string,
  LatencyField
>

const latencyQuery = lazy(() =>
  z.strictObject({
    ...spanFields(),
    hours: z.coerce.number().int().min(1).max(hoursMax).optional(),
    group_by: z.enum(['model', 'deployment', 'time']).optional(),
  }),
)

/** For those who read everything: the counts know no keys. */
export const modelLatency: Endpoint = jsonEndpoint(modelLatencySchema, {
  method: 'GET',
  paths: ['/model/latency'],
  auth: 'viewer',
  doc: {
    operationId: 'getModelLatency',
    summary: 'Percentiles of the time that calls took, and of the time to the first byte of streams',
    tag: 'Spend',
    query: {
      ...daySpanDoc,
      hours: {
        schema: { type: 'integer', maximum: hoursMax },
        description: 'In place of days: so many hours up to now, that which has begun included.',
      },
      group_by: {
        schema: { type: 'string', enum: ['model', 'deployment', 'time'] },
        description: '`time` is by day, or by hour with `hours`; absent = `total` alone.',
      },
    },
  },
  async handle(request, services) {
    const query = readQuery(request, latencyQuery())
    if (query.hours !== undefined && (query.start_date ?? query.end_date) !== undefined)
      throw unprocessable([{ loc: ['query', 'hours'], msg: 'is in place of start_date and end_date', type: 'invalid' }])
    const span = spanOf(query, services.clock.epochMs())
    const { group_by: by } = query
    const [all, groups] = await Promise.all([
      services.ledger.latency({ ...span, groups: [] }),
      by ? services.ledger.latency({ ...span, groups: [fieldOf[by]] }) : [],
    ])
    const moment = (at: number) => new Date(at * unitMs[span.unit]).toISOString()
    const grouped = Map.groupBy(groups, one => one.deploymentId || one.model || String(one.start))
    return {
      start_date: moment(span.first),
      end_date: moment(span.last + 1),
      error_share: Number(latencyErrorShare.toFixed(3)),
      total: latencyFigures(all),
      groups: [...grouped.values()].map(rows => ({
        model: by === 'model' ? rows[0]!.model : null,
        model_id: by === 'deployment' ? rows[0]!.deploymentId : null,
        date: by === 'time' ? moment(rows[0]!.start) : null,
        ...latencyFigures(rows),
      })),
    }
  },
})

function spanOf(
  query: z.infer<ReturnType<typeof latencyQuery>>,
  nowMs: number,
): Pick<LatencyQuery, 'unit' | 'first' | 'last'> {
  if (query.hours === undefined) {
    const { firstDay: first, lastDay: last } = daySpanOf(query, nowMs)
    return { unit: 'day', first, last }
  }
  const last = Math.floor(nowMs / unitMs.hour)
  return { unit: 'hour', first: last - query.hours + 1, last }
}
