/** What stands in the place of content: nothing yet, an error, or content that is on its way. */
import clsx from 'clsx'
import type { ReactNode } from 'react'
import { ApiError } from '../api/client.ts'
import { useSession } from '../api/session.ts'
import { roleNames } from '../lib/role-names.ts'
import { t } from '../strings/index.ts'
import type { StringKey } from '../strings/index.ts'
import { Button } from './button.tsx'
import { Id } from './id.tsx'
import { unansweredHelp } from './unanswered.ts'

interface EmptyStateProps {
  /** Why it is empty: "No keys yet". */
  readonly title: string
  readonly children?: ReactNode
  /** The next step: a button, a link, or a CodeBlock with a command. */
  readonly action?: ReactNode
}

export function EmptyState({ title, children, action }: EmptyStateProps) {
  return (
    <div className="flex flex-col items-center gap-3 p-8 text-center">
      <p className="font-semibold">{title}</p>
      {children && <div className="max-w-dialog text-muted">{children}</div>}
      {action}
    </div>
  )
}

interface ErrorStateProps {
  readonly error: unknown
  readonly onRetry?: () => void
  /** In a form or dialog: without the space around. */
  readonly isInline?: boolean
}

/** What failed, what it means, what to do; with the request id where there is one. */
export function ErrorState({ error, onRetry, isInline }: ErrorStateProps) {
  const role = useSession().data?.role
  const { title, help, detail, original, requestId } = explain(error, role)
  // The sign-in stands above the form then, and would leave a reason behind that is none any more.
  if (isInline && error instanceof ApiError && error.isSignedOut) return null
  return (
    <div
      role="alert"
      className={clsx('flex flex-col gap-2', isInline ? 'border-l-2 border-bad pl-3' : 'items-center p-8 text-center')}
    >
      <p className="font-semibold text-bad">{title}</p>
      {detail && <p className="max-w-reading break-words">{detail}</p>}
      {original && original !== detail && <ServerSays message={original} />}
      {help && <p className="max-w-reading text-muted">{help}</p>}
      {requestId && (
        <p className="flex items-center gap-2 text-muted">
          {t('all.requestId')} <Id id={requestId} />
        </p>
      )}
      {onRetry && (
        <div>
          <Button busy={false} onClick={onRetry}>
            {t('all.retry')}
          </Button>
        </div>
      )}
    </div>
  )
}

/** The gateway's own words below a sentence in another language. */
export function ServerSays({ message }: { readonly message: string }) {
  return (
    <p lang="en" className="max-w-reading break-words text-muted">
      {t('all.serverSays', { message })}
    </p>
  )
}

interface Explained {
  readonly title: string
  readonly help?: string
  readonly detail?: string | undefined
  /** What the gateway says, in English. */
  readonly original?: string | undefined
  readonly requestId?: string | null
}

const byStatus: Readonly<Record<number, readonly [title: StringKey, help?: StringKey]>> = {
  403: ['error.forbidden', 'error.forbiddenHelp'],
  404: ['error.notFound', 'error.notFoundHelp'],
  409: ['error.conflict', 'error.conflictHelp'],
  429: ['error.rate', 'error.rateHelp'],
}

function explain(error: unknown, role: string | undefined): Explained {
  if (!(error instanceof ApiError)) return { title: t('error.page'), help: t('error.pageHelp') }
  const { status, sentence, original, requestId } = error
  if (status === 0) return { title: t('error.offline'), help: t(unansweredHelp(error)) }
  const fallback = status >= 500 ? (['error.server', 'error.serverHelp'] as const) : (['error.invalid'] as const)
  const [title, help] = byStatus[status] ?? fallback
  return {
    title: t(title),
    help: help && t(help, { role: roleText(role) }),
    detail: sentence,
    original,
    requestId,
  }
}

/** The word for a role of the gateway. */
function roleText(role: string | undefined): string {
  if (role === undefined) return t('all.none')
  return Object.hasOwn(roleNames, role) ? t(roleNames[role as keyof typeof roleNames]) : role
}

/** A grey shape in the size of what is on its way. `className` gives the size. */
export function Skeleton({ className }: { readonly className?: string }) {
  return <span className={clsx('block animate-pulse rounded-control bg-line', className ?? 'h-4 w-full')} aria-hidden />
}

/** Rows on their way. */
export function SkeletonRows({ count = 8 }: { readonly count?: number }) {
  return (
    <div role="status" aria-label={t('all.loading')}>
      {Array.from({ length: count }, (_, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they have no other identity
        <div key={at} className="flex h-9 items-center border-b border-line px-3">
          <Skeleton className={at % 2 === 0 ? 'h-3 w-3/4' : 'h-3 w-1/2'} />
        </div>
      ))}
    </div>
  )
}
