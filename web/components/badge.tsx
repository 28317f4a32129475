import clsx from 'clsx'
import type { ReactNode } from 'react'
import { t } from '../strings/index.ts'

export type Tone = 'good' | 'warn' | 'bad' | 'info' | 'plain'

const dots: Readonly<Record<Tone, string>> = {
  good: 'bg-good',
  warn: 'bg-warn',
  bad: 'bg-bad',
  info: 'bg-info',
  plain: 'bg-line-control',
}

/** A status: a dot and its word, as colour alone says nothing to many. */
export function Badge({ tone = 'plain', children }: { readonly tone?: Tone; readonly children: ReactNode }) {
  return (
    <span className="inline-flex items-center gap-2 whitespace-nowrap">
      <span className={clsx('size-2 shrink-0 rounded-full', dots[tone])} aria-hidden />
      {children}
    </span>
  )
}

/** A label of a thing (a tag, where a value comes from), not a status. */
export function Tag({ children }: { readonly children: ReactNode }) {
  return <span className="rounded-control border border-line-strong px-1 text-code text-muted">{children}</span>
}

/** Whether something may be used. */
export function StatusBadge({ blocked }: { readonly blocked: boolean }) {
  return <Badge tone={blocked ? 'bad' : 'good'}>{t(blocked ? 'all.blocked' : 'all.active')}</Badge>
}
