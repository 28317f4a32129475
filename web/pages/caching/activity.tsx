import { useQuery } from '@tanstack/react-query'
import { ask } from '../../api/client.ts'
import { Panel } from '../../components/page.tsx'
import { StackedBars } from '../../components/charts/stacked-bars.tsx'
import { EmptyState, ErrorState, Skeleton } from '../../components/states.tsx'
import { formatCount, formatDay, formatMoney } from '../../lib/format.ts'
import { t } from '../caching.page.ts'

const days = 30

/** Hits, misses and what was saved, day by day, of all replicas. */
export function CacheActivity() {
  const activity = useQuery({
    queryKey: ['cache', 'activity'],
    queryFn: ({ signal }) => ask('GET /cache/activity', { query: { days }, signal }),
  })
  if (activity.isError) return <ErrorState error={activity.error} onRetry={() => void activity.refetch()} />
  if (!activity.data) return <Skeleton />
  const { days: found } = activity.data
  const kinds = [...new Set(found.flatMap(one => Object.keys(one.hits)))].sort()
  const bars = found.map(one => formatDay(one.date))
  const isEmpty = found.every(one => one.misses === 0 && Object.keys(one.hits).length === 0)
  return (
    <Panel title={t('caching.activity')}>
      {isEmpty ? (
        <EmptyState title={t('caching.noActivity')} />
      ) : (
        <div className="grid gap-6 wide:grid-cols-2">
          <StackedBars
            label={t('caching.hitsAndMisses')}
            bars={bars}
            series={[
              ...kinds.map(kind => ({
                label: t('caching.hitsOf', { kind }),
                values: found.map(one => one.hits[kind] ?? 0),
              })),
              { label: t('caching.misses'), values: found.map(one => one.misses) },
            ]}
            format={formatCount}
          />
          <StackedBars
            label={t('caching.savedByDay')}
            bars={bars}
            series={[{ label: t('caching.saved'), values: found.map(one => one.saved) }]}
            format={formatMoney}
          />
        </div>
      )}
    </Panel>
  )
}
