import type { Bar } from '../../components/histogram.tsx'
import type { Span } from '../../lib/time-range.ts'

const barCount = 60

/** A call as far as the histogram needs it. */
interface Counted {
  readonly started_at_ms: number
  readonly outcome: string
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
  for (const { started_at_ms: atMs, outcome } of calls) {
    const bar = bars[Math.floor((atMs - fromMs) / widthMs)]
    if (!bar) continue
    bar.count++
    if (outcome !== 'success') bar.failed++
  }
  return bars
}
