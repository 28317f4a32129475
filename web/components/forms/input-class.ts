import clsx from 'clsx'

/** The look of everything that text is typed into. */
export const inputClass = clsx(
  'h-8 touch:h-11 w-full min-w-0 rounded-control border border-line-control bg-raised px-3 text-text',
  'data-invalid:border-bad aria-invalid:border-bad disabled:opacity-60',
)
