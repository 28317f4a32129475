import { useInfiniteQuery } from '@tanstack/react-query'
import { ask } from '../api/client.ts'
import type { Key } from '../api/schema.d.ts'
import { Badge } from '../components/badge.tsx'
import { Page } from '../components/page.tsx'
import { EmptyState, ErrorState } from '../components/states.tsx'
import { Table } from '../components/table.tsx'
import type { Column } from '../components/table.tsx'
import { Ago } from '../components/values.tsx'
import { t } from '../strings/index.ts'

const columns: readonly Column<Key>[] = [
  { id: 'name', title: t('keys.name'), width: 'minmax(160px, 2fr)', cell: key => key.key_alias ?? key.key_name },
  { id: 'key', title: t('keys.key'), cell: key => <code className="font-mono text-code">{key.key_name}</code> },
  { id: 'status', title: t('keys.status'), cell: key => <KeyStatus keyRow={key} /> },
  { id: 'created', title: t('keys.created'), isWideOnly: true, cell: key => <Ago at={key.created_at} /> },
]

function KeyStatus({ keyRow: { blocked, expires } }: { readonly keyRow: Key }) {
  if (blocked) return <Badge tone="bad">{t('keys.blocked')}</Badge>
  if (expires !== null && Date.parse(expires) < Date.now()) return <Badge tone="warn">{t('keys.expired')}</Badge>
  return <Badge tone="good">{t('keys.active')}</Badge>
}

/** The keys that this person may see. */
export default function KeysPage() {
  const keys = useInfiniteQuery({
    queryKey: ['keys'],
    queryFn: ({ pageParam, signal }) =>
      ask('GET /key/list', { query: { return_full_object: 'true', size: 50, cursor: pageParam }, signal }),
    initialPageParam: '',
    getNextPageParam: page => page.next_cursor,
  })
  const rows = keys.data?.pages.flatMap(page => page.keys.filter(one => typeof one === 'object')) as Key[] | undefined
  return (
    <Page title={t('nav.keys')}>
      {keys.isError ? (
        <ErrorState error={keys.error} onRetry={() => void keys.refetch()} />
      ) : (
        <Table
          label={t('nav.keys')}
          columns={columns}
          rows={rows}
          rowId={key => key.token}
          empty={<EmptyState title={t('keys.empty')} />}
          onMore={keys.hasNextPage ? () => void keys.fetchNextPage() : undefined}
          isLoadingMore={keys.isFetchingNextPage}
        />
      )}
    </Page>
  )
}
