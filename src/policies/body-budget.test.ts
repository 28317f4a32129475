import { expect, test } from 'bun:test'
import type { Call } from '../core/call.ts'
import { bodyBudget } from './body-budget.ts'

const callOf = (announcedBytes: number | undefined): Call =>
  ({
    announcedBytes,
    reservedBytes: 0,
    models: { settings: { bodyMemoryBytesMax: 100, bodyBytesMax: 40 } },
  }) as unknown as Call

test('a call takes no more than the largest body that is read, though its head announces more', () => {
  const { onHead } = bodyBudget()
  onHead.admit!(callOf(1e12))
  onHead.admit!(callOf(undefined))
  onHead.admit!(callOf(20))
  expect(() => onHead.admit!(callOf(1))).toThrow('take all of the 100 bytes')
})
