import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Plus } from 'lucide-react'
import { ask } from '../api/client.ts'
import type { ModelInfo } from '../api/schema.d.ts'
import { useSession } from '../api/session.ts'
import { Badge } from '../components/badge.tsx'
import { Button } from '../components/button.tsx'
import { Page } from '../components/page.tsx'
import { SearchField } from '../components/forms/search-field.tsx'
import { EmptyState, ErrorState } from '../components/states.tsx'
import { Table } from '../components/table.tsx'
import type { Column } from '../components/table.tsx'
import { useOpened, useSearchFlag } from '../lib/address.ts'
import { formatDateOf } from '../lib/format.ts'
import { isAdministrator } from '../frame/rights.ts'
import { useSearchText } from '../lib/search-text.ts'
import { textOf } from '../strings/index.ts'
import { page, t } from './models.page.ts'
import { OtherPrice } from './model-hub/price.tsx'
import { AddModel } from './models/add-model.tsx'
import { ModelDrawer, SourceTag } from './models/model-drawer.tsx'
import { otherPriceOf, perMillion } from './models/prices.ts'

const columns: readonly Column<ModelInfo>[] = [
  {
    id: 'name',
    title: t('models.name'),
    width: 'minmax(120px, 2fr)',
    cell: one => (
      <span className="flex min-w-0 items-center gap-3">
        <span className="truncate">{one.model_name}</span>
        {one.model_info.blocked && <Badge tone="bad">{t('block.blocked')}</Badge>}
      </span>
    ),
  },
  {
    id: 'upstream',
    title: t('models.upstream'),
    width: 'minmax(120px, 2fr)',
    cell: one => <span className="truncate text-muted">{one.proxy_params.model}</span>,
  },
  { id: 'mode', title: t('models.mode'), isWideOnly: true, cell: one => one.model_info.mode },
  {
    id: 'source',
    title: t('models.source'),
    isWideOnly: true,
    width: 'minmax(150px, 1fr)',
    cell: one => <SourceTag source={one.model_info.source} where={one.model_info.source_where} />,
  },
  {
    id: 'input',
    width: 'minmax(160px, 1fr)',
    title: t('models.input'),
    align: 'end',
    isWideOnly: true,
    cell: ({ model_info: info }) => {
      const other = otherPriceOf(info)
      return other ? <OtherPrice row={other} /> : <Price usd={info.input_cost_per_token} />
    },
  },
  {
    id: 'output',
    title: t('models.output'),
    align: 'end',
    isWideOnly: true,
    cell: ({ model_info: info }) => (otherPriceOf(info) ? '–' : <Price usd={info.output_cost_per_token} />),
  },
]

/** Of a token, shown for a million of them. */
function Price({ usd }: { readonly usd: number | null }) {
  const text = perMillion(usd)
  return text === null ? (
    <span className="text-muted">{t('money.unknown')}</span>
  ) : (
    <span className="numbers whitespace-nowrap">{text}</span>
  )
}

/** Of which day the prices are, and that they are old. */
function PriceListDay() {
  const readiness = useQuery({
    queryKey: ['readiness'],
    queryFn: ({ signal }) => ask('GET /health/readiness', { signal }),
  })
  const list = readiness.data?.price_list
  if (!list?.date) return null
  return (
    <p className="flex flex-wrap items-center gap-3 text-muted">
      {t(list.name === 'operator' ? 'models.ownPrices' : 'models.builtInPrices', { day: formatDateOf(list.date) })}
      {list.is_old && <Badge tone="warn">{t('models.oldPrices')}</Badge>}
    </p>
  )
}

/** Every deployment behind the public names, with what it costs. */
export default function ModelsPage() {
  const { text, searched, type } = useSearchText()
  const session = useSession().data
  const [openName, , close] = useOpened('model')
  const [isAdding, setAdding] = useSearchFlag('new')
  const models = useInfiniteQuery({
    queryKey: ['models', 'deployments', searched],
    queryFn: ({ pageParam, signal }) =>
      ask('GET /v2/model/info', { query: { page: pageParam, size: 100, search: searched }, signal }),
    initialPageParam: 1,
    getNextPageParam: page => (page.current_page < page.total_pages ? page.current_page + 1 : null),
  })
  const create = session && isAdministrator(session) && (
    <Button kind="primary" data-primary icon={<Plus size={16} aria-hidden />} onClick={() => setAdding(true)}>
      {t('setup.addModel')}
    </Button>
  )
  const search = <SearchField label={t('models.search')} value={text} onChange={type} />
  return (
    <Page title={textOf(page.title)} action={create} filters={search}>
      <PriceListDay />
      {models.isError ? (
        <ErrorState error={models.error} onRetry={() => void models.refetch()} />
      ) : (
        <Table
          label={textOf(page.title)}
          columns={columns}
          rows={models.data?.pages.flatMap(page => page.data)}
          rowId={one => one.model_info.id}
          rowLink={one => ({ to: '.', search: { model: one.model_name } })}
          empty={
            <EmptyState title={t(searched === '' ? 'models.empty' : 'all.noMatch')}>
              {searched === '' && t('models.emptyHelp')}
            </EmptyState>
          }
          onMore={models.hasNextPage ? () => void models.fetchNextPage() : undefined}
          isLoadingMore={models.isFetchingNextPage}
        />
      )}
      {openName !== '' && <ModelDrawer key={openName} name={openName} onClose={close} />}
      {isAdding && <AddModel onClose={() => setAdding(false)} />}
    </Page>
  )
}
