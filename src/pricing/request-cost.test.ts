import { expect, test } from 'bun:test'
import type { Deployment } from '../core/deployment.ts'
import type { Prices } from '../core/usage/prices.ts'
import type { Usage } from '../core/usage/usage.ts'
import { requestCost, usesAnything } from './request-cost.ts'

const prices: Prices = { input: 1_000_000_000n, output: 2_000_000_000n }
const advisor: Prices = { input: 5_000_000_000n, output: 25_000_000_000n }
const listed = (provider: string, model: string) => (provider === 'host' && model === 'advisor' ? advisor : null)

function costOf(usage: Usage, made: { reportsCost?: true; priceSource?: string; prices?: Prices | null } = {}) {
  const { reportsCost, priceSource = 'catalogue', prices: given = prices } = made
  const deployment = { target: { provider: { name: 'host', reportsCost } }, prices: given, priceSource }
  return requestCost(usage, deployment as unknown as Deployment, { atMs: 0, endedAtMs: 1000 }, listed)
}

const reported: Usage = { inputTokens: 10, outputTokens: 10, reportedCostNanoUsd: 77n }

test('a host that is believed says what a call cost; of others it is no price', () => {
  expect(costOf(reported, { reportsCost: true })).toEqual({ nanoUsd: 77n, source: 'upstream' })
  expect(costOf(reported, { reportsCost: true, prices: null })).toEqual({ nanoUsd: 77n, source: 'upstream' })
  expect(costOf(reported)).toEqual({ nanoUsd: 30_000n, source: 'prices' })
  expect(costOf(reported, { prices: null })).toEqual({ nanoUsd: null, source: 'none' })
})

test('what only the vendor knows of a cost is reserved, and unknown until it tells', () => {
  const bounded: Prices = { ...prices, requestAtMost: 22_000_000_000_000n }
  expect(costOf(reported, { reportsCost: true, prices: bounded })).toEqual({ nanoUsd: 77n, source: 'upstream' })
  expect(costOf({ inputTokens: 10, outputTokens: 10 }, { reportsCost: true, prices: bounded }).nanoUsd).toBeNull()
})

test('a request that used nothing that has a price is none that lacks one', () => {
  expect(usesAnything({ inputTokens: 0, outputTokens: 0 })).toBe(false)
  expect(usesAnything({ inputTokens: 1, outputTokens: 0 })).toBe(true)
  expect(usesAnything({ inputTokens: 0, outputTokens: 1 })).toBe(true)
  for (const unit of ['images', 'audioSeconds', 'videoSeconds', 'characters', 'pages', 'searchUnits'])
    expect(usesAnything({ inputTokens: 0, outputTokens: 0, [unit]: 1 })).toBe(true)
})

test("the operator's prices win over what a host says", () => {
  expect(costOf(reported, { reportsCost: true, priceSource: 'config' })).toEqual({ nanoUsd: 30_000n, source: 'prices' })
})

test('tokens of another model have its prices; without these the cost is not known', () => {
  const usage = {
    inputTokens: 1100,
    outputTokens: 30,
    otherModels: [{ model: 'advisor', usage: { inputTokens: 1000, outputTokens: 20 } }],
  }
  expect(costOf(usage)).toEqual({ nanoUsd: 100_000n + 20_000n + 5_000_000n + 500_000n, source: 'prices' })
  const other = { ...usage, otherModels: [{ ...usage.otherModels[0]!, model: 'unheard' }] }
  expect(costOf(other)).toEqual({ nanoUsd: null, source: 'none' })
})

test('what a vendor does not bill costs nothing there, and is unknown at other platforms', () => {
  const usage = { inputTokens: 106, outputTokens: 1, served: { serviceTier: 'unbilled' } }
  const at = (provider: object) => {
    const deployment = { target: { provider }, prices, priceSource: 'catalogue' } as unknown as Deployment
    return requestCost(usage, deployment, { atMs: 0, endedAtMs: 1000 }, listed).nanoUsd
  }
  expect([at({ leavesUnbilled: true }), at({})]).toEqual([0n, null])
})
