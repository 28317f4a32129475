import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiError } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { TextField } from '../../components/forms/field.tsx'
import { NumberField } from '../../components/forms/number-field.tsx'
import { amounts } from '../../lib/number-text.ts'
import { Form } from '../../components/forms/form.tsx'
import { Select } from '../../components/forms/select.tsx'
import { ErrorState } from '../../components/states.tsx'
import { toast } from '../../components/overlays/toast.tsx'
import { formatMoment } from '../../lib/format.ts'
import { t } from '../budgets.page.ts'
import { raiseBudget } from './kinds.ts'
import type { Budget } from './kinds.ts'

const hourMs = 3_600_000
const spans = { '24h': 24 * hourMs, '7d': 7 * 24 * hourMs, '30d': 30 * 24 * hourMs } as const

interface RaiseFormProps {
  readonly budget: Budget
  readonly onDone: () => void
  readonly onCancel: () => void
}

/** When a raise may end, milliseconds since 1970: with the period, where there is one, or after a span. */
function endsOf({ budget_reset_at: reset }: Budget): Readonly<Record<string, number>> {
  const nowMs = Date.now()
  return {
    ...(reset !== null && { reset: Date.parse(reset) }),
    ...Object.fromEntries(Object.entries(spans).map(([name, ms]) => [name, nowMs + ms])),
  }
}

/** How much more, until when, and why: all three are kept in the audit log. */
export function RaiseForm({ budget, onDone, onCancel }: RaiseFormProps) {
  const [amount, setAmount] = useState<number | null>(budget.temp_budget_increase)
  const [reason, setReason] = useState(budget.temp_budget_reason ?? '')
  const [span, setSpan] = useState<string>(budget.budget_reset_at === null ? '7d' : 'reset')
  const [ends] = useState(() => endsOf(budget))
  const raise = useMutation({
    mutationFn: () =>
      raiseBudget(budget, {
        temp_budget_increase: amount,
        temp_budget_expiry: new Date(ends[span]!).toISOString(),
        temp_budget_reason: reason.trim(),
      }),
    onSuccess: () => {
      toast(t('budgets.raise.done', { name: budget.name }))
      onDone()
    },
  })
  const field = raise.error instanceof ApiError ? raise.error.field : null
  const isReady = amount !== null && amount > 0 && reason.trim() !== ''
  return (
    <Form
      aria-label={t('budgets.raise')}
      className="flex flex-col gap-4 rounded-control border border-line p-3"
      onSubmit={() => {
        if (isReady) raise.mutate()
      }}
    >
      <div className="grid gap-4 narrow:grid-cols-2">
        <NumberField
          label={t('budgets.raise.amount')}
          help={t('budgets.raise.amountHelp')}
          error={field === 'temp_budget_increase' ? raise.error!.message : null}
          unit={t('unit.usd')}
          range={amounts}
          value={amount}
          onChange={setAmount}
        />
        <Select
          label={t('budgets.raise.until')}
          value={span}
          onChange={setSpan}
          choices={Object.entries(ends).map(([value, atMs]) => ({
            value,
            label: value === 'reset' ? t('budgets.raise.reset') : t('budgets.raise.for', { span: value }),
            about: formatMoment(atMs),
          }))}
        />
      </div>
      <TextField
        label={t('budgets.raise.reason')}
        help={t('budgets.raise.reasonHelp')}
        value={reason}
        onChange={setReason}
        maxLength={255}
        required
      />
      {raise.isError && field !== 'temp_budget_increase' && <ErrorState error={raise.error} isInline />}
      <div className="flex flex-wrap justify-end gap-2">
        <Button onClick={onCancel}>{t('all.cancel')}</Button>
        <Button kind="primary" type="submit" busy={raise.isPending} disabled={!isReady}>
          {t('budgets.raise.action')}
        </Button>
      </div>
    </Form>
  )
}
