import { formatCount, formatMoney } from '../lib/format.ts'
import { t } from '../strings/index.ts'
import { Tag } from './badge.tsx'
import { Facts } from './facts.tsx'
import { Meter } from './meter.tsx'
import { Ago } from './values.tsx'

/** What keys, teams, users and the like have in common. */
export interface Limited {
  readonly spend?: number
  readonly max_budget: number | null
  readonly budget_duration: string | null
  readonly budget_reset_at: string | null
  readonly rpm_limit: number | null
  readonly tpm_limit: number | null
  readonly max_parallel_requests: number | null
}

const counted = (count: number | null): string => (count === null ? t('all.unlimited') : formatCount(count))

/** The budget as a bar, and the limits as words. */
export function Limits({ of }: { readonly of: Limited }) {
  return (
    <Facts
      facts={[
        {
          name: t('limits.budget'),
          value: (
            <Meter
              label={t('limits.budget')}
              used={of.spend ?? 0}
              limit={of.max_budget}
              format={formatMoney}
              resetsAt={of.budget_reset_at}
            />
          ),
        },
        { name: t('limits.period'), value: of.budget_duration ?? t('limits.forEver') },
        { name: t('limits.requests'), value: counted(of.rpm_limit) },
        { name: t('limits.tokens'), value: counted(of.tpm_limit) },
        { name: t('limits.parallel'), value: counted(of.max_parallel_requests) },
      ]}
    />
  )
}

/** Models that may be called; none listed = all. */
export function AllowedModels({ models }: { readonly models: readonly string[] }) {
  if (models.length === 0) return <span>{t('limits.everyModel')}</span>
  return (
    <span className="flex flex-wrap gap-1">
      {models.map(model => (
        <Tag key={model}>{model}</Tag>
      ))}
    </span>
  )
}

/** When it was made and last changed, and by which user or key. */
export function Changed({ at, by }: { readonly at: string; readonly by: string }) {
  return (
    <span>
      <Ago at={at} /> <span className="text-muted">{by}</span>
    </span>
  )
}
