import { Link } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import { formatMoment } from '../lib/format.ts'
import { t } from '../strings/index.ts'
import type { RowLink } from './table.tsx'
import { Button } from './button.tsx'
import { Skeleton } from './states.tsx'

export interface Series {
  readonly label: string
  /** One for each time; null = none. */
  readonly values: readonly (number | null)[]
  /** What is compared with the first one is grey; errors have their own colour. */
  readonly tone?: 'accent' | 'grey' | 'bad'
}

export interface LineChartProps {
  readonly label: string
  /** Milliseconds since 1970, ascending. */
  readonly timesMs: readonly number[]
  readonly series: readonly Series[]
  readonly format: (value: number) => string
  /** Series stand on each other. */
  readonly isStacked?: boolean
  /** Where a press on a time leads; in the table it is a link. */
  readonly linkOf?: (timeMs: number) => RowLink
}

/** Loaded when the first chart is shown. */
const Picture = lazy(() => import('./line-chart-picture.tsx'))

/** Values over time, as a picture or as the table that says the same. */
export function LineChart(props: LineChartProps) {
  const [isTable, setTable] = useState(false)
  return (
    <figure className="flex flex-col gap-2">
      <figcaption className="flex items-center justify-between gap-2">
        <span className="font-medium">{props.label}</span>
        <Button kind="quiet" onClick={() => setTable(!isTable)}>
          {isTable ? t('chart.chart') : t('chart.table')}
        </Button>
      </figcaption>
      {isTable ? (
        <ValueTable {...props} />
      ) : (
        <Suspense fallback={<Skeleton className="h-(--chart)" />}>
          <Picture {...props} />
        </Suspense>
      )}
    </figure>
  )
}

function ValueTable({ label, timesMs, series, format, linkOf }: LineChartProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard
    <section className="max-h-(--chart) overflow-auto" tabIndex={0} aria-label={label}>
      <table className="numbers w-full text-left">
        <thead className="sticky top-0 bg-panel text-muted">
          <tr>
            <th className="font-medium">{t('chart.time')}</th>
            {series.map(one => (
              <th key={one.label} className="text-right font-medium">
                {one.label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {timesMs.map((timeMs, at) => (
            <tr key={timeMs} className="border-t border-line">
              <td>
                {linkOf ? (
                  <Link {...linkOf(timeMs)} className="target underline">
                    {formatMoment(timeMs)}
                  </Link>
                ) : (
                  formatMoment(timeMs)
                )}
              </td>
              {series.map(one => {
                const value = one.values[at]
                return (
                  <td key={one.label} className="text-right">
                    {value === null || value === undefined ? '–' : format(value)}
                  </td>
                )
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
