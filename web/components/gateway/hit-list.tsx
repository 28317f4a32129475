import { useCallsWithHits } from '../../api/calls-with-hits.ts'
import type { SpendLog } from '../../api/schema.d.ts'
import { t } from '../../strings/index.ts'
import { Panel } from '../page.tsx'
import { EmptyState, ErrorState } from '../states.tsx'
import { Table } from '../table.tsx'
import type { Column } from '../table.tsx'
import { Ago } from '../values.tsx'

interface HitListProps {
  readonly of: 'guardrail' | 'cache'
  readonly title: string
  /** Between the time and the key. */
  readonly columns: readonly Column<SpendLog>[]
  readonly empty: string
}

/** The last hits, each of which leads to its call. */
export function HitList({ of, title, columns, empty }: HitListProps) {
  const hits = useCallsWithHits(of)
  const all: readonly Column<SpendLog>[] = [
    { id: 'at', title: t('logs.at'), cell: call => <Ago at={call.started_at_ms} /> },
    ...columns,
    {
      id: 'model',
      title: t('logs.model'),
      isWideOnly: true,
      cell: call => <span className="truncate">{call.model}</span>,
    },
    { id: 'key', title: t('logs.key'), isWideOnly: true, cell: call => call.key_alias ?? call.key_id },
  ]
  return (
    <Panel title={title}>
      {hits.isError ? (
        <ErrorState error={hits.error} onRetry={() => void hits.refetch()} />
      ) : (
        <Table
          label={title}
          columns={all}
          rows={hits.rows}
          rowId={call => call.request_id}
          rowLink={call => ({ to: '/logs', search: { call: call.request_id } })}
          onMore={hits.hasNextPage ? () => void hits.fetchNextPage() : undefined}
          isLoadingMore={hits.isFetchingNextPage}
          empty={<EmptyState title={empty} />}
        />
      )}
    </Panel>
  )
}
