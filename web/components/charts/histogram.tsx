import { useRef, useState } from 'react'
import type { KeyboardEvent, PointerEvent } from 'react'
import { dayOf } from '../../lib/days.ts'
import { formatCount, formatDays, formatMoment } from '../../lib/format.ts'
import type { Span } from '../../lib/time-range.ts'
import { t } from '../../strings/index.ts'

export interface Bar {
  readonly fromMs: number
  readonly toMs: number
  readonly count: number
  /** How many of them failed: drawn below, in the colour of errors. */
  readonly failed: number
}

interface HistogramProps {
  readonly bars: readonly Bar[]
  /** Bars are days of the calendar in UTC, and named so. */
  readonly isByDay?: boolean
  /** A span that was brushed. */
  readonly onSelect: (span: Span) => void
}

/** Indexes of bars: where brushing began, and where it is. */
type Brush = readonly [from: number, to: number]

const width = 1000
const height = 72
const gap = 1

/**
 * Counts over time above a list. A span is chosen by dragging over bars, or by keyboard: the arrows go to a bar, with
 * Shift they take the bars between along, Enter chooses, Escape leaves it.
 */
export function Histogram({ bars, isByDay = false, onSelect }: HistogramProps) {
  const picture = useRef<HTMLDivElement>(null)
  const [brush, setBrush] = useState<Brush | null>(null)
  const [isDragged, setDragged] = useState(false)
  const last = bars.length - 1
  const barAt = (event: PointerEvent) => {
    const box = picture.current!.getBoundingClientRect()
    return within(Math.floor(((event.clientX - box.left) / box.width) * bars.length), last)
  }
  const choose = () => {
    if (brush) onSelect(spanOfBars(bars, brush))
    setBrush(null)
    setDragged(false)
  }
  const press = (event: KeyboardEvent) => {
    const next = nextBrush(event, brush, last)
    if (next === undefined || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    event.stopPropagation()
    if (next === 'chosen') choose()
    else setBrush(next)
  }
  return (
    // A slider is what screen readers know that is gone along by arrows and says where it is.
    <div
      ref={picture}
      role="slider"
      tabIndex={0}
      aria-label={t('histogram.label')}
      aria-valuemin={0}
      aria-valuemax={Math.max(0, last)}
      aria-valuenow={within(brush?.[1] ?? last, last)}
      aria-valuetext={valueText(bars, brush, isByDay)}
      className="w-full cursor-crosshair touch-none select-none"
      onKeyDown={press}
      onBlur={() => setBrush(null)}
      onPointerDown={event => {
        if (bars.length === 0) return
        event.currentTarget.setPointerCapture(event.pointerId)
        setBrush([barAt(event), barAt(event)])
        setDragged(true)
      }}
      onPointerMove={event => isDragged && brush && setBrush([brush[0], barAt(event)])}
      onPointerUp={() => isDragged && choose()}
      onPointerCancel={() => {
        setBrush(null)
        setDragged(false)
      }}
    >
      <svg aria-hidden viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" className="h-18 w-full">
        <Bars bars={bars} isByDay={isByDay} />
        {brush && <BrushedArea brush={brush} step={stepOf(bars)} />}
      </svg>
    </div>
  )
}

const within = (at: number, last: number): number => Math.max(0, Math.min(last, at))
const stepOf = (bars: readonly Bar[]): number => width / Math.max(1, bars.length)

function spanOfBars(bars: readonly Bar[], brush: Brush): Span {
  return { fromMs: bars[Math.min(...brush)]!.fromMs, toMs: bars[Math.max(...brush)]!.toMs }
}

/** What a key makes of a brush; undefined = it is none of the histogram's. Without a brush the last bar is gone to. */
function nextBrush(
  { key, shiftKey }: KeyboardEvent,
  brush: Brush | null,
  last: number,
): Brush | 'chosen' | null | undefined {
  if (last < 0) return undefined
  if (key === 'Enter' || key === ' ') return brush ? 'chosen' : undefined
  if (key === 'Escape') return brush ? null : undefined
  const at = brush?.[1] ?? last + 1
  const to = { ArrowLeft: at - 1, ArrowRight: at + 1, PageUp: at - 10, PageDown: at + 10, Home: 0, End: last }[key]
  if (to === undefined) return undefined
  return [shiftKey && brush ? brush[0] : within(to, last), within(to, last)]
}

/** The span of a brush, or of everything, with its calls. */
function valueText(bars: readonly Bar[], brush: Brush | null, isByDay: boolean): string {
  if (bars.length === 0) return ''
  const all: Brush = brush ?? [0, bars.length - 1]
  const { fromMs, toMs } = spanOfBars(bars, all)
  const count = bars.slice(Math.min(...all), Math.max(...all) + 1).reduce((sum, bar) => sum + bar.count, 0)
  return barText({ fromMs, toMs, count }, isByDay)
}

const barText = ({ fromMs, toMs, count }: Omit<Bar, 'failed'>, isByDay: boolean): string =>
  `${spanText({ fromMs, toMs }, isByDay)}: ${formatCount(count)}`

const spanText = ({ fromMs, toMs }: Span, isByDay: boolean): string =>
  isByDay ? formatDays(dayOf(fromMs), dayOf(toMs - 1)) : `${formatMoment(fromMs)} – ${formatMoment(toMs)}`

function Bars({ bars, isByDay }: { readonly bars: readonly Bar[]; readonly isByDay: boolean }) {
  const most = Math.max(1, ...bars.map(bar => bar.count))
  const step = stepOf(bars)
  return bars.map((bar, index) => {
    const all = (bar.count / most) * height
    const failed = (bar.failed / most) * height
    const position = { x: index * step, width: Math.max(gap, step - gap) }
    return (
      <g key={bar.fromMs}>
        <title>{barText(bar, isByDay)}</title>
        <rect {...position} y={0} height={height} className="fill-transparent" />
        <rect {...position} y={height - all} height={all} className="fill-line-control" />
        <rect {...position} y={height - failed} height={failed} className="fill-bad" />
      </g>
    )
  })
}

function BrushedArea({ brush, step }: { readonly brush: Brush; readonly step: number }) {
  return (
    <rect
      x={Math.min(...brush) * step}
      width={(Math.abs(brush[1] - brush[0]) + 1) * step}
      y={0}
      height={height}
      className="fill-selected stroke-accent"
    />
  )
}
