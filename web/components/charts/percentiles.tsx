/** How long calls took: half of them, and 95 of 100. */
import { formatDuration } from '../../lib/format.ts'
import { t } from '../../strings/index.ts'

/** As the gateway counts them; null = no call was counted. */
export interface Percentiles {
  readonly calls: number
  readonly p50_ms: number | null
  readonly p95_ms: number | null
}

/** `820 ms / 2.1 s`; a dash for no calls. */
export function percentilesText({ p50_ms: p50, p95_ms: p95 }: Pick<Percentiles, 'p50_ms' | 'p95_ms'>): string {
  return p50 === null || p95 === null ? '–' : `${formatDuration(p50)} / ${formatDuration(p95)}`
}

/** In a cell of a table; on hover what it says, and of how many calls. */
export function PercentilePair({ of }: { readonly of: Percentiles | undefined }) {
  if (!of || of.calls === 0) return <span className="text-muted">–</span>
  return (
    <span className="numbers whitespace-nowrap" title={t('percentiles.help', { calls: of.calls })}>
      {percentilesText(of)}
    </span>
  )
}
