/** How many clients may be connected at once, so that descriptors are left for upstreams, database and journal. */
import { readFileSync } from 'node:fs'

/** Database, journal, log, watched files, clients that are turned away. About 20 are open in a gateway without clients. */
const descriptorsKept = 64
/** A client needs one, its upstream another; the fifth that is left goes to idle upstreams and to files on their way. */
const clientShare = 2 / 5
/** What Linux gives by default; assumed where the system does not say. */
const descriptorsAssumed = 1024
/** More than one process serves well: without a limit of descriptors, memory is one. */
const connectionsMaxDefault = 20_000
const connectionsMin = 8

/** The variable that sets the limit. */
export const connectionsVariable = 'MODELGATE_MAX_CONNECTIONS'

/** Descriptors that this process may have open at once (soft limit); undefined = the system does not say (no /proc). */
export function descriptorsMax(): number | undefined {
  let text: string
  try {
    text = readFileSync('/proc/self/limits', 'utf8')
  } catch {
    return undefined
  }
  return descriptorsIn(text)
}

/** The soft limit in the text of `/proc/PID/limits` (proc_pid_limits(5)). */
export function descriptorsIn(text: string): number | undefined {
  const soft = /^Max open files +(\d+|unlimited) /m.exec(text)?.[1]
  return soft === undefined ? undefined : soft === 'unlimited' ? Infinity : Number(soft)
}

/**
 * Connections of clients that may be open at once. `setting` is the text of `connectionsVariable`, undefined or empty
 * when it is not set. Throws with a reason for the operator when it is no number, or more than `descriptors` allow.
 */
export function connectionLimit(setting: string | undefined, descriptors: number | undefined): number {
  if (setting) return checkedSetting(setting, descriptors)
  const derived = Math.floor(((descriptors ?? descriptorsAssumed) - descriptorsKept) * clientShare)
  return Math.max(connectionsMin, Math.min(derived, connectionsMaxDefault))
}

function checkedSetting(setting: string, descriptors: number | undefined): number {
  const max = /^\d{1,7}$/.test(setting) ? Number(setting) : 0
  if (max === 0)
    throw new Error(`${connectionsVariable} must be a whole number of connections from 1 to 9999999; got '${setting}'`)
  const needed = descriptorsKept + 2 * max
  if (descriptors !== undefined && needed > descriptors)
    throw new Error(
      `${connectionsVariable} is ${max}, which needs ${needed} open files (each client has an upstream), and this process may open ${descriptors}; ` +
        'raise that limit (ulimit -n, LimitNOFILE= of systemd, --ulimit nofile= of Docker) or lower the variable',
    )
  return max
}
