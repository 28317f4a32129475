import { useQuery } from '@tanstack/react-query'
import { ask } from '../../api/client.ts'
import { BudgetMeter, limitInWords } from '../../components/gateway/limits.tsx'
import { Panel } from '../../components/page.tsx'
import { ErrorState, Skeleton } from '../../components/states.tsx'
import { t } from '../keys.page.ts'

/** What this person may use: limits of the user hold for all of its keys together. */
export function OwnLimits() {
  const user = useQuery({ queryKey: ['users', 'own'], queryFn: ({ signal }) => ask('GET /user/info', { signal }) })
  if (user.isError) return <ErrorState error={user.error} isInline onRetry={() => void user.refetch()} />
  const info = user.data?.user_info
  const rates = info && [
    { name: t('keys.rpm'), limit: 'rpm_limit' as const },
    { name: t('keys.tpm'), limit: 'tpm_limit' as const },
  ]
  return (
    <Panel title={t('keys.yourLimits')}>
      {info ? (
        <div className="grid gap-4 narrow:grid-cols-3">
          <BudgetMeter label={t('keys.spend')} budget={user.data!.budget} spend={info.spend} />
          {rates!.map(({ name, limit }) => (
            <div key={name} className="numbers">
              <div>{limitInWords(info, user.data!.limits, limit)}</div>
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
