/** Which columns of a table a person chose, kept in this browser. */
import { useState } from 'react'

const keyOf = (table: string): string => `modelgate.columns.${table}`

/** undefined = nothing was chosen: the usual columns. */
function readColumns(table: string): string[] | undefined {
  try {
    return localStorage.getItem(keyOf(table))?.split(' ').filter(Boolean)
  } catch {
    // Storage may be refused: the choice holds until the page is left.
    return undefined
  }
}

/** For `shown` and `onShown` of a Table. `table` names it; ids of columns that there are no more do no harm. */
export function useSavedColumns(
  table: string,
): [shown: string[] | undefined, setShown: (ids: string[] | undefined) => void] {
  const [shown, setShown] = useState(() => readColumns(table))
  const keep = (ids: string[] | undefined) => {
    setShown(ids)
    try {
      if (ids === undefined) localStorage.removeItem(keyOf(table))
      else localStorage.setItem(keyOf(table), ids.join(' '))
    } catch {
      // As above.
    }
  }
  return [shown, keep]
}
