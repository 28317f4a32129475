import { useInfiniteQuery } from '@tanstack/react-query'
import { Plus } from 'lucide-react'
import { ask } from '../api/client.ts'
import type { User } from '../api/schema.d.ts'
import { useSession } from '../api/session.ts'
import { StatusBadge } from '../components/badge.tsx'
import { Button } from '../components/button.tsx'
import { Page } from '../components/page.tsx'
import { SearchField } from '../components/forms/search-field.tsx'
import { Select } from '../components/forms/select.tsx'
import { EmptyState, ErrorState } from '../components/states.tsx'
import { Table } from '../components/table.tsx'
import type { Column } from '../components/table.tsx'
import { Ago, Money } from '../components/values.tsx'
import { isAdministrator } from '../frame/rights.ts'
import { useOpened, useSearchFlag, useSearchValue } from '../lib/address.ts'
import { useSearchText } from '../lib/search-text.ts'
import { textOf } from '../strings/index.ts'
import { page, t } from './users.page.ts'
import { CreateUser } from './users/create-user.tsx'
import { roleName, userRoles } from './users/roles.ts'
import type { UserRole } from './users/roles.ts'
import { UserDrawer } from './users/user-drawer.tsx'

const columns: readonly Column<User>[] = [
  {
    id: 'name',
    title: t('all.name'),
    width: 'minmax(160px, 2fr)',
    cell: user => user.user_alias ?? user.user_email ?? user.user_id,
  },
  { id: 'role', title: t('users.role'), cell: user => roleName(user.user_role) },
  {
    id: 'status',
    title: t('all.status'),
    isWideOnly: true,
    cell: user => <StatusBadge blocked={user.blocked} />,
  },
  { id: 'teams', title: t('all.teams'), align: 'end', isWideOnly: true, cell: user => user.teams.length },
  { id: 'spend', title: t('all.spentEver'), align: 'end', cell: user => <Money usd={user.spend} /> },
  { id: 'created', title: t('all.created'), isWideOnly: true, cell: user => <Ago at={user.created_at} /> },
]

/** The users that this person may see. */
export default function UsersPage() {
  const session = useSession().data
  const { text, searched, type } = useSearchText()
  const [role, setRole] = useSearchValue('role')
  const [openId, open, close] = useOpened('user')
  const [isCreating, setCreating] = useSearchFlag('new')
  const users = useInfiniteQuery({
    queryKey: ['users', searched, role],
    queryFn: ({ pageParam, signal }) =>
      ask('GET /user/list', {
        query: {
          page_size: 50,
          cursor: pageParam,
          search: searched,
          ...(role !== '' && { role: role as UserRole }),
        },
        signal,
      }),
    initialPageParam: '',
    getNextPageParam: page => page.next_cursor,
  })
  const create = session && isAdministrator(session) && (
    <Button kind="primary" data-primary icon={<Plus size={16} aria-hidden />} onClick={() => setCreating(true)}>
      {t('users.create')}
    </Button>
  )
  const filters = (
    <>
      <SearchField label={t('users.search')} value={text} onChange={type} />
      <Select
        isCompact
        label={t('users.role')}
        value={role}
        onChange={setRole}
        choices={[
          { value: '', label: t('users.everyRole') },
          ...userRoles.map(value => ({ value, label: roleName(value) })),
        ]}
      />
    </>
  )
  const isFiltered = searched !== '' || role !== ''
  return (
    <Page title={textOf(page.title)} action={create} filters={filters}>
      {users.isError ? (
        <ErrorState error={users.error} onRetry={() => void users.refetch()} />
      ) : (
        <Table
          label={textOf(page.title)}
          columns={columns}
          rows={users.data?.pages.flatMap(page => page.users)}
          rowId={user => user.user_id}
          rowLink={user => ({ to: '.', search: { user: user.user_id } })}
          openId={openId}
          empty={
            <EmptyState title={t(isFiltered ? 'all.noMatch' : 'users.empty')}>
              {!isFiltered && t('users.emptyHelp')}
            </EmptyState>
          }
          onMore={users.hasNextPage ? () => void users.fetchNextPage() : undefined}
          isLoadingMore={users.isFetchingNextPage}
        />
      )}
      {openId !== '' && <UserDrawer key={openId} id={openId} onClose={close} />}
      {isCreating && <CreateUser onClose={() => setCreating(false)} onCreated={id => open(id)} />}
    </Page>
  )
}
