import clsx from 'clsx'
import { LoaderCircle } from 'lucide-react'
import type { ComponentProps, KeyboardEvent, MouseEvent, ReactNode } from 'react'

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
  /**
   * What it does is under way: it cannot be pressed again, and keeps the focus. One that starts a request has it, be it
   * `false` for ever: the second press of a double click, and a key that is held, then start nothing.
   */
  readonly busy?: boolean
  readonly icon?: ReactNode
  readonly children?: ReactNode
}

/** A verb: "Create key". One that has an icon alone needs an `aria-label`. */
export function Button({ kind, busy, icon, children, className, onClick, onKeyDown, type, ...others }: ButtonProps) {
  const isOnce = busy !== undefined || type === 'submit'
  // The second press of a double click comes before `busy` is known: what was sent once is not sent again.
  const isAgain = (event: MouseEvent) => busy || (isOnce && event.detail > 1)
  const isHeld = (event: KeyboardEvent) => isOnce && event.repeat && event.key === 'Enter'
  return (
    <button
      {...others}
      type={type ?? 'button'}
      aria-disabled={busy || undefined}
      aria-busy={busy || undefined}
      onClick={event => (isAgain(event) ? event.preventDefault() : onClick?.(event))}
      onKeyDown={event => (isHeld(event) ? event.preventDefault() : onKeyDown?.(event))}
      className={clsx(buttonClass(kind, children === undefined), className)}
    >
      {busy ? <LoaderCircle size={16} className="animate-spin" aria-hidden /> : icon}
      {children}
    </button>
  )
}
