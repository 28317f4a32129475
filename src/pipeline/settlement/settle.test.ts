/** What calls are settled with: who is charged what, by which terms, and what is reported to whom. */
import { describe, expect, test } from 'bun:test'
import type { Attempt, RunningCall, Settlement } from '../../core/call.ts'
import type { EndedCall } from '../../core/endpoint.ts'
import type { Usage, UsageSource } from '../../core/usage/usage.ts'
import { AttemptRecord } from '../attempt-record.ts'
import { createSettleEnded, settler } from './settle.ts'
import type { SettleParts } from './settle.ts'

const million = 1_000_000n
/** A nano-dollar for a token in, ten for one out. */
const prices = { input: million, output: 10n * million }
const deploymentOf = (more: object = {}) =>
  ({ id: 'd', prices, target: { provider: { name: 'p' }, model: 'up', options: {} }, info: {}, ...more }) as never
const half = { discountPpm: 500_000, marginPpm: 0, fixedNanoUsd: 0n }
const terms = { global: half, providers: {}, organizations: {}, teams: {}, keys: {} }

function rig() {
  const told: Settlement[] = []
  const unpriced: Usage[] = []
  const order: string[] = []
  const parts = {
    clock: { epochMs: () => 9000, monotonicMs: () => 350 },
    policies: {
      settled: [
        { settled: (one: Settlement) => void (told.push(one), order.push('last')) },
        { settled: () => void order.push('first') },
      ],
    },
    listedPrices: () => null,
    reportUnpriced: (usage: Usage) => void unpriced.push(usage),
    current: { models: { of: () => ({ settings: { priceTerms: terms } }) } },
  } as unknown as SettleParts
  return { parts, told, unpriced, order }
}

interface Owed {
  readonly inputTokens?: number
  readonly outputTokens?: number
  readonly source?: UsageSource
  readonly model?: string
  readonly deployment?: object | null
  readonly usage?: Usage | null
}

function attemptOf({ inputTokens = 7, outputTokens = 3, source = 'upstream', model = '', ...more }: Owed): Attempt {
  const made = new AttemptRecord(more.deployment === null ? undefined : deploymentOf(more.deployment), model)
  const usage = more.usage === null ? undefined : (more.usage ?? { inputTokens, outputTokens })
  return Object.assign(made, { usage, usageSource: source, countedTokens: inputTokens + outputTokens })
}

function settled(
  owed: readonly Owed[],
  more: { call?: object; terms?: object; attempts?: number; outcome?: string } = {},
) {
  const { parts, told, unpriced, order } = rig()
  const attempts = owed.map(attemptOf)
  const done: string[] = []
  const call = {
    operation: 'chat',
    caller: { key: { id: 'k', teamId: null, organizationId: null } },
    client: { billed: () => void done.push('billed') },
    models: { settings: { priceTerms: more.terms ?? null } },
    progress: { attempts: more.attempts ?? owed.length },
    startedMs: 100,
    startedAtMs: 5000,
    taken: {},
    owed: attempts,
    attempt: attempts.at(-1),
    upload: { close: () => void done.push('upload closed') },
    releaseBody: () => void done.push('body released'),
    ...more.call,
  } as unknown as RunningCall
  settler(parts)(call, (more.outcome ?? 'success') as never, 200, undefined)
  return { settlement: told[0]!, unpriced, order, done, call }
}

describe('the cost of a call', () => {
  test('is that of its request by the prices of its deployment, and is told to every policy in turn', () => {
    const { settlement, call, order, done, unpriced } = settled([{}])
    expect(settlement).toEqual({
      call,
      outcome: 'success',
      status: 200,
      error: undefined,
      durationMs: 250,
      isOwed: true,
      usage: { inputTokens: 7, outputTokens: 3 },
      usageSource: 'upstream',
      countedTokens: 10,
      listCostNanoUsd: 37n,
      priceTerms: '',
      costNanoUsd: 37n,
      costSource: 'prices',
      callersCost: undefined,
      usedByModel: undefined,
      batchEnd: undefined,
      charge: undefined,
      ownUses: undefined,
    })
    expect(call.settlement).toBe(settlement)
    expect([order, done, unpriced]).toEqual([['last', 'first'], ['upload closed', 'body released', 'billed'], []])
  })

  test('is by the prices of its hour, and not known where these change before its end', () => {
    const hours = [{ windows: [{ fromMinute: 60, toMinute: 120 }], prices: { input: million, output: 20n * million } }]
    const at = (startedAtMs: number) =>
      settled([{ deployment: { prices: { ...prices, hours } } }], { call: { startedAtMs } }).settlement.costNanoUsd
    const hourMs = 3_600_000
    expect([hourMs - 251, hourMs - 250, hourMs].map(at)).toEqual([37n, null, 67n])
  })

  test('is the sum of all requests, with the word of their sources', () => {
    const { settlement } = settled([{}, { inputTokens: 1, outputTokens: 0 }])
    expect([settlement.costNanoUsd, settlement.costSource]).toEqual([38n, 'prices'])
    const reported = { usage: { inputTokens: 1, outputTokens: 0, reportedCostNanoUsd: 500n } }
    const deployment = { target: { provider: { name: 'p', reportsCost: true }, model: 'up' } }
    const mixed = settled([{}, { ...reported, deployment }]).settlement
    expect([mixed.costNanoUsd, mixed.costSource]).toEqual([537n, 'mixed'])
  })

  test('is not known where that of one request is not, wherever it stands; who uses without a price is told', () => {
    for (const owed of [
      [{ deployment: { prices: null } }, {}],
      [{}, { deployment: { prices: null } }],
      [{}, { deployment: { prices: null } }, {}],
    ]) {
      const { settlement, unpriced } = settled(owed)
      expect([settlement.costNanoUsd, settlement.listCostNanoUsd, settlement.costSource]).toEqual([null, null, 'none'])
      expect(unpriced).toEqual([{ inputTokens: 7, outputTokens: 3 }])
    }
  })

  test('is not known without a usage or a deployment, and nothing used needs no price', () => {
    for (const one of [{ usage: null }, { deployment: null }]) {
      const { settlement, unpriced } = settled([one])
      expect([settlement.costNanoUsd, unpriced]).toEqual([null, []])
    }
    const { unpriced } = settled([{ inputTokens: 0, outputTokens: 0, deployment: { prices: null } }])
    expect(unpriced).toEqual([])
  })

  test('is none of an answer without an upstream, and of a failure without one', () => {
    const own = settled([], { terms }).settlement
    expect([own.costNanoUsd, own.costSource, own.isOwed, own.priceTerms]).toEqual([0n, 'prices', false, ''])
    const failed = settled([], { outcome: 'gateway_error' })
    expect([failed.settlement.costNanoUsd, failed.settlement.costSource]).toEqual([0n, 'none'])
    const refused = settled([], { outcome: 'error', attempts: 2, terms }).settlement
    expect([refused.costNanoUsd, refused.priceTerms]).toEqual([0n, ''])
    expect(failed.done).toEqual(['upload closed', 'body released'])
    expect(settled([], { attempts: 1 }).settlement.costNanoUsd).toBeNull()
  })

  test('is charged under the terms of the caller, which the ledger keeps beside that of the vendor', () => {
    const { settlement } = settled([{}], { terms })
    expect([settlement.listCostNanoUsd, settlement.costNanoUsd, settlement.priceTerms]).toEqual([
      37n,
      19n,
      '500000,0,0',
    ])
    const unknown = settled([{ deployment: { prices: null } }], { terms }).settlement
    expect([unknown.costNanoUsd, unknown.priceTerms]).toEqual([null, ''])
    const fixed = { ...terms, global: { ...half, fixedNanoUsd: 5n } }
    const own = settled([], { terms: fixed, call: { attempt: attemptOf({}) } }).settlement
    expect([own.costNanoUsd, own.priceTerms]).toEqual([0n, ''])
  })
})

describe('what each model of a call used', () => {
  const byModel = (owed: readonly Owed[], given?: object) => {
    const { settlement } = settled(owed, { call: { taken: { byModel: [] } }, ...(given && { terms: given }) })
    return Object.fromEntries(settlement.usedByModel!)
  }

  test('is summed over its requests', () => {
    expect(byModel([{}, { model: 'b', inputTokens: 2, outputTokens: 0 }, { inputTokens: 1, outputTokens: 1 }])).toEqual(
      {
        '': { tokens: 12, costNanoUsd: 48n },
        b: { tokens: 2, costNanoUsd: 2n },
      },
    )
  })

  test('adds up to what the caller is charged: the last has what is fixed for the call, and what was rounded', () => {
    const fixed = { ...terms, global: { ...half, fixedNanoUsd: 5n } }
    const owed = [{ outputTokens: 0 }, { model: 'b', inputTokens: 3, outputTokens: 0 }]
    // 10 at the vendor: 5, and 5 that are fixed. Of the first half of 7, rounded up.
    expect(byModel(owed, fixed)).toEqual({ '': { tokens: 7, costNanoUsd: 4n }, b: { tokens: 3, costNanoUsd: 6n } })
  })

  test('has a cost for each whose own is known, also where the sum is not', () => {
    const unpriced = { deployment: { prices: null } }
    expect(byModel([{}, { model: 'b', ...unpriced }, { model: 'c' }], terms)).toEqual({
      '': { tokens: 10, costNanoUsd: 19n },
      b: { tokens: 10, costNanoUsd: null },
      c: { tokens: 10, costNanoUsd: 19n },
    })
    expect(byModel([unpriced, {}])['']).toEqual({ tokens: 20, costNanoUsd: null })
    expect(byModel([{}, unpriced])['']).toEqual({ tokens: 20, costNanoUsd: null })
  })
})

describe('the end of a batch', () => {
  const ended = (more: Partial<EndedCall> = {}) => {
    const { parts, told } = rig()
    createSettleEnded(parts)({
      id: 'b-1',
      operation: 'batches',
      route: '/v1/batches',
      caller: { key: { id: 'k', teamId: null, organizationId: null } },
      tags: ['night'],
      model: 'm',
      deployment: deploymentOf(),
      startedAtMs: 1000,
      endedAtMs: 4000,
      outcome: 'success',
      status: 200,
      error: undefined,
      usage: { inputTokens: 1, outputTokens: 2 },
      costNanoUsd: 21n,
      batch: {
        reserved: [],
        costs: new Map([
          ['m', 21n],
          ['n', null],
        ]),
      },
      ...more,
    } as unknown as EndedCall)
    return told[0]!
  }

  test('is owed, under the terms of its caller, and counts in no limit of tokens', () => {
    const settlement = ended()
    expect(settlement).toMatchObject({
      durationMs: 3000,
      isOwed: true,
      usageSource: 'upstream',
      countedTokens: 0,
      listCostNanoUsd: 21n,
      costNanoUsd: 11n,
      priceTerms: '500000,0,0',
      costSource: 'prices',
      callersCost: undefined,
    })
    expect(settlement.call).toMatchObject({ id: 'b-1', model: 'm', tags: ['night'], progress: { attempts: 1 } })
    expect(settlement.call.announcedBytes).toBe(0)
    expect(settlement.call.client.left).toBe(false)
    expect([...settlement.batchEnd!.costs]).toEqual([
      ['m', 11n],
      ['n', null],
    ])
  })

  test('without a price or a report says so, and no clock makes its duration negative', () => {
    const settlement = ended({ usage: undefined, costNanoUsd: null, endedAtMs: 900 })
    expect(settlement).toMatchObject({ durationMs: 0, usageSource: 'none', costNanoUsd: null, costSource: 'none' })
    expect([...settlement.batchEnd!.costs]).toEqual([
      ['m', 21n],
      ['n', null],
    ])
  })
})
