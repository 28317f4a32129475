import { useInfiniteQuery } from '@tanstack/react-query'
import { Plus } from 'lucide-react'
import { ask } from '../api/client.ts'
import type { Organization } from '../api/schema.d.ts'
import { useSession } from '../api/session.ts'
import { StatusBadge } from '../components/badge.tsx'
import { Button } from '../components/button.tsx'
import { budgetInWords, modelsInWords } from '../components/gateway/limits.tsx'
import { Page } from '../components/page.tsx'
import { SearchField } from '../components/forms/search-field.tsx'
import { EmptyState, ErrorState } from '../components/states.tsx'
import { Table } from '../components/table.tsx'
import type { Column } from '../components/table.tsx'
import { Ago } from '../components/values.tsx'
import { isAdministrator } from '../frame/rights.ts'
import { useOpened, useSearchFlag } from '../lib/address.ts'
import { useSearchText } from '../lib/search-text.ts'
import { textOf } from '../strings/index.ts'
import { page, t } from './organizations.page.ts'
import { CreateOrganization } from './organizations/create-organization.tsx'
import { OrganizationDrawer } from './organizations/organization-drawer.tsx'

const columns: readonly Column<Organization>[] = [
  {
    id: 'name',
    title: t('all.name'),
    width: 'minmax(140px, 2fr)',
    cell: one => one.organization_alias ?? one.organization_id,
  },
  { id: 'status', title: t('all.status'), isWideOnly: true, cell: one => <StatusBadge blocked={one.blocked} /> },
  {
    id: 'models',
    title: t('limits.models'),
    isWideOnly: true,
    cell: one => <span className="truncate">{modelsInWords(one.models)}</span>,
  },
  {
    id: 'budget',
    title: t('limits.budget'),
    align: 'end',
    cell: budgetInWords,
  },
  { id: 'created', title: t('all.created'), isWideOnly: true, cell: one => <Ago at={one.created_at} /> },
]

/** The organizations that this person may see: all of them, or the own ones. */
export default function OrganizationsPage() {
  const session = useSession().data
  const { text, searched, type } = useSearchText()
  const [openId, open, close] = useOpened('organization')
  const [isCreating, setCreating] = useSearchFlag('new')
  const list = useInfiniteQuery({
    queryKey: ['organizations', searched],
    queryFn: ({ pageParam, signal }) =>
      ask('GET /v2/organization/list', {
        query: { page_size: 50, cursor: pageParam, organization_alias: searched },
        signal,
      }),
    initialPageParam: '',
    getNextPageParam: page => page.next_cursor,
  })
  const create = session && isAdministrator(session) && (
    <Button kind="primary" data-primary icon={<Plus size={16} aria-hidden />} onClick={() => setCreating(true)}>
      {t('organizations.create')}
    </Button>
  )
  const search = <SearchField label={t('organizations.search')} value={text} onChange={type} />
  return (
    <Page title={textOf(page.title)} action={create} filters={search}>
      {list.isError ? (
        <ErrorState error={list.error} onRetry={() => void list.refetch()} />
      ) : (
        <Table
          label={textOf(page.title)}
          columns={columns}
          rows={list.data?.pages.flatMap(page => page.organizations)}
          rowId={one => one.organization_id}
          rowLink={one => ({ to: '.', search: { organization: one.organization_id } })}
          openId={openId}
          empty={
            <EmptyState title={t(searched === '' ? 'organizations.empty' : 'all.noMatch')}>
              {searched === '' && t('organizations.emptyHelp')}
            </EmptyState>
          }
          onMore={list.hasNextPage ? () => void list.fetchNextPage() : undefined}
          isLoadingMore={list.isFetchingNextPage}
        />
      )}
      {openId !== '' && <OrganizationDrawer key={openId} id={openId} onClose={close} />}
      {isCreating && <CreateOrganization onClose={() => setCreating(false)} onCreated={id => open(id)} />}
    </Page>
  )
}
