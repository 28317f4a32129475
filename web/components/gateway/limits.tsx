import type { KeyInfo } from '../../api/schema.d.ts'
import { formatCount, formatMoney } from '../../lib/format.ts'
import { periodLabel } from '../../lib/periods.ts'
import { t } from '../../strings/index.ts'
import { Tag } from '../badge.tsx'
import { Facts } from '../facts.tsx'
import { Meter } from '../charts/meter.tsx'
import { Ago } from '../values.tsx'

type LimitName = keyof KeyInfo['limits']

/** What keys, teams, users and the like have in common. */
export type Limited = Readonly<Record<LimitName, number | null>> & {
  /** Dollars since it was made, or since they were reset. */
  readonly spend: number
  /** The named budget that sets what is not set here. */
  readonly budget_id: string | null
}

/** A limit that holds, with the named budget where that sets it. */
export function limitInWords(of: Omit<Limited, 'spend'>, limits: KeyInfo['limits'], name: LimitName): string {
  const limit = limits[name]
  if (limit === null) return t('all.unlimited')
  if (of[name] !== null || of.budget_id === null) return formatCount(limit)
  return t('limits.ofNamed', { limit: formatCount(limit), name: of.budget_id })
}

/** The budget of a row in a list, where named budgets are not looked up. */
export const budgetInWords = (of: { readonly max_budget: number | null; readonly budget_id: string | null }): string =>
  of.max_budget !== null ? formatMoney(of.max_budget) : (of.budget_id ?? t('all.unlimited'))

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

interface LimitsProps {
  readonly of: Limited
  readonly budget: BudgetState
  /** What holds, as the gateway says. */
  readonly limits: KeyInfo['limits']
}

/** The budget as a bar, and the limits as words. */
export function Limits({ of, budget, limits }: LimitsProps) {
  return (
    <Facts
      facts={[
        {
          name: t('limits.budget'),
          value: <BudgetMeter label={t('limits.budget')} budget={budget} spend={of.spend} />,
        },
        { name: t('limits.period'), value: periodLabel(budget?.budget_duration ?? null) },
        { name: t('limits.requests'), value: limitInWords(of, limits, 'rpm_limit') },
        { name: t('limits.tokens'), value: limitInWords(of, limits, 'tpm_limit') },
        { name: t('limits.parallel'), value: limitInWords(of, limits, 'max_parallel_requests') },
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
