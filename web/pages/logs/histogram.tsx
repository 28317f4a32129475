import { useQuery } from '@tanstack/react-query'
import { ask } from '../../api/client.ts'
import type { Calls, SpendLog } from '../../api/schema.d.ts'
import { Histogram } from '../../components/charts/histogram.tsx'
import { percentilesText } from '../../components/charts/percentiles.tsx'
import { ErrorState, Skeleton } from '../../components/states.tsx'
import { dayOf } from '../../lib/days.ts'
import { formatCount, formatDay, formatMoment } from '../../lib/format.ts'
import type { Span } from '../../lib/time-range.ts'
import { t } from '../logs.page.ts'
import { withLive } from './live-counts.ts'

type HistogramQuery = NonNullable<Calls['GET /spend/logs/histogram']['query']>

/** How many calls there were when, of all that a list with the same filter would show. */
export const histogramQuery = (query: HistogramQuery) => ({
  queryKey: ['logs', 'histogram', query],
  queryFn: ({ signal }: { signal: AbortSignal }) => ask('GET /spend/logs/histogram', { query, signal }),
})

interface CallHistogramProps {
  readonly query: HistogramQuery
  /** The loaded calls, newest first: the times that they took are told. */
  readonly rows: readonly SpendLog[] | undefined
  /** Calls that ended since the page is live: those that the gateway has not counted are added. */
  readonly live: readonly SpendLog[]
  readonly onSelect: (span: Span) => void
}

/** All calls of the filter over time, counted by the gateway. A time of which nothing is known is not drawn. */
export function CallHistogram({ query, rows, live, onSelect }: CallHistogramProps) {
  const counts = useQuery(histogramQuery(query))
  if (counts.isPending) return <Skeleton className="h-24 w-full" />
  if (counts.isError) return <ErrorState isInline error={counts.error} onRetry={() => void counts.refetch()} />
  const {
    bars,
    calls,
    failed_calls: failed,
    counted_from: from,
    start_date: start,
    end_date: end,
    unit,
  } = withLive(counts.data, live)
  if (bars.length === 0 || (calls === 0 && from === start)) return null
  const isPartial = Date.parse(from) > Date.parse(start)
  const isByDay = unit === 'day'
  const edge = (ms: number) => (isByDay ? formatDay(dayOf(ms)) : formatMoment(ms))
  return (
    <figure className="flex flex-col gap-1">
      <Histogram
        bars={bars.map(bar => ({
          fromMs: Date.parse(bar.start_date),
          toMs: Date.parse(bar.end_date),
          count: bar.calls,
          failed: bar.failed_calls,
        }))}
        isByDay={isByDay}
        onSelect={onSelect}
      />
      <figcaption className="flex justify-between gap-2 text-muted">
        <span>{edge(Date.parse(from))}</span>
        <span className="flex flex-wrap justify-center gap-x-3">
          <span>{t(isPartial ? 'logs.counted' : 'logs.count', { count: formatCount(calls) })}</span>
          {failed > 0 && <span>{t('logs.failed', { count: formatCount(failed) })}</span>}
          {isPartial && <span>{t('logs.uncounted')}</span>}
          {isByDay && <span className="max-narrow:hidden">{t('logs.byDay')}</span>}
          <Took rows={rows ?? []} />
        </span>
        <span>{edge(Date.parse(end) - (isByDay ? 1 : 0))}</span>
      </figcaption>
    </figure>
  )
}

/** Percentiles of the loaded calls that succeeded. */
function Took({ rows }: { readonly rows: readonly SpendLog[] }) {
  const answered = rows.filter(call => call.outcome === 'success')
  if (answered.length === 0) return null
  const total = percentilesText(percentilesOf(answered.map(call => call.duration_ms)))
  const first = answered.flatMap(call => (call.stream && call.first_byte_ms !== null ? [call.first_byte_ms] : []))
  return (
    <span className="numbers max-narrow:hidden">
      {first.length === 0
        ? t('logs.took', { count: formatCount(rows.length), total })
        : t('logs.tookFirst', {
            count: formatCount(rows.length),
            total,
            first: percentilesText(percentilesOf(first)),
          })}
    </span>
  )
}

function percentilesOf(times: readonly number[]): { readonly p50_ms: number; readonly p95_ms: number } {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.ceil(sorted.length * share) - 1]!
  return { p50_ms: at(0.5), p95_ms: at(0.95) }
}
