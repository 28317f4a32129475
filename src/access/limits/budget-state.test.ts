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
