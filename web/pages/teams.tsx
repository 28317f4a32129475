import { useInfiniteQuery } from '@tanstack/react-query'
import { Plus } from 'lucide-react'
import { ask } from '../api/client.ts'
import type { Team } from '../api/schema.d.ts'
import { useSession } from '../api/session.ts'
import { StatusBadge } from '../components/badge.tsx'
import { Button } from '../components/button.tsx'
import { budgetInWords } from '../components/gateway/limits.tsx'
import { Page } from '../components/page.tsx'
import { SearchField } from '../components/forms/search-field.tsx'
import { EmptyState, ErrorState } from '../components/states.tsx'
import { Table } from '../components/table.tsx'
import type { Column } from '../components/table.tsx'
import { Ago, Money } from '../components/values.tsx'
import { mayCreateTeams } from '../frame/rights.ts'
import { useOpened, useSearchFlag } from '../lib/address.ts'
import { useSearchText } from '../lib/search-text.ts'
import { textOf } from '../strings/index.ts'
import { page, t } from './teams.page.ts'
import { CreateTeam } from './teams/create-team.tsx'
import { TeamDrawer } from './teams/team-drawer.tsx'

const columns: readonly Column<Team>[] = [
  {
    id: 'name',
    title: t('all.name'),
    width: 'minmax(140px, 2fr)',
    cell: team => team.team_alias ?? team.team_id,
  },
  {
    id: 'status',
    title: t('all.status'),
    isWideOnly: true,
    cell: team => <StatusBadge blocked={team.blocked} />,
  },
  {
    id: 'members',
    title: t('members.title'),
    align: 'end',
    isWideOnly: true,
    cell: team => team.members_with_roles.length,
  },
  { id: 'spend', title: t('all.spentEver'), align: 'end', cell: team => <Money usd={team.spend} /> },
  {
    id: 'budget',
    title: t('limits.budget'),
    align: 'end',
    cell: budgetInWords,
  },
  { id: 'created', title: t('all.created'), isWideOnly: true, cell: team => <Ago at={team.created_at} /> },
]

/** The teams that this person may see: all of them, or the own ones. */
export default function TeamsPage() {
  const session = useSession().data
  const { text, searched, type } = useSearchText()
  const [openId, open, close] = useOpened('team')
  const [isCreating, setCreating] = useSearchFlag('new')
  const teams = useInfiniteQuery({
    queryKey: ['teams', searched],
    queryFn: ({ pageParam, signal }) =>
      ask('GET /v2/team/list', { query: { page_size: 50, cursor: pageParam, team_alias: searched }, signal }),
    initialPageParam: '',
    getNextPageParam: page => page.next_cursor,
  })
  const rows = teams.data?.pages.flatMap(page => page.teams)
  const create = session && mayCreateTeams(session) && (
    <Button kind="primary" data-primary icon={<Plus size={16} aria-hidden />} onClick={() => setCreating(true)}>
      {t('teams.create')}
    </Button>
  )
  const search = <SearchField label={t('teams.search')} value={text} onChange={type} />
  return (
    <Page title={textOf(page.title)} action={create} filters={search}>
      {teams.isError ? (
        <ErrorState error={teams.error} onRetry={() => void teams.refetch()} />
      ) : (
        <Table
          label={textOf(page.title)}
          columns={columns}
          rows={rows}
          rowId={team => team.team_id}
          rowLink={team => ({ to: '.', search: { team: team.team_id } })}
          openId={openId}
          empty={
            <EmptyState title={t(searched === '' ? 'teams.empty' : 'all.noMatch')}>
              {searched === '' && t('teams.emptyHelp')}
            </EmptyState>
          }
          onMore={teams.hasNextPage ? () => void teams.fetchNextPage() : undefined}
          isLoadingMore={teams.isFetchingNextPage}
        />
      )}
      {openId !== '' && <TeamDrawer key={openId} id={openId} onClose={close} />}
      {isCreating && <CreateTeam onClose={() => setCreating(false)} onCreated={id => open(id)} />}
    </Page>
  )
}
