import { Link } from '@tanstack/react-router'
import { LayoutGrid, Table2 } from 'lucide-react'
import type { ReactNode } from 'react'
import { useModelGroups } from '../../api/model-groups.ts'
import type { ModelGroup } from '../../api/model-groups.ts'
import { Tag } from '../../components/badge.tsx'
import { buttonClass } from '../../components/button.tsx'
import { Page } from '../../components/page.tsx'
import { SearchField } from '../../components/search-field.tsx'
import { Select } from '../../components/select.tsx'
import { EmptyState, ErrorState, SkeletonRows } from '../../components/states.tsx'
import { Table } from '../../components/table.tsx'
import type { Column } from '../../components/table.tsx'
import { Tokens } from '../../components/values.tsx'
import { useSearchValue } from '../../lib/address.ts'
import { useSearchText } from '../../lib/search-text.ts'
import { t } from '../../strings/index.ts'
import { ModelDrawer } from './model-drawer.tsx'
import { Price } from './price.tsx'

const columns: readonly Column<ModelGroup>[] = [
  { id: 'name', title: t('hub.model'), width: 'minmax(160px, 2fr)', cell: model => model.model_group },
  { id: 'provider', title: t('hub.provider'), isWideOnly: true, cell: model => model.providers.join(', ') },
  { id: 'mode', title: t('hub.mode'), isWideOnly: true, cell: model => model.mode ?? t('hub.unknown') },
  {
    id: 'context',
    title: t('hub.context'),
    align: 'end',
    isWideOnly: true,
    cell: model => <Tokens count={model.max_input_tokens} />,
  },
  { id: 'input', title: t('hub.input'), align: 'end', cell: model => <Price perToken={model.input_cost_per_token} /> },
  {
    id: 'output',
    title: t('hub.output'),
    align: 'end',
    cell: model => <Price perToken={model.output_cost_per_token} />,
  },
]

/** Every value of a facet, once, in its order. */
const valuesOf = (values: readonly (string | null)[]): string[] =>
  [...new Set(values)].filter(value => value !== null).toSorted()

const choicesOf = (every: string, values: readonly string[]) => [
  { value: '', label: every },
  ...values.map(value => ({ value, label: value })),
]

/** Search, facets and the models that fit. */
export function ModelHub({ view }: { readonly view: 'cards' | 'table' }) {
  const models = useModelGroups()
  const { text, searched, type } = useSearchText()
  const [provider, setProvider] = useSearchValue('provider')
  const [mode, setMode] = useSearchValue('mode')
  const [openName, open] = useSearchValue('model')
  const wanted = searched.toLowerCase()
  const rows = models.data?.filter(
    one =>
      one.model_group.toLowerCase().includes(wanted) &&
      (provider === '' || one.providers.includes(provider)) &&
      (mode === '' || one.mode === mode),
  )
  const filter = { q: searched, provider, mode }
  const chosen = models.data?.find(one => one.model_group === openName)
  const empty = <EmptyState title={t(models.data?.length === 0 ? 'hub.empty' : 'all.noMatch')} />
  const filters = (
    <>
      <SearchField label={t('hub.search')} value={text} onChange={type} />
      <Select
        isCompact
        label={t('hub.provider')}
        choices={choicesOf(t('hub.everyProvider'), valuesOf(models.data?.flatMap(one => one.providers) ?? []))}
        value={provider}
        onChange={setProvider}
      />
      <Select
        isCompact
        label={t('hub.mode')}
        choices={choicesOf(t('hub.everyMode'), valuesOf(models.data?.map(one => one.mode) ?? []))}
        value={mode}
        onChange={setMode}
      />
    </>
  )
  return (
    <Page title={t('nav.modelHub')} action={<OtherView view={view} filter={filter} />} filters={filters}>
      {models.isError ? (
        <ErrorState error={models.error} onRetry={() => void models.refetch()} />
      ) : view === 'table' ? (
        <Table
          label={t('nav.modelHub')}
          columns={columns}
          rows={rows}
          rowId={model => model.model_group}
          rowLink={model => ({ to: '.', search: { ...filter, model: model.model_group } })}
          openId={openName}
          empty={empty}
        />
      ) : (
        <Cards models={rows} filter={filter} empty={empty} />
      )}
      {chosen && <ModelDrawer model={chosen} onClose={() => open('')} />}
    </Page>
  )
}

type Filter = Readonly<Record<string, string>>

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
  readonly models: readonly ModelGroup[] | undefined
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
            <span className="flex min-w-0 items-center justify-between gap-2">
              <span className="min-w-0 truncate font-semibold">{model.model_group}</span>
              {model.mode && <Tag>{model.mode}</Tag>}
            </span>
            <span className="text-muted">{model.providers.join(', ')}</span>
            <span className="flex flex-wrap gap-x-4 gap-y-1">
              <span>
                {t('hub.inputShort')} <Price perToken={model.input_cost_per_token} />
              </span>
              <span>
                {t('hub.outputShort')} <Price perToken={model.output_cost_per_token} />
              </span>
              {model.max_input_tokens !== null && <Tokens count={model.max_input_tokens} />}
            </span>
          </Link>
        </li>
      ))}
    </ul>
  )
}
