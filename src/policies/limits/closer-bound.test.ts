/** When a call's input is counted before it is reserved. */
import { expect, test } from 'bun:test'
import type { Call } from '../../core/call.ts'
import { measureWhereTight } from './closer-bound.ts'

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
  ['finds nothing left', 0, { inputCost: 8000 }, false],
  ['was measured', 4000, { inputCost: 8000, isMeasured: true }, false],
  ['counts tokens', 4000, { inputCost: 8000, operation: 'count-tokens' }, false],
  ['is no chat', 4000, { inputCost: 8000, operation: 'embeddings' }, true],
])('a call that %s', (_, left, made, expected) => {
  expect(isMeasured(left, made)).toBe(expected)
})
