import clsx from 'clsx'
import type { ReactNode } from 'react'
import { formatPercent } from '../../lib/format.ts'
import { t } from '../../strings/index.ts'
import { Ago } from '../values.tsx'

export interface MeterProps {
  readonly label: string
  readonly used: number
  /** null = no limit. */
  readonly limit: number | null
  /** Writes both amounts with their unit. */
  readonly format: (value: number) => string
  /** Milliseconds since 1970, or ISO 8601; null = never. */
  readonly resetsAt?: number | string | null
  /** When the limit is reached at this pace. */
  readonly reachedAt?: number | string | null
}

/** From these shares of the limit on. */
const warnShare = 0.8

/** A budget or limit: a bar, and its numbers in words. */
export function Meter({ label, used, limit, format, resetsAt, reachedAt }: MeterProps) {
  const share = limit === null ? 0 : limit === 0 ? 1 : used / limit
  const tone = share >= 1 ? 'bg-bad' : share >= warnShare ? 'bg-warn' : 'bg-good'
  const amount: ReactNode =
    limit === null
      ? `${format(used)} · ${t('all.unlimited')}`
      : t('meter.of', { used: format(used), limit: format(limit) })
  return (
    <div className="flex min-w-0 flex-col gap-1">
      <div className="numbers flex flex-wrap gap-2">
        <span>{amount}</span>
        {limit !== null && <span className="text-muted">{formatPercent(Math.floor(share * 100) / 100)}</span>}
        {share >= warnShare && (
          <span className={share >= 1 ? 'text-bad' : 'text-warn'}>
            {t(share >= 1 ? 'meter.reached' : 'meter.near')}
          </span>
        )}
      </div>
      {limit !== null && (
        // biome-ignore lint/a11y/useSemanticElements: browsers draw a meter in their own colours
        <div
          role="meter"
          aria-label={label}
          aria-valuenow={used}
          aria-valuemin={0}
          aria-valuemax={limit}
          aria-valuetext={t('meter.of', { used: format(used), limit: format(limit) })}
          className="h-1 w-full overflow-hidden rounded-full bg-line-strong"
        >
          <div className={clsx('h-full rounded-full', tone)} style={{ width: `${Math.min(100, share * 100)}%` }} />
        </div>
      )}
      {(resetsAt || reachedAt) && (
        <div className="flex flex-wrap gap-2 text-muted">
          {resetsAt && <Around text={t('meter.resets')} at={resetsAt} />}
          {reachedAt && <Around text={t('meter.forecast')} at={reachedAt} />}
        </div>
      )}
    </div>
  )
}

/** A text with its `{when}` as a time that can be hovered. */
function Around({ text, at }: { readonly text: string; readonly at: number | string }) {
  const [before, after] = text.split('{when}')
  return (
    <span>
      {before}
      <Ago at={at} />
      {after}
    </span>
  )
}
