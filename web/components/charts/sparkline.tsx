import { formatCount } from '../../lib/format.ts'
import { t } from '../../pages/health.page.ts'

interface SparklineProps {
  readonly requests: readonly number[]
  /** Of these, of the same days. */
  readonly failed: readonly number[]
}

/** Calls by day as small bars, the failed part of each in its own colour; said in words to screen readers. */
export function Sparkline({ requests, failed }: SparklineProps) {
  const top = Math.max(...requests, 1)
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)
  const label = t('health.sparkline', { calls: formatCount(sum(requests)), failed: formatCount(sum(failed)) })
  return (
    <div role="img" aria-label={label} title={label} className="flex h-6 w-full items-end gap-px">
      {requests.map((count, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a day has no other identity
        <div key={at} className="flex h-full min-w-0 grow flex-col-reverse">
          <div className="bg-bad" style={{ height: `${(failed[at]! / top) * 100}%` }} />
          <div className="bg-line-control" style={{ height: `${((count - failed[at]!) / top) * 100}%` }} />
        </div>
      ))}
    </div>
  )
}
