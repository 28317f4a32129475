/** What a new key gets without some fields, and the most that it may have. */
import { describe, expect, test } from 'bun:test'
import type { KeyBounds, NewKeySettings } from '../../core/settings.ts'
import { checkKeyBounds, newKey } from './key-bounds.ts'
import type { KeyFields } from './key-fields.ts'

const nowMs = 1000
const made = (fields: object, settings: object = {}) =>
  newKey({
    id: 'k',
    keyText: 'sk-secret-text-abcd',
    fields: fields as KeyFields,
    nowMs,
    settings: { defaults: {}, bounds: {}, ...settings } as NewKeySettings,
  })
const messagesOf = (run: () => unknown): string => {
  try {
    run()
    return ''
  } catch (error) {
    return (
      JSON.stringify((error as { problems?: unknown }).problems ?? (error as Error).message) + (error as Error).message
    )
  }
}

describe('a new key', () => {
  test('has what it sends, else the default, else nothing', () => {
    const defaults = { requestsPerMinute: 7, models: ['a'], teamId: 't' }
    expect(made({})).toMatchObject({ hint: 'sk-...abcd', requestsPerMinute: null, expiresAtMs: null, teamId: null })
    expect(made({}, { defaults })).toMatchObject({ ...defaults, tokensPerMinute: null })
    expect(made({ rpm_limit: 9, team_id: 'own' }, { defaults })).toMatchObject({ requestsPerMinute: 9, teamId: 'own' })
  })

  test('has the lesser of the default and the bound where it sends nothing', () => {
    const rpm = (usual: number | undefined, bound: number | undefined) =>
      made({}, { defaults: { requestsPerMinute: usual }, bounds: { requestsPerMinute: bound } }).requestsPerMinute
    expect([rpm(5, 9), rpm(9, 5), rpm(undefined, 5), rpm(5, undefined), rpm(5, 5)]).toEqual([5, 5, 5, 5, 5])
    const ofDuration = (usual: string, bound: string) =>
      made({}, { defaults: { budgetDuration: usual }, bounds: { budgetDuration: bound } }).budgetDuration
    expect([ofDuration('1d', '2d'), ofDuration('3d', '2d'), ofDuration('48h', '2d')]).toEqual(['1d', '2d', '48h'])
  })

  test('ends at the lesser of both lifetimes where it sends none', () => {
    const end = (usual?: number, bound?: number) =>
      made({}, { defaults: { lifetimeMs: usual }, bounds: { lifetimeMs: bound } }).expiresAtMs
    expect([end(), end(5), end(undefined, 6), end(5, 6), end(7, 6)]).toEqual([null, 1005, 1006, 1005, 1006])
    expect(made({ duration: 3 }, { defaults: { lifetimeMs: 5 } }).expiresAtMs).toBe(1003)
  })

  test('is refused above its bound, and accepted at it', () => {
    const at = (fields: object, bounds: object) => messagesOf(() => made(fields, { bounds }))
    for (const [field, bounds] of [
      ['rpm_limit', { requestsPerMinute: 5 }],
      ['tpm_limit', { tokensPerMinute: 5 }],
      ['max_parallel_requests', { parallelRequests: 5 }],
    ] as const) {
      expect(at({ [field]: 5 }, bounds)).toBe('')
      expect(at({ [field]: 6 }, bounds)).toContain('must be at most 5')
    }
    expect(at({ duration: 7 }, { lifetimeMs: 7 })).toBe('')
    expect(at({ duration: 8 }, { lifetimeMs: 7 })).toContain('must be at most 0.007s')
  })
})

describe('a change of a key', () => {
  const before = { maxBudgetNanoUsd: 5n, budgetIncreaseNanoUsd: null, budgetIncreaseUntilMs: null }
  const check = (changes: object, bounds: KeyBounds, was: object = before) =>
    messagesOf(() => checkKeyBounds({ before: was as typeof before, changes, bounds, nowMs }))

  test('to no limit is refused where there is a bound, and what is not changed is not judged', () => {
    expect(check({ requestsPerMinute: null }, { requestsPerMinute: 5 })).toContain('must be at most 5')
    expect(check({ expiresAtMs: null }, { lifetimeMs: 5000 })).toContain('must be at most 5s')
    expect(check({ tokensPerMinute: 9 }, { requestsPerMinute: 5, lifetimeMs: 5000 })).toBe('')
    expect(check({ maxBudgetNanoUsd: 6n }, { maxBudgetNanoUsd: 6n })).toBe('')
    expect(check({ maxBudgetNanoUsd: 7_000_000_000n }, { maxBudgetNanoUsd: 6_000_000_000n })).toContain('at most 6')
  })

  test('that raises the budget counts with the budget, until the raise ends', () => {
    const raise = (nanoUsd: bigint, untilMs: number | null) => ({
      budgetIncreaseNanoUsd: nanoUsd,
      budgetIncreaseUntilMs: untilMs,
    })
    expect(check(raise(1n, nowMs + 1), { maxBudgetNanoUsd: 6n })).toBe('')
    expect(check(raise(2n, nowMs + 1), { maxBudgetNanoUsd: 6n })).toContain('together with max_budget')
    expect(check(raise(2n, nowMs), { maxBudgetNanoUsd: 6n })).toBe('')
    expect(check(raise(2n, null), { maxBudgetNanoUsd: 6n })).toBe('')
    const raised = { ...before, ...raise(2n, nowMs + 1) }
    expect(check({ requestsPerMinute: 1 }, { maxBudgetNanoUsd: 6n }, raised)).toBe('')
    expect(check({ maxBudgetNanoUsd: 4n }, { maxBudgetNanoUsd: 6n }, raised)).toBe('')
    const none = { ...before, maxBudgetNanoUsd: null }
    expect(check(raise(6n, nowMs + 1), { maxBudgetNanoUsd: 6n }, none)).toBe('')
    expect(check(raise(7n, nowMs + 1), { maxBudgetNanoUsd: 6n }, none)).toContain('temp_budget_increase')
  })
})
