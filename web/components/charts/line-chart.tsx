import { formatDay } from '../../lib/format.ts'
import { lazyPart } from '../lazy-part.tsx'
import { Skeleton } from '../states.tsx'
import { ChartFigure } from './chart-figure.tsx'
import type { LineChartProps } from './line-chart-picture.tsx'

/** Loaded when the first chart is shown. */
const Picture = lazyPart<LineChartProps>(
  async () => (await import('./line-chart-picture.tsx')).default,
  () => <Skeleton className="h-(--chart)" />,
)

/** Values by day, as a picture or as the table that says the same. */
export function LineChart(props: LineChartProps) {
  const { label, days, series, format, linkOf } = props
  const rows = days.map(day => ({ id: day, name: formatDay(day), link: linkOf?.(day) }))
  return (
    <ChartFigure label={label} rows={rows} columns={series} format={format}>
      <Picture {...props} />
    </ChartFigure>
  )
}
