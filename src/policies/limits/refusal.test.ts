/** What a client is told of a limit or a budget that has no room. */
import { describe, expect, test } from 'bun:test'
import type { LimitRefusal } from '../../core/tenancy/limits.ts'
import { limitHeaders, limitRefusal } from './refusal.ts'

const refused = (more: Partial<LimitRefusal>): LimitRefusal => ({
  allowed: false,
  scope: 'key:k',
  kind: 'requests',
  state: { limit: 5, remaining: 0, resetMs: 1500 },
  retryAfterMs: 1001,
  ...more,
})
const told = (more: Partial<LimitRefusal>) => {
  const headers: Record<string, string> = {}
  const { kind, message, options } = limitRefusal(headers, refused(more)) as never as Record<string, unknown>
  return { headers, kind, message: String(message), options }
}

test('headers are those of OpenAI, never below 0, and a moment that does not come is said', () => {
  const headers: Record<string, string> = {}
  limitHeaders.requests(headers, { limit: 5, remaining: -2, resetMs: 1500.4 })
  limitHeaders.tokens(headers, { limit: 9, remaining: 3, resetMs: Infinity })
  expect(headers).toEqual({
    'x-ratelimit-limit-requests': '5',
    'x-ratelimit-remaining-requests': '0',
    'x-ratelimit-reset-requests': '1.5s',
    'x-ratelimit-limit-tokens': '9',
    'x-ratelimit-remaining-tokens': '3',
    'x-ratelimit-reset-tokens': 'Infinitys',
  })
  limitHeaders.requests(headers, { limit: 5, remaining: 1, resetMs: -3 })
  expect(headers['x-ratelimit-reset-requests']).toBe('0s')
})

describe('a rate limit', () => {
  test('names the limit, what it counts, and the wait in whole seconds, at least one', () => {
    const { headers, kind, message } = told({})
    expect([kind, message]).toEqual([
      'rate-limited',
      'rate limit of this key reached: 5 requests per minute; try again in 2 s',
    ])
    expect(headers['x-ratelimit-limit-requests']).toBe('5')
    expect(told({ retryAfterMs: 1000 }).message).toEndWith('try again in 1 s')
    expect(told({ retryAfterMs: 0 }).message).toEndWith('try again in 1 s')
    expect(told({ kind: 'tokens' }).message).toContain('5 tokens per minute')
    const parallel = told({ kind: 'parallel_requests' })
    expect([parallel.message, parallel.headers]).toEqual([expect.stringContaining('5 requests at once'), {}])
  })

  test('of 0 is not worth being asked again', () => {
    const { headers, message } = told({ state: { limit: 0, remaining: 0, resetMs: 1 } })
    expect(message).toContain('is 0 and allows no call')
    expect(headers['x-should-retry']).toBe('false')
    expect(told({ state: { limit: 1, remaining: 0, resetMs: 1 } }).headers).not.toHaveProperty('x-should-retry')
  })

  test('is named by whose it is; a key does not show its id', () => {
    const whose = (scope: string) => /of this (.*) reached/.exec(told({ scope }).message)![1]
    expect(whose('key:k')).toBe('key')
    expect(whose('gateway')).toBe('gateway')
    expect(whose('team:red:blue')).toBe("team 'red:blue'")
    expect(whose('customer_of_team:red/x')).toBe("customer of team 'red/x'")
    expect(whose('key:k:model:fast')).toBe("key for the model 'fast'")
    expect(whose(`team:${'x'.repeat(200)}`)).toBe(`team '${'x'.repeat(100)}'`)
    expect(whose(`key:k:model:${'x'.repeat(200)}`)).toBe(`key for the model '${'x'.repeat(100)}'`)
  })
})

describe('a budget', () => {
  const budget = (resetMs: number, retryAfterMs: number, remaining = 400_000_000) =>
    told({ kind: 'budget', state: { limit: 2_000_000_000, remaining, resetMs }, retryAfterMs })

  test('that is spent says what it cost so far, its maximum and when it resets', () => {
    const spent = budget(1001, 1001)
    expect([spent.kind, spent.message]).toEqual([
      'budget-exceeded',
      'Budget has been exceeded! Scope: key, Current cost: 1.6, Max budget: 2 USD; the rest is too little for this ' +
        'call, which may ask for fewer output tokens; it resets in 2 s',
    ])
    expect(spent.headers).toEqual({ 'x-should-retry': 'false' })
    expect(budget(Infinity, Infinity).message).toContain('it does not reset; ask an administrator to raise it')
    expect(budget(1, 1, 3_000_000_000).message).toContain('Current cost: 0,')
  })

  test('that calls under way have reserved is worth being asked again', () => {
    const full = budget(90_000, 1001)
    expect(full.message).toEndWith('the rest is reserved by calls under way; try again in 2 s')
    expect(full.headers).toEqual({})
  })
})
