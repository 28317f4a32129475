import { expect, test } from 'bun:test'
import { BodyRate } from './body-rate.ts'

test('nothing at all: five seconds from when it is wanted', () => {
  const rate = new BodyRate()
  rate.waitStarted(1000)
  expect(rate.deadlineMs).toBe(6000)
  expect(rate.problem).toBe(
    'the body came too slowly: less than 240 bytes a second on average, beyond 5 s of grace; ' +
      'send the request again, its body at once',
  )
})

test('240 bytes buy a second, whenever they came', () => {
  const rate = new BodyRate()
  rate.received(240)
  rate.waitStarted(0)
  expect(rate.deadlineMs).toBe(6000)
  rate.received(480)
  rate.waited(3000)
  expect(rate.deadlineMs).toBe(8000)
})

test('time in which it is not waited for is not counted', () => {
  const rate = new BodyRate()
  rate.waitStarted(0)
  rate.received(240)
  rate.waited(2000)
  // The gateway works on the piece for an hour.
  rate.waitStarted(3_600_000)
  expect(rate.deadlineMs).toBe(3_604_000)
})

test('what came in advance allows a pause, but none of more than a minute', () => {
  const rate = new BodyRate()
  rate.received(1_000_000)
  rate.waitStarted(0)
  expect(rate.deadlineMs).toBe(60_000)
  expect(rate.problem).toBe('nothing of the body came for 60 s; send the request again, its body without a pause')
})

test('the next body begins anew, in debt or in credit', () => {
  const rate = new BodyRate()
  for (const bytes of [0, 1_000_000]) {
    rate.received(bytes)
    rate.waitStarted(0)
    rate.waited(20_000)
    rate.reset()
    rate.waitStarted(20_000)
    expect(rate.deadlineMs).toBe(25_000)
  }
})
