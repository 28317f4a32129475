import { formatMoment } from '../lib/format.ts'
import { rangePresets } from '../lib/time-range.ts'
import { t } from '../strings/index.ts'
import { Select } from './forms/select.tsx'

interface TimeRangeProps {
  /** `24h`, or `FROM..TO` in milliseconds since 1970. Kept in the address by the page. */
  readonly value: string
  readonly onChange: (value: string) => void
}

/** Which span of time a page shows. A span that was chosen in a histogram is one more entry. */
export function TimeRange({ value, onChange }: TimeRangeProps) {
  const choices = rangePresets.map(preset => ({ value: preset as string, label: t(`range.${preset}`) }))
  const [from, to] = value.split('..').map(Number)
  if (to !== undefined && from !== undefined)
    choices.unshift({ value, label: t('range.custom', { from: formatMoment(from), to: formatMoment(to) }) })
  return <Select isCompact label={t('range.label')} choices={choices} value={value} onChange={onChange} />
}
