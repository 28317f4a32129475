import { expect, test } from 'bun:test'
import { StepPace } from './step-pace.ts'

const pace = () => new StepPace({ targetMs: 10, itemsMin: 20, itemsMax: 500, restTimes: 9 })

test('steps grow until they take as long as they shall', () => {
  const steps = pace()
  // A tenth of a millisecond an item: a hundred take ten.
  for (let at = 0; at < 5; at++) steps.took(steps.items / 10)
  expect(steps.items).toBe(100)
})

test('a slow step makes the next one smaller at once, and is followed by a long rest', () => {
  const steps = pace()
  for (let at = 0; at < 10; at++) steps.took(0)
  expect(steps.items).toBe(500)
  expect(steps.took(100)).toBe(900)
  expect(steps.items).toBe(50)
  steps.took(10_000)
  expect(steps.items).toBe(20)
})
