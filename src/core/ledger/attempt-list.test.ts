import { expect, test } from 'bun:test'
import type { FailedAttempt, Settlement } from '../call.ts'
import { GatewayError } from '../errors.ts'
import { attemptListOf, attemptsOf, errorMessageOf } from './attempt-list.ts'

const words = 'the prompt "how do I resign?" is not allowed'

interface Circumstances {
  readonly name?: string
  readonly message?: string
  readonly isPrivate?: boolean
  readonly isOn?: boolean | null
  readonly noLog?: boolean
  readonly storesBodies?: boolean | null
}

/** A call that has failed after so many attempts. */
function failed(count: number, circumstances: Circumstances = {}): Settlement {
  const { name = 'm', message = words, isPrivate = false, isOn = null, noLog, storesBodies = null } = circumstances
  const error = new GatewayError('upstream-failed', message)
  const deployment = { id: 'd', modelName: name, target: { model: name, provider: { name: 'openai' } } }
  const failedAttempts = Array.from({ length: count }, (_, at) => ({
    number: at + 1,
    deployment,
    status: 500,
    error,
    sentMs: 100 + at,
    endedMs: 101 + at,
  })) as unknown as FailedAttempt[]
  const call = {
    failedAttempts: count > 0 ? failedAttempts : undefined,
    options: { isPrivate },
    models: { settings: { bodies: { isOn, clientsMayRefuse: true } } },
    overrides: noLog ? { noLog } : {},
    caller: { key: { storesBodies: null }, team: storesBodies === null ? undefined : { storesBodies } },
    startedMs: 100,
    attempt: { deployment, status: 0 },
    progress: { attempts: count, sentMs: count > 0 ? 100 : 0 },
  }
  return { call, error, durationMs: count + 1 } as unknown as Settlement
}

test('a list is no longer than its column: messages are cut first, then attempts of the middle are left out', () => {
  const few = attemptsOf(attemptListOf(failed(3, { message: 'x'.repeat(2000) }))!)!
  expect(few.map(one => one.error_message?.length)).toEqual([300, 300, 300])
  const many = attemptListOf(failed(15, { message: 'x'.repeat(2000) }))!
  expect(many.length).toBeLessThanOrEqual(4096)
  expect(attemptsOf(many)).toHaveLength(15)
  const long = attemptListOf(failed(15, { name: 'n'.repeat(200) }))!
  expect(long.length).toBeLessThanOrEqual(4096)
  const kept = attemptsOf(long)!
  expect([kept[0]!.started_ms, kept.at(-1)!.started_ms]).toEqual([0, 14])
})

test.each([{ isPrivate: true }, { isOn: false }, { noLog: true }, { storesBodies: false }])(
  'words of an upstream may repeat what was said: with %p they are not kept, and those of the gateway are',
  no => {
    const end = failed(1, no)
    expect(errorMessageOf(end)).toBeUndefined()
    expect(attemptsOf(attemptListOf(end)!)).toMatchObject([{ error_kind: 'upstream-failed', error_message: null }])
    expect(errorMessageOf(failed(0, no))).toBe(words)
    expect(errorMessageOf(failed(1))).toBe(words)
  },
)

test('a list that was changed by hand is none', () => {
  expect(attemptsOf('[{')).toBeNull()
  expect(attemptsOf('{}')).toBeNull()
})
