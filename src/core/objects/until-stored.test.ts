import { expect, test } from 'bun:test'
import { GatewayError } from '../errors.ts'
import { untilStored } from './until-stored.ts'

const clock = { monotonicMs: () => 0 }

/** Fails with each of these, then succeeds; `attempts` = how often it was tried. */
function storeWith(...failures: Error[]) {
  const made = {
    attempts: 0,
    store: () => {
      const failure = failures[made.attempts++]
      return failure ? Promise.reject(failure) : Promise.resolve('stored')
    },
  }
  return made
}

test('a database that is away is asked again', async () => {
  const shaky = storeWith(new GatewayError('overloaded', 'away'), new Error('the connection was closed'))
  expect(await untilStored(clock, shaky.store)).toBe('stored')
  expect(shaky.attempts).toBe(3)
})

test('what the store refuses is not asked again', async () => {
  const full = storeWith(new GatewayError('invalid-request', 'a thread takes at most so many messages'))
  await expect(untilStored(clock, full.store)).rejects.toThrow('at most so many messages')
  expect(full.attempts).toBe(1)
})

test('after ten minutes the last failure is thrown', async () => {
  let nowMs = 0
  const away = storeWith(new Error('first'), new Error('last'))
  await expect(untilStored({ monotonicMs: () => (nowMs += 400_000) }, away.store)).rejects.toThrow('last')
  expect(away.attempts).toBe(2)
})
