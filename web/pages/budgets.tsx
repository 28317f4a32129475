import { useInfiniteQuery } from '@tanstack/react-query'
import { Plus } from 'lucide-react'
import type { ReactNode } from 'react'
import { ask } from '../api/client.ts'
import type { Calls } from '../api/schema.d.ts'
import { useSession } from '../api/session.ts'
import { Tag } from '../components/badge.tsx'
import { Button } from '../components/button.tsx'
import { Meter } from '../components/charts/meter.tsx'
import { Page } from '../components/page.tsx'
import { SearchField } from '../components/forms/search-field.tsx'
import { Select } from '../components/forms/select.tsx'
import { EmptyState, ErrorState } from '../components/states.tsx'
import { Table } from '../components/table.tsx'
import type { Column } from '../components/table.tsx'
import { Ago } from '../components/values.tsx'
import { isAdministrator } from '../frame/rights.ts'
import { useChangeSearch, useSearchFlag, useSearchValue } from '../lib/address.ts'
import { formatMoney } from '../lib/format.ts'
import { useSearchText } from '../lib/search-text.ts'
import { textOf } from '../strings/index.ts'
import { page, t } from './budgets.page.ts'
import { BudgetDrawer } from './budgets/budget-drawer.tsx'
import { CreateBudget } from './budgets/create-budget.tsx'
import { NamedBudgets } from './budgets/named-budgets.tsx'
import { kindName, kinds, limitOf } from './budgets/kinds.ts'
import type { Budget, Kind } from './budgets/kinds.ts'

const columns: readonly Column<Budget>[] = [
  {
    id: 'name',
    title: t('budgets.whose'),
    width: 'minmax(140px, 2fr)',
    cell: one => (
      <>
        {one.name} <span className="font-normal text-muted">{kindName(one.kind)}</span>
      </>
    ),
  },
  {
    id: 'model',
    title: t('budgets.model'),
    isWideOnly: true,
    cell: one =>
      one.model === null ? <span className="text-muted">{t('budgets.everyModel')}</span> : <Tag>{one.model}</Tag>,
  },
  {
    id: 'used',
    title: t('budgets.used'),
    width: 'minmax(150px, 2fr)',
    cell: one => (
      <div className="min-w-0 grow py-1">
        <Meter label={one.scope} used={one.spent} limit={limitOf(one)} format={formatMoney} />
      </div>
    ),
  },
  {
    id: 'resets',
    title: t('budgets.resets'),
    isWideOnly: true,
    cell: one => (one.budget_reset_at === null ? t('budgets.never') : <Ago at={one.budget_reset_at} />),
  },
  {
    id: 'forecast',
    title: t('budgets.forecast'),
    isWideOnly: true,
    cell: one => <Forecast of={one} />,
  },
]

function Forecast({ of: { reached_at: at, forecast } }: { readonly of: Budget }) {
  if (at !== null) return <Ago at={at} />
  if (forecast === null) return <span className="text-muted">–</span>
  return <span className="text-muted">{t('budgets.atEnd', { amount: formatMoney(forecast) })}</span>
}

const states = { '': 'budgets.all', '0.8': 'budgets.near', '1': 'budgets.reached' } as const

/** All budgets, the nearest to its limit first; and the named ones that many share. */
export default function BudgetsPage() {
  const session = useSession().data
  const [view, setView] = useSearchValue('view')
  const [isCreating, setCreating] = useSearchFlag('new')
  const change = useChangeSearch()
  const create = session && isAdministrator(session) && (
    <Button kind="primary" data-primary icon={<Plus size={16} aria-hidden />} onClick={() => setCreating(true)}>
      {t('budgets.create')}
    </Button>
  )
  const views = (
    <Select
      isCompact
      label={t('budgets.view')}
      value={view}
      onChange={setView}
      choices={[
        { value: '', label: t('budgets.view.all') },
        { value: 'named', label: t('budgets.view.named') },
      ]}
    />
  )
  return (
    <>
      {view === 'named' ? <NamedBudgets action={create} views={views} /> : <Usage action={create} views={views} />}
      {isCreating && (
        <CreateBudget onClose={() => setCreating(false)} onCreated={id => change({ view: 'named', named: id })} />
      )}
    </>
  )
}

interface ViewProps {
  readonly action: ReactNode
  readonly views: ReactNode
}

function Usage({ action, views }: ViewProps) {
  const { text, searched, type } = useSearchText()
  const [kind, setKind] = useSearchValue('kind')
  const [share, setShare] = useSearchValue('share')
  const query: UsageQuery = {
    page_size: 50,
    search: searched.trim(),
    ...(kind !== '' && { kind: kind as Kind }),
    ...(share !== '' && { min_share: Number(share) }),
  }
  const filters = (
    <>
      {views}
      <SearchField label={t('budgets.search')} value={text} onChange={type} />
      <Select
        isCompact
        label={t('budgets.kind')}
        value={kind}
        onChange={setKind}
        choices={[
          { value: '', label: t('budgets.everyKind') },
          ...kinds.map(value => ({ value, label: kindName(value) })),
        ]}
      />
      <Select
        isCompact
        label={t('budgets.state')}
        value={share}
        onChange={setShare}
        choices={Object.entries(states).map(([value, label]) => ({ value, label: t(label) }))}
      />
    </>
  )
  return (
    <Page title={textOf(page.title)} action={action} filters={filters}>
      <UsageTable query={query} isFiltered={searched !== '' || kind !== '' || share !== ''} />
    </Page>
  )
}

type UsageQuery = Partial<NonNullable<Calls['GET /budget/usage']['query']>>

/** The budgets, and the drawer of the one that the address names. */
function UsageTable({ query, isFiltered }: { readonly query: UsageQuery; readonly isFiltered: boolean }) {
  const [openKind] = useSearchValue('of')
  const [openId] = useSearchValue('id')
  const [openModel] = useSearchValue('model')
  const change = useChangeSearch()
  const list = useInfiniteQuery({
    queryKey: ['budgets', 'usage', query],
    queryFn: ({ pageParam, signal }) => ask('GET /budget/usage', { query: { ...query, cursor: pageParam }, signal }),
    initialPageParam: '',
    getNextPageParam: page => page.next_cursor,
  })
  const rows = list.data && unique(list.data.pages.flatMap(page => page.budgets))
  const isOpen = (one: Budget) => one.kind === openKind && one.id === openId && (one.model ?? '') === openModel
  return (
    <>
      {list.isError ? (
        <ErrorState error={list.error} onRetry={() => void list.refetch()} />
      ) : (
        <Table
          label={textOf(page.title)}
          columns={columns}
          rows={rows}
          rowId={one => one.scope}
          rowLink={one => ({ to: '.', search: { of: one.kind, id: one.id, model: one.model ?? undefined } })}
          openId={rows?.find(isOpen)?.scope}
          empty={
            <EmptyState title={t(isFiltered ? 'all.noMatch' : 'budgets.empty')}>
              {!isFiltered && t('budgets.emptyHelp')}
            </EmptyState>
          }
          onMore={list.hasNextPage ? () => void list.fetchNextPage() : undefined}
          isLoadingMore={list.isFetchingNextPage}
        />
      )}
      {list.data?.pages.at(-1)?.is_complete === false && !list.hasNextPage && (
        <p className="text-muted">{t('budgets.incomplete')}</p>
      )}
      {openId !== '' && (
        <BudgetDrawer
          key={`${openKind}:${openId}:${openModel}`}
          kind={openKind as Kind}
          id={openId}
          model={openModel === '' ? null : openModel}
          onClose={() => change({ of: undefined, id: undefined, model: undefined })}
        />
      )}
    </>
  )
}

/** What was spent between two pages may have moved a budget from one to the other. */
const unique = (budgets: readonly Budget[]): Budget[] => [...new Map(budgets.map(one => [one.scope, one])).values()]
