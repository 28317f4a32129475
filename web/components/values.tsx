/** Values with their units: short, with the exact one on hover and for screen readers. */
import { useEffect, useState } from 'react'
import { formatAgo, formatCompact, formatCount, formatDuration, formatMoney } from '../lib/format.ts'
import { t } from '../strings/index.ts'

/** US dollars; null = the price is not known, which is not zero. */
export function Money({ usd }: { readonly usd: number | null | undefined }) {
  if (usd === null || usd === undefined) return <span className="text-muted">{t('money.unknown')}</span>
  return (
    <span className="numbers whitespace-nowrap" title={`${usd} USD`}>
      {formatMoney(usd)}
    </span>
  )
}

/** A number of tokens; null = not reported. */
export function Tokens({ count }: { readonly count: number | null | undefined }) {
  if (count === null || count === undefined) return <span className="text-muted">–</span>
  return (
    <span className="numbers whitespace-nowrap" title={t('tokens.exact', { count: formatCount(count) })}>
      {t('tokens.short', { count: formatCompact(count) })}
    </span>
  )
}

/** null = it has not ended. */
export function Duration({ milliseconds }: { readonly milliseconds: number | null | undefined }) {
  if (milliseconds === null || milliseconds === undefined) return <span className="text-muted">–</span>
  return (
    <span className="numbers whitespace-nowrap" title={`${milliseconds} ms`}>
      {formatDuration(milliseconds)}
    </span>
  )
}

const refreshMs = 30_000

/** How long ago, or how far ahead. `at` = milliseconds since 1970, or a time in ISO 8601. */
export function Ago({ at }: { readonly at: number | string | null | undefined }) {
  const [nowMs, setNowMs] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now()), refreshMs)
    return () => clearInterval(timer)
  }, [])
  if (at === null || at === undefined) return <span className="text-muted">–</span>
  const epochMs = typeof at === 'number' ? at : Date.parse(at)
  const iso = new Date(epochMs).toISOString()
  return (
    <time dateTime={iso} title={iso} className="whitespace-nowrap">
      {formatAgo(epochMs, nowMs)}
    </time>
  )
}
