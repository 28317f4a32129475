/** When a call's input is counted before it is reserved. */
import { expect, test } from 'bun:test'
import type { Call } from '../../core/call.ts'
import { JsonBody } from '../../lib/json/json-body.ts'
import type { Limiter, LimitScope } from '../../core/tenancy/limits.ts'
import { fitsWell, leastOf, leftIn, measureWhereTight, nanoUsdOf, requestedMaximum } from './closer-bound.ts'

interface Made {
  readonly inputCost: number
  /** Absent = the client asks for none, and the model's is a thousand. */
  readonly maxOutputTokens?: number
  readonly operation?: string
  readonly isMeasured?: boolean
}

/** An output token costs 1; `left` of a budget is measured for, or not. */
function isMeasured(
  left: number,
  { inputCost, maxOutputTokens, operation = 'chat', isMeasured = false }: Made,
): boolean {
  let measures = 0
  const call = {
    operation,
    format: operation === 'chat' ? { withMaximum: () => {} } : {},
    measuredInput: isMeasured ? {} : undefined,
    models: { settings: { budgets: { fit: 'refuse' } } },
    input: () => ({ kind: operation, request: { maxOutputTokens } }),
    bounds: (tokens = operation === 'chat' ? (maxOutputTokens ?? 1000) : 0) => ({
      costNanoUsdMax: BigInt(inputCost + tokens),
    }),
    measureInput: () => Promise.resolve(void measures++),
  } as unknown as Call
  expect(measureWhereTight(call, left) !== undefined).toBe(measures === 1)
  return measures === 1
}

test.each<[string, number, Made, boolean]>([
  ['fits well', 40_000, { inputCost: 8000 }, false],
  ['needs much of what is left', 20_000, { inputCost: 8000 }, true],
  ['does not fit', 4000, { inputCost: 8000, maxOutputTokens: 100 }, true],
  ['is free', 10, { inputCost: 0, maxOutputTokens: 0 }, false],
  ['has hardly any input, and the maximum is lowered', 1000, { inputCost: 10 }, false],
  ['is refused for its output, whatever the input', 900, { inputCost: 10, maxOutputTokens: 5000 }, false],
  ['is refused for a part of its input', 1000, { inputCost: 30, maxOutputTokens: 990 }, true],
  ['is refused for a part of its input, to the nano-dollar', 1000, { inputCost: 10, maxOutputTokens: 1016 }, true],
  ['is refused for one token of its output', 1000, { inputCost: 10, maxOutputTokens: 1017 }, false],
  ['finds a nano-dollar left', 1, { inputCost: 8000 }, true],
  ['finds nothing left', 0, { inputCost: 8000 }, false],
  ['was measured', 4000, { inputCost: 8000, isMeasured: true }, false],
  ['counts tokens', 4000, { inputCost: 8000, operation: 'count-tokens' }, false],
  ['is no chat', 4000, { inputCost: 8000, operation: 'embeddings' }, true],
])('a call that %s', (_, left, made, expected) => {
  expect(isMeasured(left, made)).toBe(expected)
})

test('the least that is left of all budgets counts, and without one there is no end', () => {
  const limiter = { budgetLeft: (scope: LimitScope) => Number(scope.id) } as Limiter
  const scopesOf = (...ids: string[]) => ids.map(id => ({ id }) as LimitScope)
  expect([leftIn(limiter, scopesOf('7', '3', '5')), leftIn(limiter, [])]).toEqual([3, Infinity])
})

test('a call fits well up to a quarter of what is left', () => {
  expect([fitsWell(25, 100), fitsWell(26, 100), fitsWell(0, 0), fitsWell(null, 100)]).toEqual([
    true,
    false,
    true,
    false,
  ])
})

test('costs beyond nine million dollars count as these', () => {
  expect([nanoUsdOf(null), nanoUsdOf(5n), nanoUsdOf(9_000_000_000_000_000n)]).toEqual([null, 5, 9e15])
  expect(nanoUsdOf(9_000_000_000_000_001n)).toBe(9e15)
})

test('the least output is sixteen tokens, or fewer that are asked for', () => {
  const call = { bounds: (tokens: number) => ({ costNanoUsdMax: BigInt(tokens) }) } as unknown as Call
  expect([leastOf(call, undefined), leastOf(call, 5), leastOf(call, 17)]).toEqual([16, 5, 16])
})

test('the maximum that is asked for is read of chats alone, and of the body where only the upstream reads it', () => {
  const format = { withMaximum: () => {} }
  const callOf = (more: object) => ({ format, ...more }) as unknown as Call
  const chat = () => ({ kind: 'chat', request: { maxOutputTokens: 9 } })
  expect(requestedMaximum(callOf({ input: chat }))).toEqual({ tokens: 9 })
  expect(requestedMaximum(callOf({ input: chat, format: {} }))).toBeUndefined()
  expect(requestedMaximum(callOf({ input: chat, format: undefined }))).toBeUndefined()
  expect(requestedMaximum(callOf({ input: () => ({ kind: 'embeddings' }) }))).toBeUndefined()
  const unread = {
    body: JsonBody.read(Buffer.from('{"max_tokens": 7}')),
    input() {
      throw new Error('not in these words')
    },
  }
  expect(requestedMaximum(callOf(unread))).toMatchObject({ tokens: 7 })
})
