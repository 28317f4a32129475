/** Which days a report is of: the last ones, a month, or days of one's own. */
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { inputClass } from '../../components/forms/input-class.ts'
import { Select } from '../../components/forms/select.tsx'
import { formatDays, formatMonth } from '../../lib/format.ts'
import { dayOf } from '../../lib/days.ts'
import { monthAfter, spansOf } from '../../lib/usage-sums.ts'
import { t } from '../usage.page.ts'

const dayChoices = ['7', '30', '90'] as const
const monthsShown = 13
const own = 'own'

interface PeriodChoiceProps {
  /** As `spansOf` reads it; kept in the address by the page. */
  readonly value: string
  readonly onChange: (value: string) => void
}

export function PeriodChoice({ value, onChange }: PeriodChoiceProps) {
  const [isOpen, setOpen] = useState(false)
  const thisMonth = dayOf(Date.now()).slice(0, 7)
  const months = Array.from({ length: monthsShown }, (_, at) => monthAfter(thisMonth, -at))
  const choices = [
    ...dayChoices.map(count => ({ value: count as string, label: t('usage.days', { count }) })),
    ...months.map(month => ({ value: month, label: formatMonth(month) })),
    { value: own, label: t('usage.ownDays') },
  ]
  const isListed = choices.some(one => one.value === value)
  if (!isListed) choices.unshift({ value, label: labelOf(value) })
  return (
    <>
      <Select
        isCompact
        label={t('range.label')}
        value={isOpen ? own : value}
        onChange={chosen => {
          setOpen(chosen === own)
          if (chosen !== own) onChange(chosen)
        }}
        choices={choices}
      />
      {isOpen && (
        <OwnDays
          period={value}
          onChange={chosen => {
            setOpen(false)
            onChange(chosen)
          }}
        />
      )}
    </>
  )
}

function labelOf(period: string): string {
  const days = spansOf(period, Date.now())?.now
  return days ? formatDays(days[0]!, days.at(-1)!) : period
}

function OwnDays({ period, onChange }: { readonly period: string; readonly onChange: (period: string) => void }) {
  const days = spansOf(period, Date.now())!.now
  const [first, setFirst] = useState(days[0]!)
  const [last, setLast] = useState(days.at(-1)!)
  const chosen = `${first}..${last}`
  const isUsable = spansOf(chosen, Date.now()) !== undefined
  return (
    <form
      className="flex flex-wrap items-center gap-2"
      onSubmit={event => {
        event.preventDefault()
        if (isUsable) onChange(chosen)
      }}
    >
      <DayField label={t('usage.from')} value={first} onChange={setFirst} />
      <DayField label={t('usage.to')} value={last} onChange={setLast} />
      <Button type="submit" disabled={!isUsable}>
        {t('usage.apply')}
      </Button>
      {!isUsable && (
        <p role="alert" className="text-bad">
          {t('usage.badDays')}
        </p>
      )}
    </form>
  )
}

interface DayFieldProps {
  readonly label: string
  readonly value: string
  readonly onChange: (day: string) => void
}

function DayField({ label, value, onChange }: DayFieldProps) {
  return (
    <input
      type="date"
      aria-label={label}
      title={label}
      required
      value={value}
      onChange={event => onChange(event.target.value)}
      className={inputClass}
    />
  )
}
