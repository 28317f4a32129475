/** What is reserved for a call, and what it is charged at its end. */
import { describe, expect, test } from 'bun:test'
import { BudgetPlan } from '../../access/limits/budget-plan.ts'
import { budgetSettingsOf } from '../../config/sections/budgets.ts'
import type { Attempt, Call, Settlement } from '../../core/call.ts'
import type { CallInput } from '../../core/hub/input.ts'
import type { GatewayError } from '../../core/errors.ts'
import type { Limiter, LimitScope, LimitVerdict } from '../../core/tenancy/limits.ts'
import { systemClock } from '../../lib/clock.ts'
import { BudgetCounters } from '../../store/limits/budget-counters.ts'
import { MemoryLimiter } from '../../store/limits/limiter-memory.ts'
import { chargeBudgets } from '../charge-budgets.ts'
import { admitBudgets, reserveAttempt } from './reserve-budgets.ts'

/** A call costs 100 nano-dollars, and 10 for each output token that it asks for. */
const costAt = (outputTokens: number | null) => (outputTokens === null ? null : BigInt(100 + outputTokens * 10))
const prices = { input: 10_000_000n, output: 10_000_000n }

interface Made {
  readonly maxOutputTokens?: number
  /** Where the client asks for no maximum. */
  readonly modelMax?: number
  readonly general?: object
  readonly prices?: object | null
  readonly kind?: string
  /** What is known of the model. */
  readonly info?: Record<string, number>
  readonly operation?: string
  /** Limits that are taken in the same step. */
  readonly scopes?: readonly LimitScope[]
  /** What each call costs at most, whatever it asks for. */
  readonly fixedCost?: number
}

function rig(maxNanoUsd: number) {
  const limiter = new MemoryLimiter(systemClock, new BudgetCounters({ clock: systemClock }))
  const definition = {
    id: 'key:k',
    maxNanoUsd,
    softNanoUsd: null,
    duration: undefined,
    resetAtMs: null,
    spendResetAtMs: null,
    raise: null,
  }
  const plan = new BudgetPlan([definition], { timeZone: 'UTC', writer: 'w' })
  const [scope] = plan.at(0).scopes
  const parts = { limiter, clock: systemClock, limits: { of: () => ({ ofModel: () => ({ limits: [], plan }) }) } }
  const charging = chargeBudgets(parts as unknown as Parameters<typeof chargeBudgets>[0])
  return {
    limiter,
    parts: { limiter, clock: systemClock },
    plan,
    left: () => limiter.budgetLeft(scope!),
    call(made: Made = {}) {
      const request: { maxOutputTokens?: number | undefined } = { maxOutputTokens: made.maxOutputTokens }
      const call = {
        format: {
          withMaximum: (body: unknown, tokens: number) => {
            request.maxOutputTokens = tokens
            return body
          },
        },
        body: {},
        replaceBody: () => {},
        operation: made.operation ?? 'chat',
        model: 'm',
        models: {
          settings: { headerPrefix: 'x-proxy', budgets: budgetSettingsOf({ general_settings: made.general }) },
        },
        measuredInput: { tokensAt: () => 0 },
        candidates: [
          {
            modelName: 'm',
            prices: made.prices === undefined ? prices : made.prices,
            info: made.info ?? {},
            target: { provider: {} },
          },
        ],
        fallbacksInOrder: [],
        contextWindowFallbacks: [],
        contentPolicyFallbacks: [],
        responseHeaders: {},
        owed: [],
        progress: { model: '' },
        taken: {},
        input: () => ({ kind: made.kind ?? 'chat', request }) as unknown as CallInput,
        bounds(asked?: number) {
          const tokens = asked ?? request.maxOutputTokens ?? made.modelMax ?? null
          if (made.fixedCost !== undefined) return { costNanoUsdMax: BigInt(made.fixedCost) }
          const isKnown = made.prices !== null && (made.kind ?? 'chat') === 'chat'
          return { inputTokensMax: 10, outputTokensMax: tokens, costNanoUsdMax: isKnown ? costAt(tokens) : null }
        },
      } as unknown as Call
      const apply = (verdict: LimitVerdict) => {
        if (!verdict.allowed) throw new Error(`refused: ${verdict.kind}`)
        call.taken.reservation = verdict
      }
      void admitBudgets({ limiter, clock: systemClock }, call, { plan, scopes: made.scopes ?? [], tokens: 0, apply })
      return { call, request }
    },
    attempt: (call: Call, sent: Partial<Attempt>[]) => {
      Object.assign(call, { owed: sent.map(one => ({ deployment: { prices }, ...one })) })
      return reserveAttempt(limiter, call)
    },
    end(call: Call, costNanoUsd: bigint | null, isOwed = true) {
      const settlement = { call, costNanoUsd, isOwed } as Settlement
      charging.settled!(settlement)
      call.taken.reservation?.release(0, settlement.charge?.nanoUsd ?? 0)
      return settlement.charge
    },
  }
}

describe('what is reserved', () => {
  test('the most that the call can cost, and at its end what it did cost', () => {
    const { call: make, left, end } = rig(10_000)
    const { call } = make({ maxOutputTokens: 50 })
    expect(left()).toBe(10_000 - 600)
    const charge = end(call, 250n)
    expect([left(), charge]).toEqual([9750, { nanoUsd: 250, list: ['w', '0 key:k'] }])
  })

  test('a call without a maximum gets one of a quarter of what is left, or 4096 tokens', () => {
    const wide = rig(1_000_000).call({ modelMax: 1_000_000, info: { max_output_tokens: 1_000_000 } })
    expect([wide.request.maxOutputTokens, wide.call.responseHeaders]).toEqual([
      24_990,
      { 'x-proxy-budget-max-tokens': '24990' },
    ])
    expect(rig(60_000).call({ modelMax: 1_000_000 }).request.maxOutputTokens).toBe(4096)
    expect(rig(10_100).call().request.maxOutputTokens).toBe(1000)
    expect(rig(1_000_000).call({ modelMax: 500 }).request.maxOutputTokens).toBeUndefined()
  })

  test('the maximum is none that an upstream would refuse: of a model that is not known 4096, or what its window leaves', () => {
    const given = (info: Record<string, number>) => rig(1_000_000).call({ info }).request.maxOutputTokens
    expect(given({})).toBe(4096)
    expect(given({ max_input_tokens: 10_010 })).toBe(10_000)
    expect(given({ context_window: 8010, max_input_tokens: 20_000 })).toBe(8000)
    expect(given({ context_window: 300 })).toBe(4096)
    expect(given({ max_output_tokens: 700, context_window: 8010 })).toBe(700)
  })

  test('a maximum that the client asked for is lowered only where the configuration says so', () => {
    expect(() => rig(10_100).call({ maxOutputTokens: 5000 })).toThrow('refused: budget')
    const shrunk = rig(10_100).call({ maxOutputTokens: 5000, general: { budget_fit: 'shrink' } })
    expect(shrunk.request.maxOutputTokens).toBe(1000)
    expect(() => rig(150).call({ maxOutputTokens: 5000, general: { budget_fit: 'shrink' } })).toThrow('refused: budget')
  })

  test('a model without a price is refused, counted as the configuration says, or let through while money is left', () => {
    const refusal = (() => {
      try {
        rig(1e12).call({ prices: null })
      } catch (error) {
        return error as GatewayError
      }
    })()
    expect([refusal?.kind, refusal?.message]).toEqual(['invalid-request', expect.stringContaining("'m'")])
    const counted = rig(1e12)
    const { call } = counted.call({ prices: null, general: { budget_unknown_price: 'reserve', budget_reserve: 2 } })
    counted.end(call, null)
    expect(counted.left()).toBe(1e12 - 2e9)
    const allow = { prices: null, general: { budget_unknown_price: 'allow' } }
    expect(rig(10).call(allow).call.taken.reserved?.nanoUsd).toBe(1)
    expect(() => rig(0).call(allow)).toThrow('refused: budget')
  })

  test('sound of unknown length reserves the default, and is charged it where nothing was reported', () => {
    const { call: make, left, end } = rig(1e12)
    const known = make({ kind: 'form' }).call
    end(known, 5n)
    expect(left()).toBe(1e12 - 5)
    const unknown = make({ kind: 'form' }).call
    end(unknown, null)
    expect(left()).toBe(1e12 - 5 - 1e8)
  })
})

describe('what is taken in one step', () => {
  const perMinute = (requestsPerMinute: number): LimitScope => ({
    id: 'key:k',
    requestsPerMinute,
    tokensPerMinute: null,
    parallelRequests: null,
  })
  /** The amounts that the limiter is asked for. */
  const asked = (house: ReturnType<typeof rig>): number[] => {
    const amounts: number[] = []
    const take = house.limiter.take.bind(house.limiter)
    house.limiter.take = (scopes, tokens, nanoUsd) => {
      amounts.push(nanoUsd ?? 0)
      return take(scopes, tokens, nanoUsd)
    }
    return amounts
  }

  test('is a request of the limits and the money together: what the limits refuse reserves no money', () => {
    const { call: make, left } = rig(10_000)
    const scopes = [perMinute(1)]
    make({ maxOutputTokens: 50, scopes })
    expect(left()).toBe(9400)
    expect(() => make({ maxOutputTokens: 50, scopes })).toThrow('refused: requests')
    expect(left()).toBe(9400)
  })

  test('is a request alone for what is free, also where the budget is spent', () => {
    const { call: make } = rig(0)
    const free = { fixedCost: 0, scopes: [perMinute(1)] }
    expect(make(free).call.taken.reserved).toBeUndefined()
    expect(() => make(free)).toThrow('refused: requests')
    const { reservation, reserved } = make({ fixedCost: 0 }).call.taken
    expect([reservation, reserved]).toEqual([undefined, undefined])
  })

  test('counting tokens is free', () => {
    const { call: make, left } = rig(10_000)
    expect(make({ operation: 'count-tokens', maxOutputTokens: 50 }).call.taken.reserved).toBeUndefined()
    expect(left()).toBe(10_000)
  })

  test('a call for which not even the least output fits is refused by what that would have cost', () => {
    const house = rig(259)
    const amounts = asked(house)
    expect(() => house.call()).toThrow('refused: budget')
    expect(amounts).toEqual([260])
    expect(rig(260).call().request.maxOutputTokens).toBe(16)
  })

  test('a limiter that answers later is waited for, and so are the budgets and the count of the input', async () => {
    const house = rig(10_000)
    const { limiter, plan } = house
    const { call } = house.call({ fixedCost: 0 })
    const steps: string[] = []
    const later = {
      budgetLeft: (scope: LimitScope) => limiter.budgetLeft(scope),
      prepare: async () => void steps.push('prepared'),
      take: async (scopes: readonly LimitScope[], tokens: number, nanoUsd: number) => {
        steps.push(`${scopes.map(({ id }) => id).join()} ${nanoUsd}`)
        return limiter.take(scopes, tokens, nanoUsd)
      },
    } as unknown as Limiter
    let bound = 9000n
    Object.assign(call, {
      measuredInput: undefined,
      measureInput: async () => {
        steps.push('counted')
        bound = 700n
      },
      bounds: () => ({ costNanoUsdMax: bound }),
    })
    const apply = (verdict: LimitVerdict) => void steps.push(`allowed: ${verdict.allowed}`)
    await admitBudgets({ limiter: later, clock: systemClock }, call, { plan, scopes: [], tokens: 0, apply })
    expect(steps).toEqual(['prepared', 'counted', 'key:k 700', 'allowed: true'])
    expect(call.taken.reserved).toMatchObject({ nanoUsd: 700, boundNanoUsd: 700 })
    expect(house.left()).toBe(9300)
  })

  test('what is refused is not held as reserved', async () => {
    const house = rig(10)
    const { call } = house.call({ fixedCost: 0 })
    Object.assign(call, { bounds: () => ({ costNanoUsdMax: 11n }) })
    let isAllowed: boolean | undefined
    await admitBudgets(house.parts, call, {
      plan: house.plan,
      scopes: [],
      tokens: 0,
      apply: verdict => (isAllowed = verdict.allowed),
    })
    expect([isAllowed, call.taken.reserved]).toEqual([false, undefined])
  })
})

describe('what is charged', () => {
  test('nothing where nothing was sent, also when the cost is not known', () => {
    const { call: make, left, end } = rig(10_000)
    end(make({ maxOutputTokens: 50 }).call, null, false)
    expect(left()).toBe(10_000)
  })

  test('what no reservation was made for counts at its end', () => {
    const { left, end } = rig(10_000)
    expect(left()).toBe(10_000)
    const call = { model: 'm', models: {}, taken: {} } as unknown as Call
    const charge = end(call, 12_000n)
    expect([left(), charge?.nanoUsd]).toEqual([-2000, 12_000])
  })
})

describe('further attempts', () => {
  test('reserve again what an earlier one may be billed, and are not made where that is too much', () => {
    const { call: make, left, attempt, end } = rig(2000)
    const { call } = make({ maxOutputTokens: 50 })
    const usage = { inputTokens: 10, outputTokens: 20 }
    expect([attempt(call, [{ usage }]), left()]).toEqual([true, 2000 - 600 - 300])
    // Asked twice for the same attempt, nothing more is taken.
    expect([attempt(call, [{ usage }]), left()]).toEqual([true, 2000 - 600 - 300])
    // Of an attempt whose usage is not known all of its bound is owed.
    expect([attempt(call, [{ usage }, { usage: undefined }]), left()]).toEqual([true, 2000 - 1500])
    expect(attempt(call, [{ usage }, { usage: undefined }, { usage: undefined }])).toBe(false)
    end(call, 900n)
    expect(left()).toBe(1100)
  })

  test('are made where nothing was reserved, nothing is owed, or the attempt is one of a series', () => {
    const { call: make, left, attempt } = rig(600)
    const usage = { inputTokens: 10, outputTokens: 20 }
    expect(attempt(make({ fixedCost: 0 }).call, [{ usage }])).toBe(true)
    const { call } = make({ maxOutputTokens: 50 })
    expect(attempt(call, [])).toBe(true)
    expect(attempt(call, [{ usage }])).toBe(false)
    Object.assign(call, { attempt: { isSeries: true } })
    expect([attempt(call, [{ usage }]), left()]).toEqual([true, 0])
  })

  test('that end without a charge to be kept give back what they reserved beside the first', () => {
    const { call: make, left, attempt } = rig(2000)
    const { call } = make({ maxOutputTokens: 50 })
    expect(attempt(call, [{ usage: { inputTokens: 10, outputTokens: 20 } }])).toBe(true)
    expect(left()).toBe(1100)
    call.taken.reservation!.keep()
    expect(left()).toBe(1400)
  })

  test('to another model reserve once for all models: a budget of one model has reserved for itself', () => {
    const { call: make, left, attempt } = rig(2000)
    const { call } = make({ maxOutputTokens: 50 })
    const { scopes } = call.taken.reserved!.budgets
    const usage = { inputTokens: 10, outputTokens: 20 }
    const ofModel = { model: '', scopes, nanoUsd: 600, taken: [] }
    Object.assign(call, { progress: { model: 'other' } })
    call.taken.byModel = [ofModel]
    expect([attempt(call, [{ usage, model: '' }]), left()]).toEqual([true, 1400])
    call.taken.byModel = [{ ...ofModel, scopes: [] }]
    expect([
      attempt(call, [
        { usage, model: '' },
        { usage, model: '' },
      ]),
      left(),
    ]).toEqual([true, 1100])
  })
})
