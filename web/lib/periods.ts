/** How often a budget begins anew, in words. */
import { t } from '../strings/index.ts'
import type { StringKey } from '../strings/index.ts'

/** The usual ones, as the API takes them. */
export const periods: Readonly<Record<string, StringKey>> = {
  '1d': 'period.day',
  '7d': 'period.week',
  '30d': 'period.30d',
  '1mo': 'period.month',
  '12mo': 'period.year',
}

/** A period of a budget in words: those that are not usual as they are written (`90d`); null = for ever. */
export function periodLabel(period: string | null): string {
  if (period === null) return t('limits.forEver')
  const known = periods[period]
  return known ? t(known) : period
}
