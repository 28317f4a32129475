import type { KeyInfo } from '../../api/schema.d.ts'
import { formatCount, formatMoney } from '../../lib/format.ts'
import { periodLabel } from '../../lib/periods.ts'
import { t } from '../../strings/index.ts'
import { Tag } from '../badge.tsx'
import { Facts } from '../facts.tsx'
import { Meter } from '../charts/meter.tsx'
import { Ago } from '../values.tsx'

/** What keys, teams, users and the like have in common. */
export interface Limited {
  /** Dollars since it was made, or since they were reset. */
  readonly spend: number
  readonly rpm_limit: number | null
  readonly tpm_limit: number | null
  readonly max_parallel_requests: number | null
}

const counted = (count: number | null): string => (count === null ? t('all.unlimited') : formatCount(count))

/** A budget in its present period; null = there is none. */
export type BudgetState = KeyInfo['budget']

/** What was spent of a budget in its present period; without a budget, `spend`: dollars of all time. */
export function BudgetMeter({ label, budget, spend }: { label: string; budget: BudgetState; spend: number }) {
  return (
    <Meter
      label={label}
      used={budget?.spent ?? spend}
      limit={budget?.max_budget ?? null}
      format={formatMoney}
      resetsAt={budget?.budget_reset_at ?? null}
      reachedAt={budget?.reached_at ?? null}
    />
  )
}

/** The budget as a bar, and the limits as words. */
export function Limits({ of, budget }: { readonly of: Limited; readonly budget: BudgetState }) {
  return (
    <Facts
      facts={[
        {
          name: t('limits.budget'),
          value: <BudgetMeter label={t('limits.budget')} budget={budget} spend={of.spend} />,
        },
        { name: t('limits.period'), value: periodLabel(budget?.budget_duration ?? null) },
        { name: t('limits.requests'), value: counted(of.rpm_limit) },
        { name: t('limits.tokens'), value: counted(of.tpm_limit) },
        { name: t('limits.parallel'), value: counted(of.max_parallel_requests) },
      ]}
    />
  )
}

/** Models that may be called, in one line of text; none listed = all. */
export const modelsInWords = (models: readonly string[]): string =>
  models.length === 0 ? t('limits.everyModel') : models.join(', ')

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
