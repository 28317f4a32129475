import type { ComponentProps, ReactNode } from 'react'

interface FormProps extends Omit<ComponentProps<'form'>, 'onSubmit' | 'noValidate' | 'children'> {
  /** Called by its button and by Enter, never while a number in it cannot be read. */
  readonly onSubmit: () => void
  readonly children: ReactNode
}

/** Every form: what is wrong in it is said at its fields, in the words of the pages. */
export function Form({ onSubmit, ...others }: FormProps) {
  return (
    <form
      {...others}
      noValidate
      onSubmit={event => {
        event.preventDefault()
        // It may stand in another form, whose own it is not.
        event.stopPropagation()
        if (!goToUnreadable(event.currentTarget)) onSubmit()
      }}
    />
  )
}

/** Puts the focus on the first number that cannot be read; false = there is none. Its field says what is wrong. */
export function goToUnreadable(within: ParentNode): boolean {
  const field = within.querySelector<HTMLElement>('[data-unreadable]')
  const fold = field?.closest('details')
  if (fold) fold.open = true
  field?.focus()
  return field !== null
}
