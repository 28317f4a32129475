import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { ask } from '../api/client.ts'
import { useModelNames } from '../api/models.ts'
import type { Overview, SpendLog } from '../api/schema.d.ts'
import { isDone, useOverview } from '../api/setup.ts'
import { Badge } from '../components/badge.tsx'
import { buttonClass } from '../components/button.tsx'
import { lazyPart } from '../components/lazy-part.tsx'
import { Meter } from '../components/charts/meter.tsx'
import { Page, Panel } from '../components/page.tsx'
import { StackedBars } from '../components/charts/stacked-bars.tsx'
import { EmptyState, ErrorState, Skeleton, SkeletonRows } from '../components/states.tsx'
import { Ago, Money } from '../components/values.tsx'
import { daysFrom } from '../lib/days.ts'
import { formatCount, formatDay, formatMoney } from '../lib/format.ts'
import { textOf } from '../strings/index.ts'
import { page, t } from './overview.page.ts'
import { kindName, limitOf, placeOf } from './budgets/kinds.ts'
import { logsLink, spanOfDays } from './logs/link.ts'
import { OutcomeBadge } from './logs/outcome.tsx'
import { Figures } from './overview/figures.tsx'

const SetupList = lazyPart(async () => (await import('./overview/setup-list.tsx')).SetupList)

/** The setup of a new installation, until it is done; then how it goes, for each person with what is theirs. */
export default function OverviewPage() {
  const overview = useOverview()
  const found = overview.data
  // Who reads them changes when the overview comes: a question under way would be given up and asked again.
  useModelNames()
  return (
    <Page title={textOf(page.title)}>
      {overview.isError ? (
        <ErrorState error={overview.error} onRetry={() => void overview.refetch()} />
      ) : !found ? (
        <Skeleton className="h-(--chart) w-full" />
      ) : found.setup && !isDone(found.setup) ? (
        <SetupList setup={found.setup} />
      ) : (
        <Running overview={found} />
      )}
      {!(found && (!found.setup || isDone(found.setup))) && <Models />}
    </Page>
  )
}

/** What is broken first, then how it goes, who spends, and what comes in now. */
function Running({ overview }: { readonly overview: Overview }) {
  const { spend_by_model: byModel, budgets, unwell_deployments: unwell } = overview
  const shown = byModel.filter(one => one.spend.some(usd => usd > 0))
  const days = daysFrom(overview.start_date, shown[0]?.spend.length ?? 0)
  return (
    <>
      {unwell.length > 0 && <Unwell deployments={unwell} />}
      <Figures overview={overview} />
      <div className="grid items-start gap-4 wide:grid-cols-3">
        <div className="flex min-w-0 flex-col gap-4 wide:col-span-2">
          <Panel>
            {shown.length === 0 ? (
              <EmptyState
                title={t('overview.noSpend')}
                action={
                  <Link to="/connect" className={buttonClass()}>
                    {t('all.connect')}
                  </Link>
                }
              >
                {t('overview.noSpendHelp')}
              </EmptyState>
            ) : (
              <StackedBars
                label={t('overview.byModel')}
                bars={days.map(formatDay)}
                series={shown.map(one => ({ label: one.model || t('overview.otherModels'), values: one.spend }))}
                format={formatMoney}
                linkOf={(bar, part) => {
                  const model = shown.find(one => one.model !== '' && one.model === part?.label)?.model
                  return logsLink(spanOfDays(days[bar]!), { model })
                }}
              />
            )}
          </Panel>
          <LastCalls />
        </div>
        <div className="flex min-w-0 flex-col gap-4">
          <NearBudgets budgets={budgets} />
          <Models />
        </div>
      </div>
    </>
  )
}

function NearBudgets({ budgets }: { readonly budgets: Overview['budgets'] }) {
  return (
    <Panel title={t('overview.budgets')}>
      {budgets.length === 0 && <p className="text-muted">{t('overview.noBudgets')}</p>}
      <ul className="flex flex-col gap-3">
        {budgets.map(one => {
          const link = placeOf[one.kind]
          const name = (
            <>
              {one.name} <span className="font-normal text-muted">{kindName(one.kind)}</span>
            </>
          )
          return (
            <li key={one.scope} className="flex min-w-0 flex-col gap-1">
              {link ? (
                <Link to={link[0]} search={{ [link[1]]: one.id }} className="font-medium hover:underline">
                  {name}
                </Link>
              ) : (
                <span className="font-medium">{name}</span>
              )}
              <Meter
                label={one.scope}
                used={one.spent}
                limit={limitOf(one)}
                format={formatMoney}
                resetsAt={one.budget_reset_at}
                reachedAt={one.reached_at}
              />
            </li>
          )
        })}
      </ul>
    </Panel>
  )
}

function Unwell({ deployments }: { readonly deployments: Overview['unwell_deployments'] }) {
  return (
    <Panel title={t('overview.unwell')}>
      <ul className="flex flex-col gap-2">
        {deployments.map(one => (
          <li key={one.model_id} className="flex min-w-0 flex-wrap items-center justify-between gap-x-3">
            <Link
              to="/models"
              search={{ model: one.model_name }}
              className="min-w-0 truncate font-medium hover:underline"
            >
              {one.model_id}
            </Link>
            <Badge tone="bad">
              {one.is_cooling_down
                ? t('overview.cooling')
                : t('overview.fails', {
                    failed: formatCount(one.failed_requests),
                    calls: formatCount(one.requests),
                  })}
            </Badge>
          </li>
        ))}
      </ul>
    </Panel>
  )
}

const liveMs = 3000
const listed = 10

/** Read again every few seconds while the page is looked at. */
function LastCalls() {
  const calls = useQuery({
    queryKey: ['logs', 'last', listed],
    queryFn: ({ signal }) => ask('GET /spend/logs/v2', { query: { cursor: 'first', page_size: listed }, signal }),
    refetchInterval: liveMs,
    placeholderData: keepPreviousData,
  })
  return (
    <Panel
      title={t('overview.lastCalls')}
      action={
        <Link to="/usage" search={{ by: 'key', days: '7' }} className="target underline">
          {t('overview.whoSpends')}
        </Link>
      }
    >
      {calls.isPending && <SkeletonRows count={listed} />}
      {calls.isError && <ErrorState error={calls.error} isInline onRetry={() => void calls.refetch()} />}
      {calls.data?.data.length === 0 && <p className="text-muted">{t('overview.noCalls')}</p>}
      <ul>
        {calls.data?.data.map(call => (
          <li key={call.request_id} className="border-b border-line last:border-transparent">
            <LastCall call={call} />
          </li>
        ))}
      </ul>
    </Panel>
  )
}

function LastCall({ call }: { readonly call: SpendLog }) {
  return (
    <Link
      to="/logs"
      search={{ call: call.request_id }}
      className="flex min-h-9 touch:min-h-11 flex-wrap items-center gap-x-4 py-1 hover:bg-hover"
    >
      <span className="w-24 text-muted">
        <Ago at={call.started_at_ms} />
      </span>
      <span className="w-24">
        <OutcomeBadge call={call} />
      </span>
      <span className="min-w-0 grow truncate font-medium">{call.model}</span>
      <span className="min-w-0 truncate text-muted max-narrow:hidden">{call.key_alias ?? call.key_id}</span>
      <Money usd={call.spend} />
    </Link>
  )
}

function Models() {
  const models = useModelNames()
  return (
    <Panel title={t('overview.models')}>
      {models.isPending && <SkeletonRows count={4} />}
      {models.isError && <ErrorState error={models.error} onRetry={() => void models.refetch()} />}
      {models.data?.length === 0 && (
        <EmptyState title={t('overview.noModels')}>{t('overview.noModelsHelp')}</EmptyState>
      )}
      <ul className="flex flex-wrap gap-2">
        {models.data?.map(name => (
          <li key={name} className="rounded-control border border-line px-2 font-mono text-code">
            {name}
          </li>
        ))}
      </ul>
    </Panel>
  )
}
