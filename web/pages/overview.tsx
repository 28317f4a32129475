import { useSession } from '../api/session.ts'
import { useModelNames } from '../api/models.ts'
import { isDone, useSetup } from '../api/setup.ts'
import { Page, Panel } from '../components/page.tsx'
import { EmptyState, ErrorState, SkeletonRows } from '../components/states.tsx'
import { administers } from '../frame/rights.ts'
import { t } from '../strings/index.ts'
import { SetupList } from './overview/setup-list.tsx'

/** The setup of a new installation, until it is done; then what this person may call. */
export default function OverviewPage() {
  const session = useSession().data
  const setup = useSetup(session !== undefined && administers(session))
  return (
    <Page title={t('nav.overview')}>
      {setup.data && !isDone(setup.data) && <SetupList setup={setup.data} />}
      <Models />
    </Page>
  )
}

function Models() {
  const models = useModelNames()
  return (
    <Panel title={t('overview.models')}>
      {models.isPending && <SkeletonRows count={4} />}
      {models.isError && <ErrorState error={models.error} onRetry={() => void models.refetch()} />}
      {models.data?.length === 0 && (
        <EmptyState title={t('overview.noModels')}>{t('overview.noModelsHelp')}</EmptyState>
      )}
      <ul className="flex flex-wrap gap-2">
        {models.data?.map(name => (
          <li key={name} className="rounded-control border border-line px-2 font-mono text-code">
            {name}
          </li>
        ))}
      </ul>
    </Panel>
  )
}
