import { useNavigate } from '@tanstack/react-router'
import clsx from 'clsx'
import { t } from '../../strings/index.ts'
import type { RowLink } from '../table.tsx'
import { ChartFigure } from './chart-figure.tsx'

export interface BarSeries {
  readonly label: string
  /** One for each bar. */
  readonly values: readonly number[]
}

interface StackedBarsProps {
  readonly label: string
  /** What each bar is of: "23 Nov". */
  readonly bars: readonly string[]
  /** The first stands at the bottom. At most six have a shade of their own. */
  readonly series: readonly BarSeries[]
  readonly format: (value: number) => string
  /** Where a press on a bar leads, or on the part of a series; in the table the bars are links. */
  readonly linkOf?: (bar: number, series?: BarSeries) => RowLink
}

const shades = ['bg-accent', 'bg-accent opacity-75', 'bg-accent opacity-50', 'bg-accent opacity-25', 'bg-line-control']
const shadeOf = (at: number): string => shades[at] ?? 'bg-line-strong'

/** Sums and their parts, as a picture or as the table that says the same. */
export function StackedBars(props: StackedBarsProps) {
  const { label, bars, series, format, linkOf } = props
  const totals = bars.map((_, at) => series.reduce((sum, one) => sum + one.values[at]!, 0))
  const top = Math.max(...totals, 0)
  const rows = bars.map((name, at) => ({ id: name, name, link: linkOf?.(at) }))
  const columns = [{ label: t('chart.sum'), values: totals }, ...series]
  return (
    <ChartFigure label={label} rows={rows} columns={columns} format={format}>
      <BarPicture {...props} totals={totals} top={top} />
      <div className="flex justify-between text-muted">
        <span>{bars[0]}</span>
        <span className="numbers">{t('chart.top', { value: format(top) })}</span>
        <span>{bars.at(-1)}</span>
      </div>
      <ul className="flex flex-wrap gap-x-4 gap-y-1">
        {series.map((one, seriesIndex) => (
          <li key={one.label} className="flex min-w-0 items-center gap-2">
            <span className={clsx('size-2 shrink-0 rounded-full', shadeOf(seriesIndex))} aria-hidden />
            <span className="truncate">{one.label}</span>
            <span className="numbers text-muted">{format(one.values.reduce((sum, value) => sum + value, 0))}</span>
          </li>
        ))}
      </ul>
    </ChartFigure>
  )
}

interface BarPictureProps extends StackedBarsProps {
  readonly totals: readonly number[]
  /** Of the highest bar. */
  readonly top: number
}

/** For the mouse: the keyboard has the links of the table. */
function BarPicture({ label, bars, series, format, linkOf, totals, top }: BarPictureProps) {
  const navigate = useNavigate()
  const follow = (bar: number, part?: BarSeries) => linkOf && void navigate(linkOf(bar, part) as never)
  return (
    <div role="img" aria-label={label} className="flex h-(--chart) items-end gap-px border-b border-line-strong">
      {bars.map((name, at) => (
        // biome-ignore lint/a11y/noStaticElementInteractions: part of a picture, whose table has the same as links
        // biome-ignore lint/a11y/useKeyWithClickEvents: as above
        <div
          key={name}
          title={describe(name, at, { series, format, total: totals[at]! })}
          className={clsx('flex h-full min-w-0 grow flex-col-reverse hover:bg-hover', linkOf && 'cursor-pointer')}
          onClick={event => {
            const part = (event.target as HTMLElement).dataset.part
            follow(at, part === undefined ? undefined : series[Number(part)])
          }}
        >
          {series.map((one, seriesIndex) => (
            <div
              key={one.label}
              data-part={seriesIndex}
              className={shadeOf(seriesIndex)}
              style={{ height: top === 0 ? 0 : `${(one.values[at]! / top) * 100}%` }}
            />
          ))}
        </div>
      ))}
    </div>
  )
}

interface Described {
  readonly series: readonly BarSeries[]
  readonly format: (value: number) => string
  readonly total: number
}

/** The parts of a bar in lines, the largest first. */
function describe(name: string, at: number, { series, format, total }: Described): string {
  const parts = series
    .filter(one => one.values[at]! > 0)
    .toSorted((one, other) => other.values[at]! - one.values[at]!)
    .map(one => `${one.label}: ${format(one.values[at]!)}`)
  return [`${name}: ${format(total)}`, ...parts].join('\n')
}
