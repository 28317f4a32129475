import type { Bar } from '../../components/histogram.tsx'
import { percentilesText } from '../../components/percentiles.tsx'
import type { Span } from '../../lib/time-range.ts'
import { t } from '../../strings/index.ts'

const barCount = 60

/** A call as far as the histogram needs it. */
interface Counted {
  readonly started_at_ms: number
  readonly outcome: string
  readonly duration_ms: number
  /** null = no answer began. */
  readonly first_byte_ms: number | null
  readonly stream: boolean
}

/** The calls in sixty equal parts of the span; calls outside of it are not counted. */
export function barsOf(calls: readonly Counted[], { fromMs, toMs }: Span): Bar[] {
  const widthMs = Math.max(1, (toMs - fromMs) / barCount)
  const bars = Array.from({ length: barCount }, (_, at) => ({
    fromMs: fromMs + at * widthMs,
    toMs: fromMs + (at + 1) * widthMs,
    count: 0,
    failed: 0,
  }))
  const within: Counted[][] = bars.map(() => [])
  for (const call of calls) {
    const at = Math.floor((call.started_at_ms - fromMs) / widthMs)
    const bar = bars[at]
    if (!bar) continue
    within[at]!.push(call)
    bar.count++
    if (call.outcome !== 'success') bar.failed++
  }
  return bars.map((bar, at) => ({ ...bar, note: latencyNote(within[at]!) }))
}

/** Percentiles of the calls that succeeded, exact: all of them are here. Empty = none did. */
export function latencyNote(calls: readonly Counted[]): string {
  const answered = calls.filter(call => call.outcome === 'success')
  if (answered.length === 0) return ''
  const total = percentilesText(percentilesOf(answered.map(call => call.duration_ms)))
  const first = answered.flatMap(call => (call.stream && call.first_byte_ms !== null ? [call.first_byte_ms] : []))
  return first.length === 0
    ? t('logs.took', { total })
    : t('logs.tookFirst', { total, first: percentilesText(percentilesOf(first)) })
}

function percentilesOf(times: readonly number[]): { readonly p50_ms: number; readonly p95_ms: number } {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.ceil(sorted.length * share) - 1]!
  return { p50_ms: at(0.5), p95_ms: at(0.95) }
}
