import { lazy, Suspense, useState } from 'react'
import type { ComponentType } from 'react'

/** A part that is loaded when it is first shown: what the first view of a page does not need, as its dialogs. */
export function lazyPart<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  const Part = lazy(() => load().then(part => ({ default: part as ComponentType<object> })))
  return props => (
    <Suspense>
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
