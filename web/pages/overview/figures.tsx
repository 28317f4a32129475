import type { ReactNode } from 'react'
import type { Overview } from '../../api/schema.d.ts'
import { formatCompact, formatCount, formatMoney } from '../../lib/format.ts'
import { t } from '../../strings/index.ts'
import type { StringKey } from '../../strings/index.ts'

type Sums = Overview['now']

interface Figure {
  readonly title: StringKey
  readonly of: (sums: Sums) => number
  readonly format: (value: number) => string
}

const percent = (share: number): string => `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`

const figures: readonly Figure[] = [
  { title: 'overview.requests', of: sums => sums.api_requests, format: formatCount },
  { title: 'overview.spend', of: sums => sums.spend, format: formatMoney },
  {
    title: 'overview.errors',
    of: sums => (sums.api_requests === 0 ? 0 : sums.failed_requests / sums.api_requests),
    format: percent,
  },
  { title: 'overview.tokens', of: sums => sums.total_tokens, format: formatCompact },
]

/** Four figures of the last 30 days, each against the 30 days before. */
export function Figures({ now, before }: { readonly now: Sums; readonly before: Sums }) {
  return (
    <section aria-label={t('overview.figures')} className="grid grid-cols-2 gap-4 wide:grid-cols-4">
      {figures.map(one => (
        <Tile key={one.title} title={t(one.title)} value={one.format(one.of(now))}>
          {before.api_requests === 0
            ? t('overview.noneBefore')
            : t('overview.before', { value: one.format(one.of(before)) })}
        </Tile>
      ))}
    </section>
  )
}

function Tile({ title, value, children }: { title: string; value: string; children: ReactNode }) {
  return (
    <div className="flex min-w-0 flex-col gap-1 rounded-panel border border-line bg-panel p-4">
      <span className="text-muted">{title}</span>
      <span className="numbers truncate text-title font-semibold">{value}</span>
      <span className="numbers text-muted">{children}</span>
    </div>
  )
}
