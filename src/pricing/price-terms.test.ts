/** Discounts and margins: exact, in their order, and as the ledger keeps them. Figures are counted by hand. */
import { describe, expect, test } from 'bun:test'
import type { Call } from '../core/call.ts'
import type { Caller } from '../core/caller.ts'
import type { PriceAdjustment, PriceAdjustmentSettings } from '../core/usage/price-terms.ts'
import { boundsUnder, costUnder, readTerms, termsFor, termsOf, termsText } from './price-terms.ts'

const term = (discount: number, margin = 0, fixedNanoUsd = 0n): PriceAdjustment => ({
  discountPpm: discount * 1e6,
  marginPpm: margin * 1e6,
  fixedNanoUsd,
})

test.each([
  // 5 % off a dollar.
  [[term(0.05)], 1_000_000_000n, 950_000_000n],
  // The example of LiteLLM's page: 8 % and $0.0005 on top of 2 cents.
  [[term(0, 0.08, 500_000n)], 20_000_000n, 22_100_000n],
  // A discount, then a margin of the discounted price: 100 * 0.9 * 1.2.
  [[term(0.1, 0.2)], 100n, 108n],
  // Two parties: 0.5 * 0.5, half a nano-dollar up.
  [[term(0.5), term(0.5)], 10n, 3n],
  // A third of nothing stays nothing, but for what is fixed.
  [[term(0.333333, 0, 7n)], 0n, 7n],
  // Free.
  [[term(1)], 123n, 0n],
  // Beyond 2^53: the integer arithmetic of the text book.
  [[term(0, 0.000001)], 9_007_199_254_740_993_000_000n, 9_007_208_261_940_247_740_993n],
])('%p of %p is %p', (terms, list, cost) => {
  expect(costUnder(terms, list)).toBe(cost)
  expect(costUnder(readTerms(termsText(terms))!, list)).toBe(cost)
})

test('a text that is none of ours is recognized', () => {
  for (const text of ['', 'x', '1,2', '1,2,3;', '1.5,0,0']) expect(readTerms(text)).toBeUndefined()
})

const settings: PriceAdjustmentSettings = {
  providers: { vertex_ai: term(0.05) },
  global: term(0, 0.1),
  organizations: { org: term(0.2) },
  teams: { red: term(0.3) },
  keys: { k1: term(0, 0.5) },
}
const callerOf = (id: string, teamId: string | null, organizationId: string | null) =>
  ({ role: 'key', key: { id, teamId, organizationId } }) as unknown as Caller

describe('the terms of a caller', () => {
  test('are those of provider, organization, team and key, in this order', () => {
    const caller = callerOf('k1', 'red', 'org')
    expect(termsFor(settings, caller, 'vertex_ai')).toEqual([term(0.05), term(0.2), term(0.3), term(0, 0.5)])
    expect(termsFor(settings, caller, 'openai')[0]).toEqual(term(0, 0.1))
    // Compiled once.
    expect(termsFor(settings, caller, 'openai')).toBe(termsFor(settings, caller, 'openai'))
    expect(termsFor(settings, callerOf('other', null, null), 'openai')).toEqual([term(0, 0.1)])
    expect(termsFor({ ...settings, global: undefined }, callerOf('other', null, null), 'openai')).toEqual([])
  })

  test('bound a call by the dearest provider that may serve it', () => {
    const at = (name: string) => ({ target: { provider: { name } } })
    const call = {
      caller: callerOf('other', null, null),
      models: { settings: { priceTerms: settings } },
      candidates: [at('vertex_ai')],
      fallbacksInOrder: [{ deployments: [at('openai')] }],
      contextWindowFallbacks: [],
      contentPolicyFallbacks: [],
    } as unknown as Call
    const bounds = { inputTokensMax: 1, outputTokensMax: 1, costNanoUsdMax: 1000n }
    expect(boundsUnder(bounds, call).costNanoUsdMax).toBe(1100n)
    expect(boundsUnder({ ...bounds, costNanoUsdMax: null }, call).costNanoUsdMax).toBeNull()
    const listed = { ...call, models: { settings: { priceTerms: null } } } as unknown as Call
    expect(boundsUnder(bounds, listed)).toBe(bounds)
    for (const list of ['contextWindowFallbacks', 'contentPolicyFallbacks'])
      expect(
        boundsUnder(bounds, { ...call, fallbacksInOrder: [], [list]: call.fallbacksInOrder } as Call).costNanoUsdMax,
      ).toBe(1100n)
  })

  test('name the organization of the key, else the loaded one, else that of the team', () => {
    const caller = (key: string | null, loaded: string | null, ofTeam: string | null) =>
      ({
        ...callerOf('other', 'blue', key),
        ...(loaded && { organization: { id: loaded } }),
        ...(ofTeam && { team: { organizationId: ofTeam } }),
      }) as unknown as Caller
    const organizations = { ...settings, organizations: { org: term(0.2), second: term(0.3), third: term(0.4) } }
    const discounts = [caller('org', 'second', 'third'), caller(null, 'second', 'third'), caller(null, null, 'third')]
    expect(discounts.map(one => termsFor(organizations, one, 'vertex_ai')[1])).toEqual([
      term(0.2),
      term(0.3),
      term(0.4),
    ])
  })

  test('of a call are those of the deployment that was tried; there are none before, or without settings', () => {
    const deployment = { target: { provider: { name: 'vertex_ai' } } }
    const call = (priceTerms: PriceAdjustmentSettings | null, attempt?: object) =>
      ({ caller: callerOf('other', null, null), attempt, models: { settings: { priceTerms } } }) as unknown as Call
    expect(termsOf(call(settings, { deployment }))).toEqual([term(0.05)])
    expect(termsOf(call(settings))).toEqual([])
    expect(termsOf(call(null, { deployment }))).toEqual([])
  })

  test('are remembered for a thousand providers of a caller, and worked out anew beyond', () => {
    const caller = callerOf('other', null, null)
    for (let at = 0; at < 999; at++) termsFor(settings, caller, `p${at}`)
    expect(termsFor(settings, caller, 'last')).toBe(termsFor(settings, caller, 'last'))
    expect(termsFor(settings, caller, 'more')).not.toBe(termsFor(settings, caller, 'more'))
  })
})
