import { expect, test } from 'bun:test'
import { budgetNanoUsdMax } from '../../core/tenancy/limits.ts'
import { forecastOf, shownBudgetState } from './budget-state.ts'

const period = { maxNanoUsd: 100, softNanoUsd: null, startMs: 1000, endMs: 2000 }

test('the forecast is a straight line from the beginning of the period', () => {
  expect(forecastOf(period, 40, 1200)).toEqual({ nanoUsd: 200, reachedAtMs: 1500 })
  expect(forecastOf(period, 10, 1500)).toEqual({ nanoUsd: 20, reachedAtMs: null })
  expect(forecastOf(period, 0, 1500)).toEqual({ nanoUsd: 0, reachedAtMs: null })
})

test('there is none of a period that has just begun, or never begins anew; a spent budget is not reached again', () => {
  expect(forecastOf(period, 40, 1001)).toEqual({ nanoUsd: null, reachedAtMs: null })
  expect(forecastOf({ ...period, startMs: 0, endMs: null }, 40, 1500)).toEqual({ nanoUsd: null, reachedAtMs: null })
  expect(forecastOf(period, 120, 1500)).toEqual({ nanoUsd: 240, reachedAtMs: null })
})

test('what is left is never below 0, and without a maximum it is not known', () => {
  const about = { duration: '1d', nowMs: 1500 }
  const use = { spentNanoUsd: 90, reservedNanoUsd: 20 }
  expect(shownBudgetState(period, use, about)).toMatchObject({ left: 0, spent: 90e-9, reserved: 20e-9 })
  const soft = { ...period, maxNanoUsd: budgetNanoUsdMax, softNanoUsd: 50 }
  expect(shownBudgetState(soft, use, about)).toMatchObject({ left: null, max_budget: null, soft_budget: 50e-9 })
})

test('a forecast begins with the hundredth part of the period, and a maximum of no budget is never reached', () => {
  expect(forecastOf(period, 1, 1009).nanoUsd).toBeNull()
  expect(forecastOf(period, 1, 1010).nanoUsd).toBe(100)
  expect(forecastOf({ ...period, startMs: 1 }, 1, 1500).nanoUsd).toBe(1)
  expect(forecastOf(period, 100, 1500)).toEqual({ nanoUsd: 200, reachedAtMs: null })
  expect(forecastOf({ ...period, startMs: 0 }, 40, 1500).nanoUsd).toBeNull()
  expect(forecastOf({ ...period, endMs: null }, 40, 1500).nanoUsd).toBeNull()
  // At the very end of the period the next has begun.
  expect(forecastOf(period, 50, 1500)).toEqual({ nanoUsd: 100, reachedAtMs: null })
  expect(forecastOf(period, 51, 1500).reachedAtMs).toBe(1980)
  const endless = { ...period, maxNanoUsd: budgetNanoUsdMax }
  expect(forecastOf(endless, budgetNanoUsdMax - 1, 1500).reachedAtMs).toBeNull()
})

test('the beginning and the end of a period are shown as moments, and none where it never begins anew', () => {
  const [use, about] = [
    { spentNanoUsd: 40, reservedNanoUsd: 10 },
    { duration: '1s', nowMs: 1200 },
  ]
  expect(shownBudgetState(period, use, about)).toEqual({
    max_budget: 100e-9,
    soft_budget: null,
    spent: 40e-9,
    reserved: 10e-9,
    left: 50e-9,
    budget_duration: '1s',
    period_start: '1970-01-01T00:00:01.000Z',
    budget_reset_at: '1970-01-01T00:00:02.000Z',
    forecast: 200e-9,
    reached_at: '1970-01-01T00:00:01.500Z',
  })
  const lifetime = { ...period, startMs: 0, endMs: null }
  expect(shownBudgetState(lifetime, use, { duration: null, nowMs: 1200 })).toMatchObject({
    period_start: null,
    budget_reset_at: null,
    forecast: null,
    reached_at: null,
  })
})
