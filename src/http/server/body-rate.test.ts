import { expect, test } from 'bun:test'
import { BodyPace } from './body-rate.ts'

test('nothing at all: five seconds from when it is wanted', () => {
  const pace = new BodyPace()
  pace.wanted(1000)
  expect(pace.dueMs).toBe(6000)
  expect(pace.problem).toBe(
    'the body came too slowly: less than 240 bytes a second on average, beyond 5 s of grace; send the request again, its body at once',
  )
})

test('240 bytes buy a second, whenever they came', () => {
  const pace = new BodyPace()
  pace.came(240)
  pace.wanted(0)
  expect(pace.dueMs).toBe(6000)
  pace.came(480)
  pace.waited(3000)
  expect(pace.dueMs).toBe(8000)
})

test('time in which nobody waits is not counted', () => {
  const pace = new BodyPace()
  pace.wanted(0)
  pace.came(240)
  pace.waited(2000)
  // Somebody works on the piece for an hour.
  pace.wanted(3_600_000)
  expect(pace.dueMs).toBe(3_604_000)
})

test('what came in advance allows a pause, but none of more than a minute', () => {
  const pace = new BodyPace()
  pace.came(1_000_000)
  pace.wanted(0)
  expect(pace.dueMs).toBe(60_000)
  expect(pace.problem).toBe('nothing of the body came for 60 s; send the request again, its body without a pause')
})

test('the next body begins anew, in debt or in credit', () => {
  const pace = new BodyPace()
  for (const bytes of [0, 1_000_000]) {
    pace.came(bytes)
    pace.wanted(0)
    pace.waited(20_000)
    pace.begin()
    pace.wanted(20_000)
    expect(pace.dueMs).toBe(25_000)
  }
})
