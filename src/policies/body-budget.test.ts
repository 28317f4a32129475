import { expect, test } from 'bun:test'
import type { Call, Settlement } from '../core/call.ts'
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

test('a body without a length is refused once it is read and too large for what is left, and then takes nothing', () => {
  const { onHead, onBody } = bodyBudget()
  const settled = (call: Call) => onHead.settled!({ call } as Settlement)
  const other = callOf(30)
  const call = { ...callOf(undefined), body: { size: 71 } } as unknown as Call
  onHead.admit!(other)
  onHead.admit!(call)
  expect(() => onBody.admit!(call)).toThrow('take all of the 100 bytes')
  settled(other)
  // Alone it passes, and all of it counts.
  onBody.admit!(call)
  expect(() => onHead.admit!(callOf(30))).toThrow('take all of the 100 bytes')
  settled(call)
  onHead.admit!(callOf(30))
})
