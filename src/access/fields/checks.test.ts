/** What requests may send for the fields of tenant objects, and what answers show of them. */
import { describe, expect, test } from 'bun:test'
import { z } from 'zod'
import { keyRecordFields } from '../../core/tenancy/field-tables.ts'
import { iso } from './answers.ts'
import { changesOf, keyName, moment, writtenFields } from './checks.ts'
import { dollars, dollarsOf } from './money.ts'
import { spendingProblem } from './spending.ts'

const schema = z.strictObject(writtenFields(keyRecordFields))
const isSent = (sent: object) => schema.safeParse(sent).success
const changes = (sent: object) => changesOf(keyRecordFields, schema.parse(sent))

describe('what a request sends', () => {
  test('names have 1 to 255 characters that lists can print', () => {
    const is = (value: unknown) => keyName().safeParse(value).success
    expect(['a', 'x'.repeat(255), 'Größe 1'].map(is)).toEqual([true, true, true])
    expect(['', 'x'.repeat(256), 'a\nb', 'a\u007f', '\ud800', 5, undefined].map(is)).toEqual(Array(7).fill(false))
  })

  test('limits are whole numbers up to a billion', () => {
    const values = [0, 1e9, null, -1, 1e9 + 1, 0.5, '5']
    expect(values.map(rpm_limit => isSent({ rpm_limit }))).toEqual([true, true, true, false, false, false, false])
  })

  test('lists and maps have a bound', () => {
    const map = (length: number) => Object.fromEntries(Array.from({ length }, (_, at) => [`m${at}`, 'x']))
    expect([1000, 1001].map(length => isSent({ aliases: map(length) }))).toEqual([true, false])
    expect([1000, 1001].map(length => isSent({ models: Array(length).fill('m') }))).toEqual([true, false])
  })

  test('budgets of models come in three forms', () => {
    const model_max_budget = {
      a: { budget_limit: 1, time_period: '1d' },
      b: { max_budget: '2', budget_duration: null },
      c: 0.5,
      d: { budget_limit: 3 },
    }
    expect(changes({ model_max_budget }).modelMaxBudget).toEqual({
      a: { maxBudgetNanoUsd: 1_000_000_000n, budgetDuration: '1d' },
      b: { maxBudgetNanoUsd: 2_000_000_000n, budgetDuration: null, form: 'max_budget' },
      c: { maxBudgetNanoUsd: 500_000_000n, budgetDuration: null, form: 'amount' },
      d: { maxBudgetNanoUsd: 3_000_000_000n, budgetDuration: null },
    })
    for (const wrong of [{}, { budget_limit: null }, { budget_limit: 1, time_period: 'never' }, null, -1])
      expect(isSent({ model_max_budget: { a: wrong } })).toBe(false)
  })

  test('only what is sent changes; null is the value of a new object', () => {
    expect(changes({})).toEqual({})
    expect(changes({ rpm_limit: 0, models: null })).toEqual({ requestsPerMinute: 0, models: [] })
    expect(changes({ temp_budget_increase: null })).toEqual({ budgetIncreaseNanoUsd: null, budgetIncreaseReason: null })
  })

  test('moments are dates of the calendar', () => {
    expect(moment().parse('2026-01-01T00:00:00Z')).toBe(1_767_225_600_000)
    expect(moment().safeParse('2026-02-30T00:00:00Z').success).toBe(false)
    expect([iso(0), iso(null)]).toEqual(['1970-01-01T00:00:00.000Z', null])
  })
})

test('dollars are numbers or texts from 0 to a billion, to the nano-dollar', () => {
  const read = (value: unknown) => {
    const { success, data } = dollars().safeParse(value)
    return success ? data : 'refused'
  }
  expect([0, 1.5, 1e9, '1.5', ' 2 ', '0.000000001', '1000000000', null, ''].map(read)).toEqual([
    0n,
    1_500_000_000n,
    10n ** 18n,
    1_500_000_000n,
    2_000_000_000n,
    1n,
    10n ** 18n,
    null,
    null,
  ])
  expect([-0.1, 1e9 + 1, Number.NaN, '1000000000.000000001', '1e3', '1.', '-1', true].map(read)).toEqual(
    Array(8).fill('refused'),
  )
  expect([dollarsOf(1_500_000_000n), dollarsOf(0n), dollarsOf(null)]).toEqual([1.5, 0, null])
})

test('raises need an amount and a moment to come, and a soft budget is at most the budget', () => {
  const field = (fields: object, before: object = {}) => spendingProblem(fields, { before, nowMs: 100 })?.field
  const raise = { budgetIncreaseNanoUsd: 5n, budgetIncreaseUntilMs: 101 }
  expect([field({}), field(raise), field({ ...raise, budgetIncreaseReason: 'r' })]).toEqual(Array(3).fill(undefined))
  expect(field({ budgetIncreaseNanoUsd: 5n })).toBe('temp_budget_expiry')
  expect(field({ budgetIncreaseUntilMs: 101 })).toBe('temp_budget_increase')
  expect(field({ budgetIncreaseReason: 'r' })).toBe('temp_budget_reason')
  const ended = { ...raise, budgetIncreaseUntilMs: 100 }
  expect(field(ended)).toBe('temp_budget_expiry')
  expect(field(ended, ended)).toBeUndefined()
  expect(field({ softBudgetNanoUsd: 6n, maxBudgetNanoUsd: 5n })).toBe('soft_budget')
  expect(field({ softBudgetNanoUsd: 5n, maxBudgetNanoUsd: 5n })).toBeUndefined()
  expect(field({ softBudgetNanoUsd: 6n })).toBeUndefined()
})
