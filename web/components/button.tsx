import clsx from 'clsx'
import { LoaderCircle } from 'lucide-react'
import type { ComponentProps, MouseEvent, ReactNode } from 'react'

export type ButtonKind = 'primary' | 'plain' | 'quiet' | 'danger'

const kinds: Readonly<Record<ButtonKind, string>> = {
  primary: 'bg-accent text-accent-text border-transparent hover:opacity-95',
  plain: 'bg-raised text-text border-line-control hover:bg-hover',
  quiet: 'bg-transparent text-muted border-transparent hover:bg-hover hover:text-text',
  danger: 'bg-raised text-bad border-bad hover:bg-hover',
}

/** Classes of a button, for what has to look like one (links, triggers of menus). */
export function buttonClass(kind: ButtonKind = 'plain', isSquare = false): string {
  return clsx(
    'inline-flex h-8 touch:h-11 shrink-0 items-center justify-center gap-2 rounded-control border font-medium',
    'whitespace-nowrap select-none disabled:opacity-60 aria-disabled:opacity-60',
    isSquare ? 'w-8 touch:w-11' : 'px-3',
    kinds[kind],
  )
}

export interface ButtonProps extends Omit<ComponentProps<'button'>, 'children'> {
  readonly kind?: ButtonKind
  /** What it does is under way: it cannot be pressed again, and keeps the focus. */
  readonly busy?: boolean
  readonly icon?: ReactNode
  readonly children?: ReactNode
}

/** A verb: "Create key". One that has an icon alone needs an `aria-label`. */
export function Button({ kind, busy = false, icon, children, className, onClick, type, ...others }: ButtonProps) {
  // The second press of a double click comes before `busy` is known: what was sent once is not sent again.
  const isAgain = (event: MouseEvent) => busy || (type === 'submit' && event.detail > 1)
  return (
    <button
      {...others}
      type={type ?? 'button'}
      aria-disabled={busy || undefined}
      aria-busy={busy || undefined}
      onClick={event => (isAgain(event) ? event.preventDefault() : onClick?.(event))}
      className={clsx(buttonClass(kind, children === undefined), className)}
    >
      {busy ? <LoaderCircle size={16} className="animate-spin" aria-hidden /> : icon}
      {children}
    </button>
  )
}
