/** What was paid for is not lost because its database is away at that moment. */
import type { Clock } from '../../lib/clock.ts'
import { GatewayError } from '../errors.ts'

/** How long a complete answer waits for a database that is away. */
const storeMsMax = 600_000
const pauseMinMs = 250
const pauseMaxMs = 1000

/** Attempts until one succeeds, for ten minutes, then rejects as the last one did. What is refused rejects at once. */
export async function untilStored<T>(clock: Pick<Clock, 'monotonicMs'>, store: () => Promise<T>): Promise<T> {
  const untilMs = clock.monotonicMs() + storeMsMax
  for (let pauseMs = pauseMinMs; ; pauseMs = Math.min(2 * pauseMs, pauseMaxMs))
    try {
      return await store()
    } catch (error) {
      const isRefused = error instanceof GatewayError && error.kind !== 'overloaded'
      if (isRefused || clock.monotonicMs() >= untilMs) throw error
      await Bun.sleep(pauseMs)
    }
}
