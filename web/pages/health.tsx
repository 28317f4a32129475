import { useMutation, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Activity } from 'lucide-react'
import { useState } from 'react'
import { ask } from '../api/client.ts'
import type { DeploymentHistory, EndpointHealth, ModelHealth } from '../api/schema.d.ts'
import { useSession } from '../api/session.ts'
import { Badge } from '../components/badge.tsx'
import type { Tone } from '../components/badge.tsx'
import { BlockButton } from '../components/gateway/block-deployment.tsx'
import { Button, buttonClass } from '../components/button.tsx'
import { Page } from '../components/page.tsx'
import { PercentilePair } from '../components/charts/percentiles.tsx'
import { EmptyState, ErrorState } from '../components/states.tsx'
import { Table } from '../components/table.tsx'
import type { Column } from '../components/table.tsx'
import { Duration } from '../components/values.tsx'
import { isAdministrator } from '../frame/rights.ts'
import { formatShare } from '../lib/format.ts'
import { textOf } from '../strings/index.ts'
import { page, t } from './health.page.ts'
import type { StringKey } from './health.page.ts'
import { Sparkline } from '../components/charts/sparkline.tsx'

type Deployment = DeploymentHistory['deployments'][number]
type State = 'blocked' | 'healthy' | 'unhealthy' | 'unchecked' | 'cooling' | 'failing' | 'fine' | 'unused'

interface Row extends Deployment {
  /** Of this visit; absent = it was not checked. */
  readonly checked?: EndpointHealth & { readonly state: State }
}

const words: Readonly<Record<State, readonly [tone: Tone, word: StringKey]>> = {
  blocked: ['bad', 'health.blocked'],
  unhealthy: ['bad', 'health.unhealthy'],
  healthy: ['good', 'health.healthy'],
  unchecked: ['plain', 'health.unchecked'],
  cooling: ['bad', 'health.cooling'],
  failing: ['warn', 'health.failing'],
  fine: ['good', 'health.fine'],
  unused: ['plain', 'health.unused'],
}
/** From this share of failed calls on, in two days. */
const failingShare = 0.2

/** What was checked now counts more than what calls have met. */
function stateOf(row: Row): State {
  const { checked, is_cooling_down: isCooling, requests_by_day: calls, failed_by_day: failed } = row
  if (row.blocked) return 'blocked'
  if (checked && checked.state !== 'unchecked') return checked.state
  if (isCooling) return 'cooling'
  const [of, bad] = [calls, failed].map(days => days.slice(-2).reduce((sum, count) => sum + count, 0)) as [
    number,
    number,
  ]
  if (of === 0) return calls.some(count => count > 0) ? 'fine' : 'unused'
  return bad / of >= failingShare ? 'failing' : 'fine'
}

function StateBadge({ row }: { readonly row: Row }) {
  const [tone, word] = words[stateOf(row)]
  return <Badge tone={tone}>{t(word)}</Badge>
}

const successOf = ({ requests, failed_requests: failed }: Row): string =>
  requests === 0 ? '–' : formatShare((requests - failed) / requests)

const columns: readonly Column<Row>[] = [
  {
    id: 'model',
    title: t('health.model'),
    width: 'minmax(110px, 2fr)',
    cell: one => (
      <span className="truncate" title={one.model_name}>
        {one.model_name}
      </span>
    ),
  },
  { id: 'state', title: t('health.state'), width: 'minmax(136px, 1fr)', cell: one => <StateBadge row={one} /> },
  {
    id: 'upstream',
    title: t('health.upstream'),
    isWideOnly: true,
    width: 'minmax(120px, 3fr)',
    cell: one => (
      <span className="truncate text-muted" title={one.model}>
        {one.model}
      </span>
    ),
  },
  {
    id: 'days',
    title: t('health.days'),
    isWideOnly: true,
    width: 'minmax(110px, 1fr)',
    cell: one => <Sparkline requests={one.requests_by_day} failed={one.failed_by_day} />,
  },
  {
    id: 'success',
    title: t('health.success'),
    align: 'end',
    isWideOnly: true,
    width: 'minmax(96px, 1fr)',
    cell: successOf,
  },
  {
    id: 'latency',
    title: t('health.latency'),
    align: 'end',
    isWideOnly: true,
    width: 'minmax(140px, 1fr)',
    cell: one => <PercentilePair of={one.latency} />,
  },
  {
    id: 'firstByte',
    title: t('health.firstByte'),
    align: 'end',
    isWideOnly: true,
    width: 'minmax(140px, 1fr)',
    cell: one => <PercentilePair of={one.latency.first_byte} />,
  },
]

/** What was found when it was asked, and why it is switched off. */
const reasonColumns: readonly Column<Row>[] = [
  {
    id: 'took',
    title: t('health.took'),
    align: 'end',
    isWideOnly: true,
    width: 'minmax(90px, 1fr)',
    cell: one => <Duration milliseconds={one.checked?.response_time_ms} />,
  },
  {
    id: 'reason',
    title: t('health.reason'),
    isWideOnly: true,
    width: 'minmax(80px, 1fr)',
    cell: one => {
      const why = one.blocked ? t('block.by', { by: one.blocked_by ?? '' }) : undefined
      const reason = why ? `${why} ${one.blocked_reason ?? ''}` : (one.checked?.error ?? one.checked?.reason ?? '')
      return (
        <span className="truncate" title={reason}>
          {reason}
        </span>
      )
    },
  },
]

const changeColumn: Column<Row> = {
  id: 'change',
  title: t('health.change'),
  align: 'end',
  width: 'minmax(100px, 1fr)',
  cell: one => (
    <BlockButton id={one.model_id} name={`${one.model_name} (${one.model})`} isBlocked={one.blocked} isQuiet />
  ),
}

/** A call is in the ledger seconds after it ended, and the page stays open where an outage is watched. */
const refreshMs = 10_000

/** How calls of the deployments ended lately. Asking them costs a small call of each, so that it waits for a press. */
export default function HealthPage() {
  const session = useSession().data
  const history = useQuery({
    queryKey: ['models', 'history'],
    queryFn: ({ signal }) => ask('GET /health/deployments', { signal }),
    refetchInterval: refreshMs,
  })
  const [checked, setChecked] = useState<ReadonlyMap<string, NonNullable<Row['checked']>>>(new Map())
  const check = useMutation({
    mutationFn: () => ask('GET /health'),
    onSuccess: found => setChecked(statesOf(found)),
  })
  const mayChange = session !== undefined && isAdministrator(session)
  const action = mayChange && (
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
  const rows = history.data?.deployments.map((one): Row => ({ ...one, checked: checked.get(one.model_id) }))
  const hasReasons = rows?.some(one => one.blocked || one.checked !== undefined)
  return (
    <Page title={textOf(page.title)} action={action}>
      {action && <p className="text-muted">{t('health.checkHelp')}</p>}
      {check.isError && <ErrorState error={check.error} isInline onRetry={() => check.mutate()} />}
      {history.isError ? (
        <ErrorState error={history.error} onRetry={() => void history.refetch()} />
      ) : (
        <Table
          label={textOf(page.title)}
          columns={[...columns, ...(hasReasons ? reasonColumns : []), ...(mayChange ? [changeColumn] : [])]}
          rows={rows}
          rowId={one => one.model_id}
          rowLink={one => ({ to: '/models', search: { model: one.model_name } })}
          empty={
            <EmptyState
              title={t('health.empty')}
              action={
                <Link to="/models" className={buttonClass('primary')}>
                  {t('health.addModel')}
                </Link>
              }
            >
              {t('health.emptyHelp')}
            </EmptyState>
          }
        />
      )}
    </Page>
  )
}

function statesOf(found: ModelHealth): ReadonlyMap<string, NonNullable<Row['checked']>> {
  const of = (endpoints: readonly EndpointHealth[], state: State) =>
    endpoints.map(one => [one.model_id, { ...one, state }] as const)
  return new Map([
    ...of(found.unhealthy_endpoints, 'unhealthy'),
    ...of(found.healthy_endpoints, 'healthy'),
    ...of(found.unchecked_endpoints, 'unchecked'),
  ])
}
