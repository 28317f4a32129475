import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { callQuery, sessionQuery } from '../../api/calls.ts'
import type { SpendLog } from '../../api/schema.d.ts'
import { Button, buttonClass } from '../../components/button.tsx'
import { ErrorState, Skeleton } from '../../components/states.tsx'
import { formatCount } from '../../lib/format.ts'
import { t } from '../logs.page.ts'

interface SessionCallsProps {
  readonly call: SpendLog
  /** Its session, conversation or trace. */
  readonly sessionId: string
  readonly onOpen: (id: string) => void
}

/** Where a call stands among those of its session, and the ways to the others. */
export function SessionCalls({ call, sessionId, onOpen }: SessionCallsProps) {
  const queries = useQueryClient()
  const session = useQuery(sessionQuery(call, sessionId))
  if (session.isPending) return <Skeleton className="h-9 w-full" />
  if (session.isError) return <ErrorState isInline error={session.error} onRetry={() => void session.refetch()} />
  const { place, count, earlier, later } = session.data
  const open = (other: SpendLog) => {
    // What is shown next is here already.
    queries.setQueryData(callQuery(other.request_id).queryKey, other)
    onOpen(other.request_id)
  }
  const way = (title: string, other: SpendLog | undefined) => (
    <Button disabled={!other} onClick={() => other && open(other)}>
      {title}
    </Button>
  )
  return (
    <section aria-label={t('logs.session')} className="flex flex-wrap items-center gap-2">
      <span className="grow">{t('logs.sessionPlace', { place: formatCount(place), count: formatCount(count) })}</span>
      {way(t('logs.sessionPrevious'), earlier)}
      {way(t('logs.sessionNext'), later)}
      <Link
        to="."
        search={(before: Record<string, unknown>) => ({ ...before, q: `session:${sessionId}`, range: '30d' })}
        className={buttonClass()}
      >
        {t('logs.sessionAll')}
      </Link>
    </section>
  )
}
