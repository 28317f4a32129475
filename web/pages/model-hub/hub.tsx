import { Link, Navigate } from '@tanstack/react-router'
import { LayoutGrid, Table2 } from 'lucide-react'
import type { ReactNode } from 'react'
import { useHubModels } from '../../api/model-groups.ts'
import type { HubModel } from '../../api/model-groups.ts'
import { Tag } from '../../components/badge.tsx'
import { buttonClass } from '../../components/button.tsx'
import { Page } from '../../components/page.tsx'
import { Missing } from '../../components/overlays/missing.tsx'
import { EmptyState, ErrorState, SkeletonRows } from '../../components/states.tsx'
import { Table } from '../../components/table.tsx'
import type { Column } from '../../components/table.tsx'
import { Tokens } from '../../components/values.tsx'
import { useOpened } from '../../lib/address.ts'
import { textOf } from '../../strings/index.ts'
import { page, t } from '../model-hub.page.ts'
import { HubFilters, useHubFilter } from './facets.tsx'
import { HealthBadge } from './health-badge.tsx'
import { ModelDrawer } from './model-drawer.tsx'
import { priceWithoutTokens } from './price-rows.ts'
import { OtherPrice, Price } from './price.tsx'

const columns: readonly Column<HubModel>[] = [
  { id: 'name', title: t('hub.model'), width: 'minmax(160px, 2fr)', cell: model => model.model_group },
  { id: 'provider', title: t('hub.provider'), isWideOnly: true, cell: model => model.providers.join(', ') },
  { id: 'mode', title: t('hub.mode'), isWideOnly: true, cell: model => model.mode ?? t('hub.unknown') },
  {
    id: 'health',
    title: t('hub.health'),
    isWideOnly: true,
    cell: model => <HealthBadge model={model} />,
  },
  {
    id: 'context',
    title: t('hub.context'),
    align: 'end',
    isWideOnly: true,
    cell: model => <Tokens count={model.max_input_tokens} />,
  },
]

const priceColumns: readonly Column<HubModel>[] = [
  {
    id: 'input',
    width: 'minmax(100px, 1.5fr)',
    title: t('hub.input'),
    align: 'end',
    cell: model => {
      const other = priceWithoutTokens(model)
      return other ? <OtherPrice row={other} /> : <Price perToken={model.input_cost_per_token} />
    },
  },
  {
    id: 'output',
    title: t('hub.output'),
    align: 'end',
    cell: model => (priceWithoutTokens(model) ? '–' : <Price perToken={model.output_cost_per_token} />),
  },
]

/** Search, facets and the models that fit. Strangers see what the operator shows them, or are led to the sign-in. */
export function ModelHub({ view }: { readonly view: 'cards' | 'table' }) {
  const { models, isSignedOut } = useHubModels()
  const { fits, values } = useHubFilter()
  const [openName, , close] = useOpened('model')
  if (isSignedOut && models.data?.length === 0)
    return (
      <Navigate to="/login" search={{ from: view === 'table' ? '/model_hub_table' : '/model_hub' } as never} replace />
    )
  const rows = models.data?.filter(fits)
  const chosen = models.data?.find(one => one.model_group === openName)
  const empty = <EmptyState title={t(models.data?.length === 0 ? 'hub.empty' : 'all.noMatch')} />
  const hasPrices = models.data?.some(one => one.prices !== undefined) ?? true
  return (
    <Page
      title={textOf(page.title)}
      action={<OtherView view={view} filter={values} />}
      filters={<HubFilters models={models.data ?? []} />}
    >
      {models.error ? (
        <ErrorState error={models.error} onRetry={() => void models.refetch()} />
      ) : view === 'table' ? (
        <Table
          label={textOf(page.title)}
          columns={hasPrices ? [...columns, ...priceColumns] : columns}
          rows={rows}
          rowId={model => model.model_group}
          rowLink={model => ({ to: '.', search: { ...values, model: model.model_group } })}
          openId={openName}
          empty={empty}
        />
      ) : (
        <Cards models={rows} filter={values} empty={empty} />
      )}
      {openName !== '' && models.data && !chosen && <Missing name={openName} onClose={close} />}
      {chosen && <ModelDrawer model={chosen} isSignedOut={isSignedOut} onClose={close} />}
    </Page>
  )
}

type Filter = Readonly<Record<string, string | undefined>>

function OtherView({ view, filter }: { readonly view: 'cards' | 'table'; readonly filter: Filter }) {
  const isTable = view === 'table'
  return (
    <Link to={isTable ? '/model_hub' : '/model_hub_table'} search={filter} className={buttonClass()}>
      {isTable ? <LayoutGrid size={16} aria-hidden /> : <Table2 size={16} aria-hidden />}
      {t(isTable ? 'hub.asCards' : 'hub.asTable')}
    </Link>
  )
}

interface CardsProps {
  /** Undefined = on their way. */
  readonly models: readonly HubModel[] | undefined
  readonly filter: Filter
  readonly empty: ReactNode
}

function Cards({ models, filter, empty }: CardsProps) {
  if (models === undefined) return <SkeletonRows />
  if (models.length === 0) return empty
  return (
    <ul className="grid gap-3 narrow:grid-cols-2 wide:grid-cols-3">
      {models.map(model => (
        <li key={model.model_group} className="flex min-w-0 flex-col">
          <Link
            to="."
            search={{ ...filter, model: model.model_group }}
            className="flex min-w-0 grow flex-col gap-3 rounded-panel border border-line bg-panel p-4 hover:bg-hover"
          >
            <Card model={model} />
          </Link>
        </li>
      ))}
    </ul>
  )
}

function Card({ model }: { readonly model: HubModel }) {
  return (
    <>
      <span className="flex min-w-0 items-center justify-between gap-2">
        <span className="min-w-0 truncate font-semibold">{model.model_group}</span>
        {model.mode && <Tag>{model.mode}</Tag>}
      </span>
      {model.description && <span className="line-clamp-2">{model.description}</span>}
      <span className="flex flex-wrap items-center justify-between gap-x-4 gap-y-1 text-muted">
        <span className="min-w-0 truncate">{model.providers.join(', ')}</span>
        <HealthBadge model={model} />
      </span>
      <span className="flex flex-wrap gap-x-4 gap-y-1">
        {model.prices && <CardPrices model={model} />}
        {model.max_input_tokens !== null && <Tokens count={model.max_input_tokens} />}
      </span>
    </>
  )
}

function CardPrices({ model }: { readonly model: HubModel }) {
  const other = priceWithoutTokens(model)
  if (other) return <OtherPrice row={other} />
  return (
    <>
      <span>
        {t('hub.inputShort')} <Price perToken={model.input_cost_per_token} />
      </span>
      <span>
        {t('hub.outputShort')} <Price perToken={model.output_cost_per_token} />
      </span>
      <span className="text-muted">{t('hub.perMillion')}</span>
    </>
  )
}
