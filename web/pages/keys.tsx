import { Plus } from 'lucide-react'
import { useKeys } from '../api/keys.ts'
import type { KeyFilter, KeyState, ListedKey } from '../api/keys.ts'
import { useSession } from '../api/session.ts'
import { Button } from '../components/button.tsx'
import { lazyPart, useHasBeen } from '../components/lazy-part.tsx'
import { SearchField } from '../components/forms/search-field.tsx'
import { budgetInWords } from '../components/gateway/limits.tsx'
import { Page } from '../components/page.tsx'
import { EmptyState, ErrorState } from '../components/states.tsx'
import { Table } from '../components/table.tsx'
import type { Column } from '../components/table.tsx'
import { Ago, Money } from '../components/values.tsx'
import { mayCreateKeys, mayReadAll } from '../frame/rights.ts'
import { useOpened, useSearchFlag, useSearchValue } from '../lib/address.ts'
import { formatCount } from '../lib/format.ts'
import { useSearchText } from '../lib/search-text.ts'
import { textOf } from '../strings/index.ts'
import { page, t } from './keys.page.ts'
import { KeyStatus } from './keys/key-status.tsx'
import { OwnLimits } from './keys/own-limits.tsx'

const CreateKey = lazyPart(async () => (await import('./keys/create-key.tsx')).CreateKey)
const StateFilter = lazyPart(async () => (await import('./keys/state-filter.tsx')).StateFilter)
/** A choice is four times as large as the rest of the page. */
const TeamFilter = lazyPart(async () => (await import('./keys/team-filter.tsx')).TeamFilter)
const KeyDrawer = lazyPart(async () => (await import('./keys/key-drawer.tsx')).KeyDrawer)

const columns: readonly Column<ListedKey>[] = [
  {
    id: 'key_alias',
    title: t('keys.name'),
    width: 'minmax(120px, 2fr)',
    isSortable: true,
    cell: key => key.key_alias ?? key.key_name,
  },
  {
    id: 'key',
    title: t('keys.key'),
    // Its ending says which one it is: it is whole on the smallest screen.
    width: 'minmax(96px, 1fr)',
    cell: key => <code className="min-w-0 font-mono text-code break-all">{key.key_name}</code>,
  },
  { id: 'status', title: t('keys.status'), cell: key => <KeyStatus keyRow={key} /> },
  { id: 'team', title: t('keys.team'), isWideOnly: true, cell: key => key.team_alias ?? key.team_id ?? '–' },
  {
    id: 'user',
    title: t('keys.user'),
    isWideOnly: true,
    cell: key => key.user_alias ?? key.user_email ?? key.user_id ?? '–',
  },
  { id: 'spend', title: t('all.spentEver'), align: 'end', isWideOnly: true, cell: key => <Money usd={key.spend} /> },
  {
    id: 'budget',
    title: t('keys.budget'),
    align: 'end',
    isWideOnly: true,
    cell: budgetInWords,
  },
  {
    id: 'expires',
    title: t('keys.expires'),
    align: 'end',
    isWideOnly: true,
    isSortable: true,
    cell: key => <Ago at={key.expires} />,
  },
  {
    id: 'created',
    title: t('keys.created'),
    align: 'end',
    isWideOnly: true,
    isSortable: true,
    cell: key => <Ago at={key.created_at} />,
  },
]

const keyStates: readonly KeyState[] = ['active', 'ending', 'expired', 'blocked']

/** `key_alias.asc` of the address; undefined = the newest first. */
function readSort(text: string): KeyFilter['sort'] {
  const [, by, order] = /^(key_alias|expires)\.(asc|desc)$/.exec(text) ?? []
  return by === undefined ? undefined : ({ by, order } as KeyFilter['sort'])
}

/** Keys: one's own; those of a team for its admins; all for administrators. */
export default function KeysPage() {
  const session = useSession().data
  const { text, searched, type } = useSearchText()
  const [team, setTeam] = useSearchValue('team')
  const [stateText, setState] = useSearchValue('state')
  const [sortText, setSort] = useSearchValue('sort')
  const state = keyStates.find(one => one === stateText) ?? ''
  const sort = readSort(sortText)
  const keys = useKeys({ search: searched, team, state, sort })
  const isFiltered = searched !== '' || team !== '' || state !== ''
  const [isCreating, setCreating] = useSearchFlag('new')
  const [open, , close] = useOpened('key')
  const hasOpened = useHasBeen(open !== '')
  const mayCreate = session !== undefined && mayCreateKeys(session)
  const shown = session && mayReadAll(session) ? columns : columns.filter(column => column.id !== 'user')
  const startCreating = () => setCreating(true)
  return (
    <Page
      title={textOf(page.title)}
      action={
        mayCreate && (
          <Button kind="primary" data-primary icon={<Plus size={16} aria-hidden />} onClick={startCreating}>
            {t('keys.create')}
          </Button>
        )
      }
      filters={
        <>
          <SearchField label={t('keys.search')} value={text} onChange={type} />
          <TeamFilter team={team} onChange={setTeam} />
          <StateFilter state={state} onChange={setState} />
          {keys.data && <span className="text-muted">{t('keys.count', { count: formatCount(keys.data.count) })}</span>}
        </>
      }
    >
      {session?.user_id && <OwnLimits />}
      {keys.isError ? (
        <ErrorState error={keys.error} onRetry={() => void keys.refetch()} />
      ) : (
        <Table
          label={textOf(page.title)}
          columns={shown}
          rows={keys.data?.rows}
          rowId={key => key.token_id}
          rowLink={key => ({ to: '.', search: { key: key.token_id } })}
          openId={open}
          sort={sort ?? { by: 'created', order: 'desc' }}
          onSort={({ by, order }) => setSort(`${by}.${sort?.by === by ? order : 'asc'}`)}
          empty={
            isFiltered ? (
              <EmptyState title={t('all.noMatch')} />
            ) : (
              <EmptyState
                title={t('keys.empty')}
                action={mayCreate && <Button onClick={startCreating}>{t('keys.create')}</Button>}
              >
                {t('keys.emptyHelp')}
              </EmptyState>
            )
          }
          onMore={keys.hasNextPage ? () => void keys.fetchNextPage() : undefined}
          isLoadingMore={keys.isFetchingNextPage}
        />
      )}
      {isCreating && <CreateKey onClose={() => setCreating(false)} />}
      {hasOpened && <KeyDrawer id={open} onClose={close} />}
    </Page>
  )
}
