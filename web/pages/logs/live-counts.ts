/** Counts of calls by the gateway, with those that are told as they end. */
import type { SpendHistogram, SpendLog } from '../../api/schema.d.ts'

/** New calls make new bars up to so many. */
const barsMax = 240

/**
 * The counts with the live calls that are not in them: a call is told before or after it is stored, so that the gateway
 * says which of the newest ones it counted. Those before the first bar were not counted either.
 */
export function withLive(counted: SpendHistogram, live: readonly SpendLog[]): SpendHistogram {
  const bars = counted.bars.map(bar => ({ ...bar }))
  const [first, last] = [bars[0], bars.at(-1)]
  if (!first || !last) return counted
  const widthMs = Math.max(1, Date.parse(last.end_date) - Date.parse(last.start_date))
  let [calls, failed] = [0, 0]
  for (const { started_at_ms: atMs, outcome } of beyond(counted, live)) {
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

/** The live calls that were not counted, each once. */
function beyond(counted: SpendHistogram, live: readonly SpendLog[]): SpendLog[] {
  const known = new Set(counted.newest_ids)
  const [newestFromMs, countedAtMs] = [Date.parse(counted.newest_from), Date.parse(counted.counted_at)]
  return live.filter(call => {
    if (known.has(call.request_id)) return false
    known.add(call.request_id)
    // Of calls that began longer ago only their end tells: what ended before the count was in the ledger.
    return call.started_at_ms >= newestFromMs || call.started_at_ms + call.duration_ms > countedAtMs
  })
}
