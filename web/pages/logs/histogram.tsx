import { useQuery } from '@tanstack/react-query'
import { ask } from '../../api/client.ts'
import type { Calls, SpendHistogram, SpendLog } from '../../api/schema.d.ts'
import { Histogram } from '../../components/charts/histogram.tsx'
import { percentilesText } from '../../components/charts/percentiles.tsx'
import { ErrorState, Skeleton } from '../../components/states.tsx'
import { formatCount, formatMoment } from '../../lib/format.ts'
import type { Span } from '../../lib/time-range.ts'
import { t } from '../../strings/index.ts'

type Asked = NonNullable<Calls['GET /spend/logs/histogram']['query']>
/** New calls make new bars up to so many. */
const barsMax = 240

/** How many calls there were when, of all that a list with the same filter would show. */
export const histogramQuery = (asked: Asked) => ({
  queryKey: ['logs', 'histogram', asked],
  queryFn: ({ signal }: { signal: AbortSignal }) => ask('GET /spend/logs/histogram', { query: asked, signal }),
})

/** The counts with calls that ended since; those before the first bar were not counted either. */
export function withCounted(counted: SpendHistogram, fresh: readonly SpendLog[]): SpendHistogram {
  const bars = counted.bars.map(bar => ({ ...bar }))
  const [first, last] = [bars[0], bars.at(-1)]
  if (!first || !last) return counted
  const widthMs = Math.max(1, Date.parse(last.end_date) - Date.parse(last.start_date))
  let [calls, failed] = [0, 0]
  for (const { started_at_ms: atMs, outcome } of fresh) {
    if (atMs < Date.parse(first.start_date)) continue
    while (atMs >= Date.parse(bars.at(-1)!.end_date) && bars.length < barsMax) {
      const start = bars.at(-1)!.end_date
      const end = new Date(Date.parse(start) + widthMs).toISOString()
      bars.push({ start_date: start, end_date: end, calls: 0, failed_calls: 0 })
    }
    const bar = bars.findLast(one => atMs >= Date.parse(one.start_date))!
    const isFailed = outcome !== 'success'
    bar.calls++
    calls++
    if (isFailed) bar.failed_calls++
    if (isFailed) failed++
  }
  return {
    ...counted,
    bars,
    end_date: bars.at(-1)!.end_date,
    calls: counted.calls + calls,
    failed_calls: counted.failed_calls + failed,
  }
}

interface CallHistogramProps {
  readonly asked: Asked
  /** The loaded calls, newest first: the times that they took are told. */
  readonly rows: readonly SpendLog[] | undefined
  readonly onSelect: (span: Span) => void
}

/** All calls of the filter over time, counted by the gateway. A time of which nothing is known is not drawn. */
export function CallHistogram({ asked, rows, onSelect }: CallHistogramProps) {
  const counts = useQuery(histogramQuery(asked))
  if (counts.isPending) return <Skeleton className="h-24 w-full" />
  if (counts.isError) return <ErrorState isInline error={counts.error} onRetry={() => void counts.refetch()} />
  const { bars, calls, failed_calls: failed, counted_from: from, start_date: start, end_date: end, unit } = counts.data
  if (bars.length === 0 || (calls === 0 && from === start)) return null
  const isPartial = Date.parse(from) > Date.parse(start)
  return (
    <figure className="flex flex-col gap-1">
      <Histogram
        bars={bars.map(bar => ({
          fromMs: Date.parse(bar.start_date),
          toMs: Date.parse(bar.end_date),
          count: bar.calls,
          failed: bar.failed_calls,
        }))}
        onSelect={onSelect}
      />
      <figcaption className="flex justify-between gap-2 text-muted">
        <span>{formatMoment(Date.parse(from))}</span>
        <span className="flex flex-wrap justify-center gap-x-3">
          <span>{t(isPartial ? 'logs.counted' : 'logs.count', { count: formatCount(calls) })}</span>
          {failed > 0 && <span>{t('logs.failed', { count: formatCount(failed) })}</span>}
          {isPartial && <span>{t('logs.uncounted')}</span>}
          {unit === 'day' && <span className="max-narrow:hidden">{t('logs.byDay')}</span>}
          <Took rows={rows ?? []} />
        </span>
        <span>{formatMoment(Date.parse(end))}</span>
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
