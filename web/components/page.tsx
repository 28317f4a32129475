import clsx from 'clsx'
import { useEffect } from 'react'
import type { ReactNode } from 'react'

interface PageProps {
  /** The only `h1`, and the title of the tab. */
  readonly title: string
  /** The one primary action, at the top right. `c` presses it: give it `data-primary`. */
  readonly action?: ReactNode
  /** Filters, in one line. */
  readonly filters?: ReactNode
  readonly children: ReactNode
  /** A column of 720 px: forms, texts. */
  readonly isNarrow?: boolean
}

/** One page = one title, one primary action, one line of filters, one main thing. */
export function Page({ title, action, filters, children, isNarrow }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Modelgate`
  }, [title])
  return (
    <div className={clsx('mx-auto flex w-full flex-col gap-4', isNarrow ? 'max-w-reading' : 'max-w-content')}>
      <header className="flex min-h-8 flex-wrap items-center justify-between gap-3">
        <h1 className="text-title font-semibold">{title}</h1>
        {action}
      </header>
      {filters && <div className="flex flex-wrap items-center gap-2">{filters}</div>}
      {children}
    </div>
  )
}

/** A box on the page with an own heading. */
export function Panel({ title, action, children }: { title?: string; action?: ReactNode; children: ReactNode }) {
  return (
    <section className="flex min-w-0 flex-col gap-3 rounded-panel border border-line bg-panel p-4">
      {title && (
        <div className="flex items-center justify-between gap-3">
          <h2 className="font-semibold">{title}</h2>
          {action}
        </div>
      )}
      {children}
    </section>
  )
}
