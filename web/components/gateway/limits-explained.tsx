import { useQuery } from '@tanstack/react-query'
import { ask } from '../../api/client.ts'
import type { KeyLimits } from '../../api/schema.d.ts'
import { formatCount, formatMoney } from '../../lib/format.ts'
import { t } from '../../strings/index.ts'
import { Badge, Tag } from '../badge.tsx'
import { Meter } from '../charts/meter.tsx'
import { ErrorState, SkeletonRows } from '../states.tsx'

type Scope = KeyLimits['scopes'][number]

/** Whose calls: of a key, of a user without a key, or with a key of a team. */
export type Limited = { readonly key: string } | { readonly user_id: string } | { readonly team_id: string }

/** Everything that limits calls, scope by scope: the row with the least left is marked. */
export function LimitsExplained({ of }: { readonly of: Limited }) {
  const limits = useQuery({
    queryKey: [...Object.keys(of).map(name => cached[name as keyof typeof cached]), 'limits', ...Object.values(of)],
    queryFn: ({ signal }) => ask('GET /key/limits', { query: of, signal }),
  })
  const rows = limits.data?.scopes.filter(isLimited)
  const refusal = limits.data?.refusal
  const left = leastLeft(limits.data?.scopes ?? [])
  return (
    <section className="flex flex-col gap-2" aria-label={t('keys.limitsExplained')}>
      <h3 className="font-semibold">{t('keys.limitsExplained')}</h3>
      {limits.isPending && <SkeletonRows count={3} />}
      {limits.isError && <ErrorState error={limits.error} isInline onRetry={() => void limits.refetch()} />}
      {refusal && (
        <Badge tone="bad">
          {t('keys.limitsRefused', { what: `${refusal.kind} ${refusal.id}`, why: refusal.reason })}
        </Badge>
      )}
      {rows?.length === 0 && <p className="text-muted">{t('keys.limitsNone')}</p>}
      <ul>
        {rows?.map(one => (
          <li key={`${one.kind}:${one.id}:${one.model}`} className="flex flex-col gap-1 border-b border-line py-2">
            <ScopeRow scope={one} />
          </li>
        ))}
      </ul>
      {!refusal && left !== null && <p>{t('limits.nextCall', { amount: formatMoney(left) })}</p>}
    </section>
  )
}

/** What is read again when keys, users or teams change. */
const cached = { key: 'keys', user_id: 'users', team_id: 'teams' } as const

const isLimited = (one: Scope): boolean =>
  one.tightest.length > 0 ||
  one.budget !== null ||
  (one.rpm_limit ?? one.tpm_limit ?? one.max_parallel_requests) !== null

/** Dollars; null = no budget limits a call of any model. */
function leastLeft(scopes: readonly Scope[]): number | null {
  const amounts = scopes.flatMap(one => (one.model === null ? (one.budget?.left ?? []) : []))
  return amounts.length === 0 ? null : Math.min(...amounts)
}

function ScopeRow({ scope }: { readonly scope: Scope }) {
  const { budget, tightest } = scope
  const rates = [
    [t('keys.rpm'), scope.rpm_used, scope.rpm_limit],
    [t('keys.tpm'), scope.tpm_used, scope.tpm_limit],
    [t('keys.parallel'), scope.parallel_requests, scope.max_parallel_requests],
  ] as const
  return (
    <>
      <div className="flex flex-wrap items-center gap-2">
        <span className="font-medium break-words">
          {scope.kind.replaceAll('_', ' ')} {scope.name ?? scope.id}
        </span>
        {scope.model !== null && <Tag>{scope.model}</Tag>}
        {tightest.length > 0 && <Badge tone="warn">{t('keys.limitsTightest')}</Badge>}
      </div>
      {budget && (
        <Meter
          label={`${scope.kind} ${scope.id}`}
          used={budget.spent}
          limit={budget.max_budget}
          format={formatMoney}
          resetsAt={budget.budget_reset_at}
          reachedAt={budget.reached_at}
        />
      )}
      {rates.map(
        ([name, used, limit]) =>
          limit !== null && (
            <span key={name} className="numbers text-muted">
              {name}: {used === null ? '–' : formatCount(used)} / {formatCount(limit)}
            </span>
          ),
      )}
    </>
  )
}
