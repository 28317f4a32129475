import { useVirtualizer } from '@tanstack/react-virtual'
import { useImperativeHandle } from 'react'
import type { ReactNode, RefObject } from 'react'

/** `--row` of tokens.css, and `--touch` where fingers press. */
const rowHeight = matchMedia('(pointer: coarse)').matches ? 44 : 36

interface LongRowsProps {
  readonly count: number
  readonly scroller: RefObject<HTMLDivElement | null>
  /** Set to the function that brings a row into sight. */
  readonly scrollTo: RefObject<((index: number) => void) | null>
  /** `top` = pixels from the top of the list. */
  readonly rowAt: (index: number, top: number) => ReactNode
}

/** The rows of a long list that are in sight. */
export default function LongRows({ count, scroller, scrollTo, rowAt }: LongRowsProps) {
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 12,
  })
  useImperativeHandle(scrollTo, () => index => virtual.scrollToIndex(index), [virtual])
  return (
    // biome-ignore lint/a11y/useSemanticElements: rows of a grid, as the table is
    <div role="rowgroup" className="relative" style={{ height: virtual.getTotalSize() }}>
      {virtual.getVirtualItems().map(item => rowAt(item.index, item.start))}
    </div>
  )
}
