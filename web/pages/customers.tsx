import { useInfiniteQuery } from '@tanstack/react-query'
import { Plus } from 'lucide-react'
import { ask } from '../api/client.ts'
import type { Customer } from '../api/schema.d.ts'
import { useSession } from '../api/session.ts'
import { StatusBadge } from '../components/badge.tsx'
import { Button } from '../components/button.tsx'
import { CodeBlock } from '../components/text/code-block.tsx'
import { budgetInWords } from '../components/gateway/limits.tsx'
import { Page } from '../components/page.tsx'
import { SearchField } from '../components/forms/search-field.tsx'
import { EmptyState, ErrorState } from '../components/states.tsx'
import { Table } from '../components/table.tsx'
import type { Column } from '../components/table.tsx'
import { Ago, Money } from '../components/values.tsx'
import { isAdministrator } from '../frame/rights.ts'
import { useOpened, useSearchFlag } from '../lib/address.ts'
import { useSearchText } from '../lib/search-text.ts'
import { textOf } from '../strings/index.ts'
import { page, t } from './customers.page.ts'
import { CreateCustomer } from './customers/create-customer.tsx'
import { CustomerDrawer } from './customers/customer-drawer.tsx'

const columns: readonly Column<Customer>[] = [
  { id: 'id', title: t('customers.id'), width: 'minmax(140px, 2fr)', cell: one => one.user_id },
  { id: 'name', title: t('all.name'), isWideOnly: true, cell: one => one.alias ?? t('all.none') },
  { id: 'status', title: t('all.status'), isWideOnly: true, cell: one => <StatusBadge blocked={one.blocked} /> },
  { id: 'spend', title: t('all.spentEver'), align: 'end', cell: one => <Money usd={one.spend} /> },
  {
    id: 'budget',
    title: t('limits.budget'),
    align: 'end',
    cell: budgetInWords,
  },
  { id: 'created', title: t('all.created'), isWideOnly: true, cell: one => <Ago at={one.created_at} /> },
]

/** How a call names its customer. */
const example = '{ "model": "...", "messages": [...], "user": "shop-4711" }'

/** End users of applications: those that calls name in `user`. */
export default function CustomersPage() {
  const session = useSession().data
  const { text, searched, type } = useSearchText()
  const [openId, open, close] = useOpened('customer')
  const [isCreating, setCreating] = useSearchFlag('new')
  const list = useInfiniteQuery({
    queryKey: ['customers', searched],
    queryFn: ({ pageParam, signal }) =>
      ask('GET /v2/customer/list', { query: { page_size: 50, cursor: pageParam, search: searched.trim() }, signal }),
    initialPageParam: '',
    getNextPageParam: page => page.next_cursor,
  })
  const create = session && isAdministrator(session) && (
    <Button kind="primary" data-primary icon={<Plus size={16} aria-hidden />} onClick={() => setCreating(true)}>
      {t('customers.create')}
    </Button>
  )
  const empty =
    searched === '' ? (
      <EmptyState
        title={t('customers.empty')}
        action={<CodeBlock label={t('customers.example')} snippets={[{ title: 'JSON', code: example }]} />}
      >
        {t('customers.emptyHelp')}
      </EmptyState>
    ) : (
      <EmptyState title={t('all.noMatch')} />
    )
  return (
    <Page
      title={textOf(page.title)}
      action={create}
      filters={<SearchField label={t('customers.search')} value={text} onChange={type} />}
    >
      {list.isError ? (
        <ErrorState error={list.error} onRetry={() => void list.refetch()} />
      ) : (
        <Table
          label={textOf(page.title)}
          columns={columns}
          rows={list.data?.pages.flatMap(page => page.customers)}
          rowId={one => one.user_id}
          rowLink={one => ({ to: '.', search: { customer: one.user_id } })}
          openId={openId}
          empty={empty}
          onMore={list.hasNextPage ? () => void list.fetchNextPage() : undefined}
          isLoadingMore={list.isFetchingNextPage}
        />
      )}
      {openId !== '' && <CustomerDrawer key={openId} id={openId} onClose={close} />}
      {isCreating && <CreateCustomer onClose={() => setCreating(false)} onCreated={id => open(id)} />}
    </Page>
  )
}
