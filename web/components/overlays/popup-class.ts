import clsx from 'clsx'

/** The look of a list that floats: of a select, a combobox, a menu. */
export const popupClass = clsx(
  'floating max-h-(--available-height) min-w-(--anchor-width) max-w-(--available-width) overflow-y-auto',
  'rounded-panel p-1 outline-none',
)

/** The look of one row of it. */
export const itemClass = clsx(
  'flex min-h-8 touch:min-h-11 cursor-default items-center gap-2 rounded-control px-2 outline-none select-none',
  'data-highlighted:bg-hover data-disabled:opacity-60',
)
