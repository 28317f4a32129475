import clsx from 'clsx'
import type { ReactNode } from 'react'
import type { Overview } from '../../api/schema.d.ts'
import { percentilesText } from '../../components/charts/percentiles.tsx'
import type { Percentiles } from '../../components/charts/percentiles.tsx'
import { formatCompact, formatCount, formatMoment, formatMoney, formatPercent } from '../../lib/format.ts'
import { t } from '../overview.page.ts'
import type { StringKey } from '../overview.page.ts'

type Sums = Overview['now']

interface Figure {
  readonly title: StringKey
  readonly of: (sums: Sums) => number
  readonly format: (value: number) => string
}

const figures: readonly Figure[] = [
  { title: 'overview.requests', of: sums => sums.api_requests, format: formatCount },
  { title: 'overview.spend', of: sums => sums.spend, format: formatMoney },
  {
    title: 'overview.errors',
    of: sums => (sums.api_requests === 0 ? 0 : sums.failed_requests / sums.api_requests),
    format: formatPercent,
  },
  { title: 'overview.tokens', of: sums => sums.total_tokens, format: formatCompact },
]

/** Figures of the last 30 days, each against the 30 days before. */
export function Figures({ overview }: { readonly overview: Overview }) {
  const { now, before, latency, latency_before: latencyBefore } = overview
  const isTimed = latency !== null && latency.calls > 0
  return (
    <section
      aria-label={t('overview.figures')}
      className={clsx('grid grid-cols-2 gap-4', isTimed ? 'wide:grid-cols-3' : 'wide:grid-cols-4')}
    >
      {figures.map(one => (
        <Tile key={one.title} title={t(one.title)} value={one.format(one.of(now))}>
          {before.api_requests === 0
            ? t('overview.noneBefore')
            : t('overview.before', { value: one.format(one.of(before)) })}
          {one.title === 'overview.spend' && <LastHour of={overview.last_hour} />}
        </Tile>
      ))}
      {isTimed && (
        <>
          <TimeTile title={t('overview.took')} now={latency} before={latencyBefore} />
          {latency.first_byte.calls > 0 && (
            <TimeTile
              title={t('overview.firstByte')}
              now={latency.first_byte}
              before={latencyBefore?.first_byte ?? null}
            />
          )}
        </>
      )}
    </section>
  )
}

function LastHour({ of }: { readonly of: Overview['last_hour'] }) {
  const value = formatMoney(of.spend)
  return (
    <span className="block">
      {of.is_whole
        ? t('overview.lastHour', { value })
        : t('overview.since', { value, time: formatMoment(Date.parse(of.start_date)) })}
    </span>
  )
}

interface TimeTileProps {
  readonly title: string
  readonly now: Percentiles
  readonly before: Percentiles | null
}

/** Half of the calls took no longer than the first time, 95 of 100 no longer than the second. */
function TimeTile({ title, now, before }: TimeTileProps) {
  return (
    <Tile title={title} value={percentilesText(now)}>
      {before && before.calls > 0 ? t('overview.before', { value: percentilesText(before) }) : t('overview.noneBefore')}
    </Tile>
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
