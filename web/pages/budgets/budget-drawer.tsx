import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { ask } from '../../api/client.ts'
import { useSession } from '../../api/session.ts'
import { Tag } from '../../components/badge.tsx'
import { Button, buttonClass } from '../../components/button.tsx'
import { Drawer } from '../../components/overlays/drawer.tsx'
import { Facts } from '../../components/facts.tsx'
import { Id } from '../../components/id.tsx'
import { LimitsExplained } from '../../components/gateway/limits-explained.tsx'
import type { Limited } from '../../components/gateway/limits-explained.tsx'
import { Meter } from '../../components/charts/meter.tsx'
import { ErrorState, SkeletonRows } from '../../components/states.tsx'
import { toast } from '../../components/overlays/toast.tsx'
import { Ago, Money } from '../../components/values.tsx'
import { isAdministrator } from '../../frame/rights.ts'
import { formatMoney } from '../../lib/format.ts'
import { periodLabel } from '../../lib/periods.ts'
import { t } from '../budgets.page.ts'
import { isRaisable, kindName, limitOf, placeOf, raiseBudget } from './kinds.ts'
import type { Budget, Kind } from './kinds.ts'
import { RaiseForm } from './raise-form.tsx'

interface BudgetDrawerProps {
  readonly kind: Kind
  readonly id: string
  /** null = of all models. */
  readonly model: string | null
  readonly onClose: () => void
}

/** One budget: how it stands, what else limits the same calls, and a raise for a while. */
export function BudgetDrawer({ kind, id, model, onClose }: BudgetDrawerProps) {
  const session = useSession().data
  const found = useQuery({
    queryKey: ['budgets', 'one', kind, id],
    queryFn: async ({ signal }) => (await ask('GET /budget/usage', { query: { kind, id }, signal })).budgets,
  })
  const budget = found.data?.find(one => one.model === model)
  const limited = limitedBy(kind, id)
  return (
    <Drawer open onClose={onClose} title={budget?.name ?? id}>
      {found.isPending && <SkeletonRows />}
      {found.isError && <ErrorState error={found.error} onRetry={() => void found.refetch()} />}
      {found.data && !budget && <p className="text-muted">{t('budgets.gone')}</p>}
      {budget && (
        <div className="flex flex-col gap-6">
          <Meter
            label={budget.scope}
            used={budget.spent}
            limit={limitOf(budget)}
            format={formatMoney}
            resetsAt={budget.budget_reset_at}
            reachedAt={budget.reached_at}
          />
          <BudgetFacts budget={budget} />
          {session && isAdministrator(session) && isRaisable(budget) && <Raised budget={budget} />}
          <Links budget={budget} />
          {limited && <LimitsExplained of={limited} />}
        </div>
      )}
    </Drawer>
  )
}

/** Whose calls are limited by it, where these can be asked for. */
function limitedBy(kind: Kind, id: string): Limited | undefined {
  if (kind === 'key') return { key: id }
  if (kind === 'user') return { user_id: id }
  return kind === 'team' ? { team_id: id } : undefined
}

function BudgetFacts({ budget }: { readonly budget: Budget }) {
  return (
    <Facts
      facts={[
        { name: t('budgets.kind'), value: kindName(budget.kind) },
        { name: t('all.id'), value: <Id id={budget.id} /> },
        ...(budget.model === null ? [] : [{ name: t('budgets.model'), value: <Tag>{budget.model}</Tag> }]),
        { name: t('limits.period'), value: periodLabel(budget.budget_duration) },
        { name: t('budgets.left'), value: budget.left === null ? t('all.unlimited') : <Money usd={budget.left} /> },
        { name: t('budgets.reserved'), value: <Money usd={budget.reserved} /> },
        ...(budget.soft_budget === null ? [] : [{ name: t('limits.soft'), value: <Money usd={budget.soft_budget} /> }]),
        ...(budget.forecast === null
          ? []
          : [{ name: t('budgets.forecastEnd'), value: <Money usd={budget.forecast} /> }]),
        ...(budget.budget_id === null
          ? []
          : [
              {
                name: t('budgets.named'),
                value: (
                  <Link to="/budgets" search={{ view: 'named', named: budget.budget_id }} className="hover:underline">
                    {budget.budget_id}
                  </Link>
                ),
              },
            ]),
      ]}
    />
  )
}

function Links({ budget: { kind, id } }: { readonly budget: Budget }) {
  const link = placeOf[kind]
  if (!link) return null
  return (
    <div>
      <Link to={link[0]} search={{ [link[1]]: id }} className={buttonClass()}>
        {t('budgets.open', { kind: kindName(kind) })}
      </Link>
    </div>
  )
}

/** The raise that holds now with its reason, and the form for one. */
function Raised({ budget }: { readonly budget: Budget }) {
  const client = useQueryClient()
  const [isRaising, setRaising] = useState(false)
  const changed = () => {
    for (const name of ['budgets', 'keys', 'users', 'teams', 'organizations', 'customers'])
      void client.invalidateQueries({ queryKey: [name] })
  }
  const end = useMutation({
    mutationFn: () => raiseBudget(budget, { temp_budget_increase: null, temp_budget_expiry: null }),
    onSuccess: () => toast(t('budgets.raise.ended', { name: budget.name })),
    onSettled: changed,
  })
  if (isRaising)
    return (
      <RaiseForm
        budget={budget}
        onDone={() => {
          setRaising(false)
          changed()
        }}
        onCancel={() => setRaising(false)}
      />
    )
  const { temp_budget_increase: increase, temp_budget_expiry: until, temp_budget_reason: reason } = budget
  if (increase === null)
    return (
      <div>
        <Button onClick={() => setRaising(true)}>{t('budgets.raise')}</Button>
      </div>
    )
  return (
    <section aria-label={t('budgets.raise.now')} className="flex flex-col gap-2 border-l-2 border-info pl-3">
      <p>
        {t('budgets.raise.by', { amount: formatMoney(increase) })} <Ago at={until} />
      </p>
      {reason !== null && <p className="break-words text-muted">{reason}</p>}
      <div className="flex flex-wrap gap-2">
        <Button onClick={() => setRaising(true)}>{t('budgets.raise.change')}</Button>
        <Button busy={end.isPending} onClick={() => end.mutate()}>
          {t('budgets.raise.end')}
        </Button>
      </div>
      {end.isError && <ErrorState error={end.error} isInline />}
    </section>
  )
}
