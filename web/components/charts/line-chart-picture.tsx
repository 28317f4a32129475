import { useNavigate } from '@tanstack/react-router'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { useEffect, useRef } from 'react'
import { dayOf } from '../../lib/days.ts'
import { formatDay } from '../../lib/format.ts'
import { t } from '../../strings/index.ts'
import { useTheme } from '../../lib/theme.ts'
import type { RowLink } from '../table.tsx'

interface Series {
  readonly label: string
  /** One for each day; null = none. */
  readonly values: readonly (number | null)[]
  /** What is compared with the first one is grey; errors have their own colour. */
  readonly tone?: 'accent' | 'grey' | 'bad'
}

export interface LineChartProps {
  readonly label: string
  /** Of the calendar (`2026-11-21`), ascending. */
  readonly days: readonly string[]
  readonly series: readonly Series[]
  readonly format: (value: number) => string
  /** Series stand on each other. */
  readonly isStacked?: boolean
  /** Where a press on a day leads; in the table it is a link. */
  readonly linkOf?: (day: string) => RowLink
}

/** Made anew when the data or the theme changes; a canvas takes its colours when it is drawn. */
export default function LineChartPicture(props: LineChartProps) {
  const { label, days, series, format, isStacked = false, linkOf } = props
  const container = useRef<HTMLDivElement>(null)
  const theme = useTheme()
  const navigate = useNavigate()
  // biome-ignore lint/correctness/useExhaustiveDependencies: the theme decides on the colours that are read here
  useEffect(() => {
    const element = container.current!
    // The legend stands below the picture; before it is made it has no height, and the observer corrects that.
    const legendHeight = () => element.querySelector('.u-legend')?.clientHeight ?? 0
    const size = () => ({ width: element.clientWidth, height: element.clientHeight - legendHeight() })
    const columns = isStacked ? stack(series) : series.map(one => [...one.values])
    const data = [days.map(day => Date.parse(day) / 1000), ...columns] as uPlot.AlignedData
    const chart = new uPlot({ ...size(), ...options(element, series, format) }, data, element)
    const watch = new ResizeObserver(() => chart.setSize(size()))
    watch.observe(element)
    const follow = () => {
      const day = days[chart.cursor.idx ?? -1]
      if (linkOf && day !== undefined) void navigate(linkOf(day) as never)
    }
    chart.over.addEventListener('click', follow)
    if (linkOf) chart.over.style.cursor = 'pointer'
    return () => {
      watch.disconnect()
      chart.destroy()
    }
  }, [days, series, format, isStacked, linkOf, navigate, theme])
  return <div ref={container} role="img" aria-label={label} className="h-(--chart) w-full" />
}

/** Each on the sum of those before it. */
function stack(series: readonly Series[]): (number | null)[][] {
  const sums: number[] = []
  return series.map(one => one.values.map((value, at) => (sums[at] = (sums[at] ?? 0) + (value ?? 0))))
}

function options(
  element: HTMLElement,
  series: readonly Series[],
  format: (value: number) => string,
): Omit<uPlot.Options, 'width' | 'height'> {
  const colour = (token: string) => resolved(element, token)
  const tones = { accent: colour('--accent'), grey: colour('--line-control'), bad: colour('--bad') }
  const axis = { stroke: colour('--muted'), font: '12.5px Inter Variable', ticks: { show: false } }
  return {
    // The marks of the axis stand where days begin in UTC, too.
    tzDate: seconds => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
    series: [
      { label: t('chart.day'), value: (_, seconds) => (seconds === null ? '–' : dayName(seconds)) },
      ...series.map((one, at) => ({
        label: one.label,
        stroke: tones[one.tone ?? (at === 0 ? 'accent' : 'grey')],
        width: 1.5,
        points: { show: false },
        value: (_: uPlot, value: number | null) => (value === null ? '–' : format(value)),
      })),
    ],
    scales: { y: { range: (_, least, most) => [Math.min(0, least ?? 0), (most ?? 0) > 0 ? most * 1.05 : 1] } },
    axes: [
      { ...axis, grid: { show: false }, values: (_, seconds) => seconds.map(dayName) },
      { ...axis, grid: { stroke: colour('--line'), width: 1 }, size: 64, values: (_, values) => values.map(format) },
    ],
    cursor: { points: { size: 6 }, drag: { x: false, y: false } },
    legend: { live: true },
  }
}

const dayName = (seconds: number): string => formatDay(dayOf(seconds * 1000))

/** A canvas cannot read variables, nor light-dark(). */
function resolved(element: HTMLElement, token: string): string {
  const probe = document.createElement('span')
  probe.style.color = `var(${token})`
  element.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}
