import { Link } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import { formatMoment } from '../../lib/format.ts'
import { t } from '../../strings/index.ts'
import { Button } from '../button.tsx'
import { Skeleton } from '../states.tsx'
import type { LineChartProps } from './line-chart-picture.tsx'

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
