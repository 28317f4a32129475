import { useMutation } from '@tanstack/react-query'
import { Activity } from 'lucide-react'
import { ask } from '../api/client.ts'
import type { EndpointHealth } from '../api/schema.d.ts'
import { Badge } from '../components/badge.tsx'
import type { Tone } from '../components/badge.tsx'
import { Button } from '../components/button.tsx'
import { Page } from '../components/page.tsx'
import { EmptyState, ErrorState } from '../components/states.tsx'
import { Table } from '../components/table.tsx'
import type { Column } from '../components/table.tsx'
import { Duration } from '../components/values.tsx'
import { t } from '../strings/index.ts'
import type { StringKey } from '../strings/index.ts'

type State = 'healthy' | 'unhealthy' | 'unchecked'

interface Checked extends EndpointHealth {
  readonly state: State
}

const words: Readonly<Record<State, readonly [tone: Tone, word: StringKey]>> = {
  unhealthy: ['bad', 'health.unhealthy'],
  healthy: ['good', 'health.healthy'],
  unchecked: ['plain', 'health.unchecked'],
}

function StateBadge({ state }: { readonly state: State }) {
  const [tone, word] = words[state]
  return <Badge tone={tone}>{t(word)}</Badge>
}

const columns: readonly Column<Checked>[] = [
  { id: 'model', title: t('health.model'), width: 'minmax(120px, 2fr)', cell: one => one.model_name },
  { id: 'state', title: t('health.state'), width: 'minmax(150px, 1fr)', cell: one => <StateBadge state={one.state} /> },
  { id: 'upstream', title: t('health.upstream'), isWideOnly: true, cell: one => one.model },
  {
    id: 'took',
    title: t('health.took'),
    align: 'end',
    isWideOnly: true,
    cell: one => <Duration milliseconds={one.response_time_ms} />,
  },
  {
    id: 'reason',
    title: t('health.reason'),
    isWideOnly: true,
    width: 'minmax(120px, 3fr)',
    cell: one => <span className="truncate">{one.error ?? one.reason ?? ''}</span>,
  },
]

/** Whether deployments answer. Asking costs a small call of each, so that it waits for a press. */
export default function HealthPage() {
  const check = useMutation({ mutationFn: () => ask('GET /health') })
  const found = check.data && [
    ...check.data.unhealthy_endpoints.map((one): Checked => ({ ...one, state: 'unhealthy' })),
    ...check.data.healthy_endpoints.map((one): Checked => ({ ...one, state: 'healthy' })),
    ...check.data.unchecked_endpoints.map((one): Checked => ({ ...one, state: 'unchecked' })),
  ]
  const action = (
    <Button
      kind="primary"
      data-primary
      busy={check.isPending}
      icon={<Activity size={16} aria-hidden />}
      onClick={() => check.mutate()}
    >
      {t('health.check')}
    </Button>
  )
  return (
    <Page title={t('nav.health')} action={action}>
      {check.isError ? (
        <ErrorState error={check.error} onRetry={() => check.mutate()} />
      ) : check.isIdle ? (
        <EmptyState title={t('health.idle')}>{t('health.idleHelp')}</EmptyState>
      ) : (
        <Table
          label={t('nav.health')}
          columns={columns}
          rows={found}
          rowId={one => one.model_id}
          empty={<EmptyState title={t('health.empty')}>{t('health.emptyHelp')}</EmptyState>}
        />
      )}
    </Page>
  )
}
