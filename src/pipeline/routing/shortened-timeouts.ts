/** The timeouts of an attempt whose client has set a timeout of its own. */
import type { Timeouts } from '../../core/deployment.ts'

/** 0 = no limit. The total time of a stream is limited by the operator alone. */
export function shortened(timeouts: Timeouts, isStream: boolean, mostMs: number): Timeouts {
  const least = (ms: number): number => (ms === 0 ? mostMs : Math.min(ms, mostMs))
  const { firstByteMs, firstEventMs, totalMs } = timeouts
  return {
    ...timeouts,
    firstByteMs: least(firstByteMs),
    firstEventMs: least(firstEventMs),
    totalMs: isStream ? totalMs : least(totalMs),
  }
}
