import clsx from 'clsx'
import type { ReactNode } from 'react'
import { formatDuration } from '../../lib/format.ts'

export interface WaterfallRow {
  readonly label: ReactNode
  /** For screen readers and the key of the row. */
  readonly name: string
  /** From the start of the whole, in milliseconds. */
  readonly startMs: number
  readonly endMs: number
  readonly tone?: 'plain' | 'good' | 'bad' | 'accent'
}

const tones = { plain: 'bg-line-control', good: 'bg-good', bad: 'bg-bad', accent: 'bg-accent' } as const

/** Steps of one call on a common time: attempts, first token, stream. */
export function Waterfall({ rows, totalMs }: { readonly rows: readonly WaterfallRow[]; readonly totalMs: number }) {
  const percent = (milliseconds: number) => `${(milliseconds / Math.max(totalMs, 1)) * 100}%`
  return (
    <ol className="flex flex-col gap-1">
      {rows.map(({ name, label, startMs, endMs, tone = 'plain' }) => (
        <li key={`${name} ${startMs}`} className="grid grid-cols-(--columns-waterfall) items-center gap-3">
          <span className="min-w-0 truncate">{label}</span>
          <span className="relative h-2 rounded-full bg-hover" aria-hidden>
            <span
              className={clsx('absolute inset-y-0 min-w-1 rounded-full', tones[tone])}
              style={{ left: percent(startMs), width: percent(Math.max(0, endMs - startMs)) }}
            />
          </span>
          <span className="numbers w-16 text-right text-muted">{formatDuration(endMs - startMs)}</span>
        </li>
      ))}
    </ol>
  )
}
