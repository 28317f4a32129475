import { useRef, useState } from 'react'
import type { PointerEvent } from 'react'
import { formatCount, formatMoment } from '../lib/format.ts'
import type { Span } from '../lib/time-range.ts'
import { t } from '../strings/index.ts'

export interface Bar {
  readonly fromMs: number
  readonly toMs: number
  readonly count: number
  /** How many of them failed: drawn below, in the colour of errors. */
  readonly failed: number
}

interface HistogramProps {
  readonly bars: readonly Bar[]
  /** A span that was dragged over. */
  readonly onSelect: (span: Span) => void
}

const width = 1000
const height = 72
const gap = 1

/** Counts over time above a list. Dragging chooses a span; the time range of the page does the same by keyboard. */
export function Histogram({ bars, onSelect }: HistogramProps) {
  const picture = useRef<SVGSVGElement>(null)
  const [drag, setDrag] = useState<readonly [from: number, to: number] | null>(null)
  const most = Math.max(1, ...bars.map(bar => bar.count))
  const step = width / Math.max(1, bars.length)
  const barAt = (event: PointerEvent) => {
    const box = picture.current!.getBoundingClientRect()
    const at = Math.floor(((event.clientX - box.left) / box.width) * bars.length)
    return Math.max(0, Math.min(bars.length - 1, at))
  }
  const end = () => {
    if (drag) {
      const [first, last] = [Math.min(...drag), Math.max(...drag)]
      onSelect({ fromMs: bars[first]!.fromMs, toMs: bars[last]!.toMs })
    }
    setDrag(null)
  }
  return (
    <svg
      ref={picture}
      role="img"
      aria-label={t('histogram.label')}
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      className="h-18 w-full cursor-crosshair touch-none select-none"
      onPointerDown={event => {
        if (bars.length === 0) return
        event.currentTarget.setPointerCapture(event.pointerId)
        setDrag([barAt(event), barAt(event)])
      }}
      onPointerMove={event => drag && setDrag([drag[0], barAt(event)])}
      onPointerUp={end}
      onPointerCancel={() => setDrag(null)}
    >
      {bars.map((bar, index) => {
        const all = (bar.count / most) * height
        const failed = (bar.failed / most) * height
        const place = { x: index * step, width: Math.max(gap, step - gap) }
        return (
          <g key={bar.fromMs}>
            <title>{`${formatMoment(bar.fromMs)} – ${formatMoment(bar.toMs)}: ${formatCount(bar.count)}`}</title>
            <rect {...place} y={0} height={height} className="fill-transparent" />
            <rect {...place} y={height - all} height={all} className="fill-line-control" />
            <rect {...place} y={height - failed} height={failed} className="fill-bad" />
          </g>
        )
      })}
      {drag && (
        <rect
          x={Math.min(...drag) * step}
          width={(Math.abs(drag[1] - drag[0]) + 1) * step}
          y={0}
          height={height}
          className="fill-selected stroke-accent"
        />
      )}
    </svg>
  )
}
