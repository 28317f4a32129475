import { useQuery } from '@tanstack/react-query'
import { ask } from '../api/client.ts'
import { Page, Panel } from '../components/page.tsx'
import { ErrorState, SkeletonRows } from '../components/states.tsx'
import { t } from '../strings/index.ts'

/** What this person may call. */
export default function OverviewPage() {
  const models = useQuery({ queryKey: ['models'], queryFn: ({ signal }) => ask('GET /v1/models', { signal }) })
  const listed = models.data && 'data' in models.data ? models.data.data : undefined
  return (
    <Page title={t('nav.overview')}>
      <Panel title={t('overview.models')}>
        {models.isPending && <SkeletonRows count={4} />}
        {models.isError && <ErrorState error={models.error} onRetry={() => void models.refetch()} />}
        <ul className="flex flex-wrap gap-2">
          {listed?.map(model => (
            <li key={model.id} className="rounded-control border border-line px-2 font-mono text-code">
              {model.id}
            </li>
          ))}
        </ul>
      </Panel>
    </Page>
  )
}
