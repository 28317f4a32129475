import { useQuery } from '@tanstack/react-query'
import { ask } from '../../api/client.ts'
import { BudgetMeter } from '../../components/gateway/limits.tsx'
import { Panel } from '../../components/page.tsx'
import { ErrorState, Skeleton } from '../../components/states.tsx'
import { formatCount } from '../../lib/format.ts'
import { t } from '../../strings/index.ts'

/** What this person may use: limits of the user hold for all of its keys together. */
export function OwnLimits() {
  const user = useQuery({ queryKey: ['users', 'own'], queryFn: ({ signal }) => ask('GET /user/info', { signal }) })
  if (user.isError) return <ErrorState error={user.error} isInline onRetry={() => void user.refetch()} />
  const info = user.data?.user_info
  const rates = info && [
    [t('keys.rpm'), info.rpm_limit],
    [t('keys.tpm'), info.tpm_limit],
  ]
  return (
    <Panel title={t('keys.yourLimits')}>
      {info ? (
        <div className="grid gap-4 narrow:grid-cols-3">
          <BudgetMeter label={t('keys.spend')} budget={user.data!.budget} spend={info.spend} />
          {rates!.map(([name, limit]) => (
            <div key={String(name)} className="numbers">
              <div>{limit === null ? t('all.unlimited') : formatCount(Number(limit))}</div>
              <div className="text-muted">{name}</div>
            </div>
          ))}
        </div>
      ) : (
        <Skeleton className="h-11" />
      )}
    </Panel>
  )
}
