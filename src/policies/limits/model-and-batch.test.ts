/** Budgets of single models and of batches, over the limiter of one process: amounts to the nano-dollar. */
import { describe, expect, test } from 'bun:test'
import { budgetSettingsOf } from '../../config/sections/budgets.ts'
import { bareKey } from '../../core/caller.ts'
import type { Caller } from '../../core/caller.ts'
import type { BatchModel, Call, Settlement, StartedBatch } from '../../core/call.ts'
import type { Settings } from '../../core/settings.ts'
import type { TenantDirectory } from '../../core/tenancy/tenancy-store.ts'
import { unlimited } from '../../core/tenancy/tenancy.ts'
import { systemClock } from '../../lib/clock.ts'
import { BudgetCounters } from '../../store/limits/budget-counters.ts'
import { MemoryLimiter } from '../../store/limits/limiter-memory.ts'
import { createCallLimits } from './call-limits.ts'
import { createBudgetCheck } from './check-budgets.ts'
import { chargeBatch, reserveBatch } from './reserve-batch.ts'
import { admitModel, chargeByModel, releaseModels, reserveModelAttempt } from './reserve-model.ts'

const budgetOf = (nanoUsd: number) => ({ maxBudgetNanoUsd: BigInt(nanoUsd), budgetDuration: null })
const none = { requestsPerMinute: null, tokensPerMinute: null, parallelRequests: null }

/** A key may spend 10,000 nano-dollars, of these 5000 with the model `fast`; given otherwise, what is given. */
function rig(key: object = { ...budgetOf(10_000), modelMaxBudget: { fast: budgetOf(5000) } }, general?: object) {
  const limiter = new MemoryLimiter(systemClock, new BudgetCounters({ clock: systemClock }))
  const stored: Record<string, object | undefined> = {
    'customer c': { ...unlimited, id: 'c', requestsPerMinute: 7 },
    'tag nightly': { ...unlimited, id: 'nightly', requestsPerMinute: 8 },
  }
  const lookUps = { isSlow: false }
  const tenants = {
    lookup: (kind: string, id: string) =>
      lookUps.isSlow ? Promise.resolve(stored[`${kind} ${id}`]) : stored[`${kind} ${id}`],
  } as unknown as TenantDirectory
  const limits = createCallLimits(tenants, 'w')
  const settings = {
    userLimits: none,
    rateLimitCounts: 'calls',
    aliases: {},
    budgets: budgetSettingsOf({ general_settings: general }),
  } as unknown as Settings
  const models = { settings, resolve: () => [] }
  const caller = { role: 'key', key: { ...bareKey, id: 'k', ...key } } as Caller
  const parts = { limiter, clock: systemClock, limits }
  const callOf = (more: object = {}) =>
    ({
      caller,
      models,
      tags: [],
      endUser: '',
      model: 'slow',
      body: { size: 40 },
      owed: [],
      client: { left: false },
      responseHeaders: {},
      taken: {},
      startedAtMs: systemClock.epochMs(),
      operation: 'chat',
      bounds: () => ({ costNanoUsdMax: 600n }),
      ...more,
    }) as unknown as Call
  const left = async (id: string): Promise<number> => {
    const { plan } = await limits.ofCall(callOf({ model: 'fast' }))
    return limiter.budgetLeft(plan!.at(systemClock.epochMs()).scopes.find(one => one.id === id)!)
  }
  return { limiter, limits, lookUps, settings, caller, parts, callOf, left, models }
}

describe('the limits of a call', () => {
  test('are compiled once for a caller under the same settings', () => {
    const { limits, caller, settings } = rig()
    const first = limits.of(caller, settings)
    expect(limits.of(caller, settings)).toBe(first)
    expect(limits.of(caller, { ...settings })).not.toBe(first)
  })

  test('are those of the customer and the tags that it names too, looked up at once or later', async () => {
    const { limits, lookUps, callOf, caller } = rig({})
    const idsOf = async (more: object) => (await limits.ofCall(callOf(more))).limits.map(({ id }) => id)
    for (const isSlow of [false, true]) {
      lookUps.isSlow = isSlow
      expect(await idsOf({ endUser: 'c' })).toEqual(['customer:c'])
      expect(await idsOf({ tags: ['nightly'] })).toEqual(['tag:nightly'])
      expect(await idsOf({ endUser: 'c', tags: ['nightly', 'unknown'] })).toEqual(['customer:c', 'tag:nightly'])
      expect(await idsOf({ endUser: 'unknown' })).toEqual([])
      expect(await idsOf({ tags: undefined })).toEqual([])
      expect(limits.ofCall(callOf({ endUser: 'c' })) instanceof Promise).toBe(isSlow)
    }
    const own = { ...caller, tags: [{ ...unlimited, id: 'nightly' }] }
    expect(await idsOf({ caller: own, tags: ['nightly'] })).toEqual([])
    expect(limits.ofCall(callOf({ tags: undefined })) instanceof Promise).toBe(false)
  })
})

describe('whether budgets have room, before others are paid', () => {
  const check = ({ parts, models }: ReturnType<typeof rig>) =>
    createBudgetCheck({ ...parts, current: { models: { of: () => models } } as never })

  test('is asked for the least that a call costs, and takes nothing', async () => {
    const house = rig()
    const call = house.callOf({ measuredInput: {}, format: {} })
    await check(house).ofCall(call)
    expect(await house.left('key:k')).toBe(10_000)
    const dear = house.callOf({ measuredInput: {}, format: {}, bounds: () => ({ costNanoUsdMax: 10_001n }) })
    await expect(check(house).ofCall(dear)).rejects.toThrow('Budget has been exceeded')
    const free = house.callOf({ measuredInput: {}, format: {}, bounds: () => ({ costNanoUsdMax: 0n }) })
    const spent = rig(budgetOf(0))
    await check(spent).ofCall({ ...free, caller: spent.caller, models: spent.models } as unknown as Call)
  })

  test('of a caller is asked for one nano-dollar; without a budget there is nothing to be asked', async () => {
    const [open, last, spent] = [rig({}), rig(budgetOf(1)), rig(budgetOf(0))]
    await check(open).ofCaller(open.caller)
    await check(last).ofCaller(last.caller)
    await expect(check(spent).ofCaller(spent.caller)).rejects.toThrow('Budget has been exceeded')
  })
})

describe('a call that is passed on to another model', () => {
  const reservedOf = (boundNanoUsd: number) => ({
    taken: { reserved: { nanoUsd: boundNanoUsd, boundNanoUsd } },
    measuredInput: {},
    bounds: () => ({ costNanoUsdMax: BigInt(boundNanoUsd) }),
  })

  test('reserves in the budget of this model what a request can cost, once', async () => {
    const { parts, callOf, left } = rig()
    const call = callOf(reservedOf(600))
    expect([await admitModel(parts, call, 'fast'), await left('key:k:model:fast')]).toEqual([undefined, 4400])
    expect(call.taken.byModel!.map(one => [one.model, one.nanoUsd, one.taken.length])).toEqual([
      ['', 600, 0],
      ['fast', 600, 1],
    ])
    expect([await admitModel(parts, call, 'fast'), await left('key:k:model:fast')]).toEqual([undefined, 4400])
    const [own, fast] = call.taken.byModel!
    expect(await reserveModelAttempt(parts.limiter, call, { taking: fast!, owed: 0 })).toBe(true)
    expect(await left('key:k:model:fast')).toBe(4400)
    expect(await reserveModelAttempt(parts.limiter, call, { taking: fast!, owed: 300 })).toBe(true)
    expect([await left('key:k:model:fast'), fast!.nanoUsd]).toEqual([4100, 900])
    expect(await reserveModelAttempt(parts.limiter, call, { taking: fast!, owed: 5000 })).toBe(false)
    expect(await reserveModelAttempt(parts.limiter, call, { taking: own!, owed: 5000 })).toBe(true)
    releaseModels(call.taken.byModel!, new Map([['key:k:model:fast', { tokens: 0, nanoUsd: 250 }]]))
    expect(await left('key:k:model:fast')).toBe(5000 - 250)
  })

  test('is refused where that model has too little left, and where what it costs is not known', async () => {
    const { parts, callOf, left } = rig()
    expect(await admitModel(parts, callOf(reservedOf(5000)), 'fast')).toBeUndefined()
    const full = await admitModel(parts, callOf(reservedOf(1)), 'fast')
    expect(full).toMatchObject({
      kind: 'budget-exceeded',
      message: expect.stringContaining('Max budget: 0.000005 USD'),
    })
    expect(await left('key:k:model:fast')).toBe(0)
    const unknown = callOf({ bounds: () => ({ costNanoUsdMax: null }), measuredInput: {} })
    expect(await admitModel(rig().parts, unknown, 'fast')).toMatchObject({
      kind: 'budget-exceeded',
      message: expect.stringContaining("the fallback 'fast' has a budget"),
    })
  })

  test('without a price reserves what the configuration says', async () => {
    for (const [general, expected] of [
      [{ budget_unknown_price: 'allow' }, 4999],
      [{ budget_unknown_price: 'reserve', budget_reserve: 0.000002 }, 3000],
    ] as const) {
      const house = rig(undefined, general)
      const call = house.callOf({ bounds: () => ({ costNanoUsdMax: null }), measuredInput: {} })
      expect(await admitModel(house.parts, call, 'fast')).toBeUndefined()
      expect(await house.left('key:k:model:fast')).toBe(expected)
    }
    const known = rig()
    expect(await admitModel(known.parts, known.callOf({ measuredInput: {} }), 'fast')).toBeUndefined()
    expect(await known.left('key:k:model:fast')).toBe(4400)
  })

  test('has its input counted where the budget of that model is tight, and reserves the closer bound', async () => {
    for (const [bound, left, times] of [
      [4000, 4400, 1],
      [1000, 4000, 0],
    ] as const) {
      const house = rig()
      const call = house.callOf({ taken: { reserved: { nanoUsd: bound, boundNanoUsd: bound } } })
      let counts = 0
      const measureInput = async () => {
        counts++
        Object.assign(call, { measuredInput: {}, bounds: () => ({ costNanoUsdMax: 600n }) })
      }
      Object.assign(call, { bounds: () => ({ costNanoUsdMax: BigInt(bound) }), measureInput })
      expect(await admitModel(house.parts, call, 'fast')).toBeUndefined()
      expect([counts, await house.left('key:k:model:fast')]).toEqual([times, left])
    }
  })

  test('further requests without money reserved for the whole call reserve what is owed beyond the first', async () => {
    const { parts, callOf, left } = rig()
    const call = callOf({ measuredInput: {} })
    expect(await admitModel(parts, call, 'fast')).toBeUndefined()
    const [, taking] = call.taken.byModel!
    expect(await reserveModelAttempt(parts.limiter, call, { taking: taking!, owed: 600 })).toBe(true)
    expect(await left('key:k:model:fast')).toBe(4400)
    expect(await reserveModelAttempt(parts.limiter, call, { taking: taking!, owed: 900 })).toBe(true)
    expect(await left('key:k:model:fast')).toBe(4100)
  })

  test('takes nothing where its client has left, or no model has limits', async () => {
    const { parts, callOf, left } = rig()
    const gone = callOf({ ...reservedOf(600), client: { left: true } })
    expect((await admitModel(parts, gone, 'fast'))!.kind).toBe('client-closed')
    expect([await left('key:k:model:fast'), gone.taken.byModel!.length]).toEqual([5000, 1])
    const open = rig(budgetOf(5))
    const call = open.callOf(reservedOf(600))
    expect([await admitModel(open.parts, call, 'fast'), call.taken.byModel]).toEqual([undefined, undefined])
  })

  test('counts in the request limit of that model as well', async () => {
    const { parts, callOf } = rig({ modelRequestsPerMinute: { fast: 1 } })
    expect(await admitModel(parts, callOf(reservedOf(0)), 'fast')).toBeUndefined()
    expect((await admitModel(parts, callOf(reservedOf(0)), 'fast'))!.kind).toBe('rate-limited')
  })

  test('is charged in each budget of a model what this model cost, or what was reserved where that is not known', () => {
    const scope = (id: string) => ({
      id,
      ...none,
      budget: { maxNanoUsd: 9, softNanoUsd: null, startMs: 4, endMs: null },
    })
    const modelReservations = [
      { model: '', scopes: [scope('a')], nanoUsd: 100, taken: [] },
      { model: 'fast', scopes: [scope('a'), scope('b')], nanoUsd: 70, taken: [] },
      { model: 'idle', scopes: [scope('c')], nanoUsd: 50, taken: [] },
      { model: 'dark', scopes: [scope('d')], nanoUsd: 30, taken: [] },
    ]
    const usedByModel = new Map([
      ['', { tokens: 5, costNanoUsd: 11n }],
      ['fast', { tokens: 6, costNanoUsd: 13n }],
      ['dark', { tokens: 7, costNanoUsd: null }],
    ])
    const settlement = { call: { taken: { byModel: modelReservations } }, usedByModel } as unknown as Settlement
    const charge = chargeByModel(settlement, 'w', { nanoUsd: 54, scopes: [scope('key:k')] })!
    expect(charge.nanoUsd).toBe(54)
    expect([...settlement.ownUses!]).toEqual([
      ['a', { tokens: 11, nanoUsd: 24 }],
      ['b', { tokens: 6, nanoUsd: 13 }],
      ['c', { tokens: 0, nanoUsd: 0 }],
      ['d', { tokens: 7, nanoUsd: 30 }],
    ])
    const nothing = { call: { taken: { byModel: [] } } } as unknown as Settlement
    expect(chargeByModel(nothing, 'w', { nanoUsd: 54, scopes: [] })).toBeUndefined()
  })
})

describe('a batch', () => {
  const model = (name: string, nanoUsd: bigint | null, more: Partial<BatchModel> = {}): BatchModel =>
    ({ name, requests: 2, nanoUsd, isPriced: true, ...more }) as BatchModel
  const start = async (house: ReturnType<typeof rig>, models: BatchModel[], more: object = {}) => {
    const call = house.callOf(more)
    await reserveBatch(house.parts, call, { caller: house.caller, tags: [], models } as unknown as StartedBatch)
    return call.taken.batch
  }

  test('reserves all that it can cost in the budgets of its caller, and of each model its part, until it ends', async () => {
    const house = rig()
    const batch = await start(house, [model('fast', 3000n), model('slow', 1000n)])
    expect([await house.left('key:k'), await house.left('key:k:model:fast')]).toEqual([6000, 2000])
    expect(batch!.amounts).toEqual([
      { scope: 'key:k', startMs: 0, nanoUsd: 4000, model: null },
      { scope: 'key:k:model:fast', startMs: 0, nanoUsd: 3000, model: 'fast' },
    ])
    batch!.release()
    expect([await house.left('key:k'), await house.left('key:k:model:fast')]).toEqual([10_000, 5000])
  })

  test('that one budget refuses leaves nothing reserved in the others', async () => {
    const house = rig()
    await expect(start(house, [model('fast', 5001n)])).rejects.toThrow('Budget has been exceeded')
    expect([await house.left('key:k'), await house.left('key:k:model:fast')]).toEqual([10_000, 5000])
    expect(await start(house, [model('fast', 5000n)])).toBeDefined()
  })

  test('that is free, has no budget, or whose client has left, reserves nothing', async () => {
    expect(await start(rig(), [model('fast', 0n)])).toBeUndefined()
    expect(await start(rig({}), [model('fast', 5n)])).toBeUndefined()
    const house = rig()
    expect(await start(house, [model('fast', 5n)], { client: { left: true } })).toBeUndefined()
    expect(await house.left('key:k')).toBe(10_000)
  })

  test('of which a price is not known is refused, counted for each request, or let through', async () => {
    const reserve = { budget_unknown_price: 'reserve', budget_reserve: 0.000002 }
    const amount = async (one: BatchModel, general?: object) =>
      (await start(rig(budgetOf(9e15), general), [one]))!.amounts[0]!.nanoUsd
    expect(await amount(model('m', null, { isPriced: false }), reserve)).toBe(4000)
    expect(await amount(model('m', null, { isPriced: false }), { budget_unknown_price: 'allow' })).toBe(1)
    expect(await amount(model('m', null), { budget_reserve: 0.000002 })).toBe(4000)
    expect(await amount(model('m', 10n ** 17n))).toBe(9e15)
    await expect(amount(model('m', null, { isPriced: false }))).rejects.toThrow("the price of batches of the model 'm'")
    await expect(amount(model('m', null, { requests: 0 }))).rejects.toThrow('send the file again')
  })

  test('is charged what it cost in place of what was reserved, where its cost is known', async () => {
    for (const [cost, ofFast, lefts] of [
      [900n, 700n, [9100, 4300]],
      [null, null, [6000, 2000]],
    ] as const) {
      const house = rig()
      const batch = await start(house, [model('fast', 3000n), model('slow', 1000n)])
      const settlement = { call: house.callOf(), costNanoUsd: cost } as unknown as Settlement
      const costs = new Map([['fast', ofFast]])
      batch!.keep('stored' as never)
      chargeBatch(house.parts, settlement, { reserved: batch!.amounts, costs } as never)
      expect(settlement.charge!.nanoUsd).toBe(cost === null ? 4000 : 900)
      expect([await house.left('key:k'), await house.left('key:k:model:fast')]).toEqual([...lefts])
    }
  })

  test('is charged in budgets that came since, too', async () => {
    const house = rig()
    expect([await house.left('key:k'), await house.left('key:k:model:fast')]).toEqual([10_000, 5000])
    const settlement = { call: house.callOf(), costNanoUsd: 900n } as unknown as Settlement
    chargeBatch(house.parts, settlement, { reserved: [], costs: new Map([['fast', 700n]]) } as never)
    expect([await house.left('key:k'), await house.left('key:k:model:fast')]).toEqual([9100, 4300])
    const open = { call: rig({}).callOf(), costNanoUsd: 900n } as unknown as Settlement
    chargeBatch(rig({}).parts, open, { reserved: [], costs: new Map() } as never)
    expect(open.charge).toBeUndefined()
  })

  test('whose cost is not known counts nothing in budgets that came since', () => {
    const house = rig()
    const settlement = { call: house.callOf(), costNanoUsd: null } as unknown as Settlement
    chargeBatch(house.parts, settlement, { reserved: [], costs: new Map([['fast', null]]) } as never)
    expect(settlement.charge).toEqual({ nanoUsd: 0, list: ['w', '0 key:k', '0 key:k:model:fast'] })
  })

  test('of which the store does not say whether it was written is counted anew', async () => {
    for (const [stored, expected] of [
      ['unknown', [['key:k'], ['key:k:model:fast']]],
      ['stored', []],
    ] as const) {
      const house = rig()
      const counted: string[][] = []
      house.limiter.recount = scopes => void counted.push(scopes.map(({ id }) => id))
      const batch = await start(house, [model('fast', 3000n)])
      batch!.keep(stored as never)
      expect(counted).toEqual(expected as never)
    }
  })
})
