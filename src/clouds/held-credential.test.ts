/** When a credential is fetched, renewed and waited for. */
import { expect, test } from 'bun:test'
import type { CloudCredential } from '../core/cloud-identity.ts'
import { hourMs, minuteMs } from '../lib/clock.ts'
import { HeldCredential } from './held-credential.ts'
import type { FetchedCredential } from './held-credential.ts'

const answered = (token: string, expiresMs: number): FetchedCredential => ({
  credential: { kind: 'token', token },
  expiresMs,
})

/** Fetches are answered by hand. */
function rig() {
  const now = { epochMs: 100 * hourMs, monotonicMs: 0 }
  const fetches: PromiseWithResolvers<FetchedCredential>[] = []
  const failures: unknown[] = []
  const held = new HeldCredential({
    clock: { epochMs: () => now.epochMs, monotonicMs: () => now.monotonicMs },
    obtain() {
      const next = Promise.withResolvers<FetchedCredential>()
      fetches.push(next)
      return next.promise
    },
    renewalFailed: error => failures.push(error),
  })
  const pass = (ms: number) => {
    now.epochMs += ms
    now.monotonicMs += ms
  }
  const answer = async (lifetimeMs = hourMs) => {
    fetches.at(-1)!.resolve(answered(`t${fetches.length}`, now.epochMs + lifetimeMs))
    await Bun.sleep(0)
  }
  const tokenOf = (one: CloudCredential | Promise<CloudCredential>) => (one as { token?: string }).token
  return { now, held, fetches, failures, pass, answer, token: () => tokenOf(held.get()) }
}

test('it is fetched anew when its lifetime is over by either clock: one is set back, the other sleeps', async () => {
  const { now, held, answer, token, fetches } = rig()
  const [one, other] = [held.get(), held.get()]
  await answer()
  expect([await one, await other]).toEqual([
    { kind: 'token', token: 't1' },
    { kind: 'token', token: 't1' },
  ])
  // The clock was a day ahead, and is set right; an hour later the credential has expired.
  now.epochMs -= 24 * hourMs
  now.monotonicMs += 30 * minuteMs
  expect(token()).toBe('t1')
  now.monotonicMs += 30 * minuteMs
  void held.get()
  await answer()
  expect(token()).toBe('t2')
  // The machine has slept.
  now.epochMs += hourMs
  void held.get()
  await answer()
  expect([token(), fetches.length]).toEqual(['t3', 3])
})

test('it is renewed beside the calls, which never wait for it', async () => {
  const { held, answer, token, fetches, pass } = rig()
  void held.get()
  await answer()
  pass(54 * minuteMs)
  expect([token(), fetches.length]).toEqual(['t1', 1])
  pass(2 * minuteMs)
  expect([token(), token(), fetches.length]).toEqual(['t1', 't1', 2])
  await answer()
  expect([token(), fetches.length]).toEqual(['t2', 2])
})

test('a short one is renewed in the last quarter of its life, and never used in its last minute', async () => {
  const { held, answer, token, fetches, pass } = rig()
  void held.get()
  await answer(8 * minuteMs)
  pass(6.5 * minuteMs)
  expect([token(), fetches.length]).toEqual(['t1', 2])
  pass(minuteMs)
  expect(held.get()).toBeInstanceOf(Promise)
  await answer()
  expect(token()).toBe('t2')
})

test('a renewal that fails is told and tried again every half minute; the one before serves until its end', async () => {
  const { held, answer, token, fetches, failures, pass } = rig()
  void held.get()
  await answer()
  pass(56 * minuteMs)
  for (const tries of [2, 3]) {
    expect(token()).toBe('t1')
    fetches.at(-1)!.reject(new Error('away'))
    await Bun.sleep(0)
    expect([token(), fetches.length, failures.length]).toEqual(['t1', tries, tries - 1])
    pass(minuteMs / 2)
  }
  pass(3 * minuteMs)
  const waits = Promise.resolve(held.get())
  fetches.at(-1)!.reject(new Error('still away'))
  expect(await waits.catch((error: Error) => error.message)).toBe('still away')
  void held.get()
  await answer()
  expect(token()).toBe('t5')
})
