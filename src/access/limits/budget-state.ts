/** How a budget stands in its present period, and where it is heading: for people and alerts, not for decisions. */
import { budgetNanoUsdMax } from '../../core/tenancy/limits.ts'
import type { BudgetPeriod } from '../../core/tenancy/limits.ts'
import { iso } from '../fields/answers.ts'

/** A period that has just begun says nothing about its end. */
const forecastShareMin = 0.01

/** Where spending is heading in a straight line from the period so far; null = it cannot be said. */
export interface BudgetForecast {
  /** Nano-dollars at the end of the period. */
  readonly nanoUsd: number | null
  /** When the maximum is reached, milliseconds since 1970; null = not in this period, or it is reached already. */
  readonly reachedAtMs: number | null
}

/** Of a budget that never begins anew there is no forecast: its spending has no beginning to count from. */
export function forecastOf(period: BudgetPeriod, spentNanoUsd: number, nowMs: number): BudgetForecast {
  const { startMs, endMs, maxNanoUsd } = period
  if (endMs === null || startMs === 0) return { nanoUsd: null, reachedAtMs: null }
  const passed = nowMs - startMs
  if (passed < (endMs - startMs) * forecastShareMin) return { nanoUsd: null, reachedAtMs: null }
  const perMs = spentNanoUsd / passed
  const reachedAtMs = nowMs + (maxNanoUsd - spentNanoUsd) / perMs
  const isReached = spentNanoUsd >= maxNanoUsd || maxNanoUsd >= budgetNanoUsdMax
  return {
    nanoUsd: Math.round(spentNanoUsd + perMs * (endMs - nowMs)),
    reachedAtMs: isReached || !(reachedAtMs < endMs) ? null : Math.round(reachedAtMs),
  }
}

/** What counts in a period now. Nano-dollars. */
export interface PeriodUse {
  readonly spentNanoUsd: number
  readonly reservedNanoUsd: number
}

/** As the API shows it, in dollars. `duration` as it was written; null = it never begins anew. */
export function shownBudgetState(
  period: BudgetPeriod,
  { spentNanoUsd, reservedNanoUsd }: PeriodUse,
  { duration, nowMs }: { readonly duration: string | null; readonly nowMs: number },
) {
  const { maxNanoUsd, softNanoUsd, startMs, endMs } = period
  const isLimited = maxNanoUsd < budgetNanoUsdMax
  const forecast = forecastOf(period, spentNanoUsd, nowMs)
  return {
    max_budget: isLimited ? maxNanoUsd / 1e9 : null,
    soft_budget: softNanoUsd === null ? null : softNanoUsd / 1e9,
    spent: spentNanoUsd / 1e9,
    reserved: reservedNanoUsd / 1e9,
    left: isLimited ? Math.max(maxNanoUsd - spentNanoUsd - reservedNanoUsd, 0) / 1e9 : null,
    budget_duration: duration,
    period_start: startMs === 0 ? null : iso(startMs),
    budget_reset_at: iso(endMs),
    forecast: forecast.nanoUsd === null ? null : forecast.nanoUsd / 1e9,
    reached_at: iso(forecast.reachedAtMs),
  }
}
