import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiError } from '../api/client.ts'
import type { Session } from '../api/schema.d.ts'
import { endSession, endSessions, sessionsQuery, useSession } from '../api/session.ts'
import { Appearance } from '../components/appearance.tsx'
import { Badge } from '../components/badge.tsx'
import { Button } from '../components/button.tsx'
import { Confirm } from '../components/overlays/dialog.tsx'
import { Page } from '../components/page.tsx'
import { reportError } from '../components/report-error.ts'
import { EmptyState, ErrorState } from '../components/states.tsx'
import { Table } from '../components/table.tsx'
import type { Column } from '../components/table.tsx'
import { toast } from '../components/overlays/toast.tsx'
import { Ago } from '../components/values.tsx'
import { useLeaveToSignIn } from '../frame/sign-out.ts'
import { deviceName } from '../lib/device-name.ts'
import { textOf } from '../strings/index.ts'
import { page, t } from './sessions.page.ts'
import { OwnPassword } from './sessions/own-password.tsx'

/** Where this person is signed in, and how to end it there. */
export default function SessionsPage() {
  const sessions = useQuery(sessionsQuery)
  const session = useSession().data
  const [isEndingAll, setEndingAll] = useState(false)
  const leave = useLeaveToSignIn()
  // The gateway lists sessions of persons alone.
  const isByKey = sessions.error instanceof ApiError && sessions.error.status === 403
  // That of this page is one of them.
  const endAll = useMutation({ mutationFn: endSessions, onSuccess: leave })
  return (
    <Page
      title={textOf(page.title)}
      action={
        !isByKey && (
          <Button kind="danger" onClick={() => setEndingAll(true)}>
            {t('sessions.endAll')}
          </Button>
        )
      }
    >
      {isByKey ? (
        <EmptyState title={t('sessions.byKey')}>{t('sessions.byKeyHelp')}</EmptyState>
      ) : sessions.isError ? (
        <ErrorState error={sessions.error} onRetry={() => void sessions.refetch()} />
      ) : (
        <Table
          label={textOf(page.title)}
          columns={columns}
          rows={sessions.data}
          rowId={row => row.id}
          empty={<EmptyState title={t('sessions.empty')} />}
        />
      )}
      {session?.user_id && <OwnPassword />}
      <Appearance />
      <Confirm
        open={isEndingAll}
        onClose={() => setEndingAll(false)}
        title={t('sessions.endAll')}
        description={t('sessions.endAllHelp')}
        action={t('sessions.endAll')}
        busy={endAll.isPending}
        onConfirm={() => endAll.mutate()}
        problem={endAll.error && <ErrorState error={endAll.error} isInline />}
      />
    </Page>
  )
}

const columns: readonly Column<Session>[] = [
  {
    id: 'device',
    title: t('sessions.device'),
    width: 'minmax(140px, 2fr)',
    cell: row => <span title={row.user_agent ?? undefined}>{deviceName(row.user_agent) ?? t('sessions.unknown')}</span>,
  },
  { id: 'address', title: t('sessions.address'), isWideOnly: true, cell: row => row.client_address },
  { id: 'used', title: t('sessions.used'), cell: row => <Ago at={row.last_used_at} /> },
  { id: 'ends', title: t('sessions.ends'), isWideOnly: true, cell: row => <Ago at={row.expires_at} /> },
  { id: 'end', title: t('sessions.end'), align: 'end', cell: row => <EndButton row={row} /> },
]

function EndButton({ row }: { readonly row: Session }) {
  const client = useQueryClient()
  const end = useMutation({
    mutationFn: () => endSession(row.id),
    onSuccess: () => {
      toast(t('sessions.ended'))
      return client.invalidateQueries({ queryKey: ['sessions'] })
    },
    onError: reportError,
  })
  if (row.current) return <Badge tone="good">{t('sessions.current')}</Badge>
  return (
    <Button kind="quiet" busy={end.isPending} onClick={() => end.mutate()}>
      {t('sessions.end')}
    </Button>
  )
}
