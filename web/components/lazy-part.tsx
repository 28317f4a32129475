import { lazy, Suspense, useState } from 'react'
import type { ComponentType, ReactNode } from 'react'
import { untilLoaded } from '../lib/load-part.ts'
import { reportError } from './report-error.ts'

/**
 * A part that is loaded when it is first shown: what the first view of a page does not need, as its dialogs. While the
 * gateway is away the page says so, and the part comes when it is back.
 */
export function lazyPart<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
  fallback?: (props: Props) => ReactNode,
): ComponentType<Props> {
  const Part = lazy(() => untilLoaded(load, reportError).then(part => ({ default: part as ComponentType<object> })))
  return props => (
    <Suspense fallback={fallback?.(props)}>
      <Part {...props} />
    </Suspense>
  )
}

/** true from the first time on: a drawer that closes stays until it is out of sight. */
export function useHasBeen(isNow: boolean): boolean {
  const [hasBeen, setHasBeen] = useState(isNow)
  if (isNow && !hasBeen) setHasBeen(true)
  return hasBeen || isNow
}
