/** How many clients may be connected at once, so that descriptors are left for upstreams, database and journal. */

/** For database, journal, log, watched files and clients that are turned away. Without clients about 20 are open. */
const descriptorsReserved = 64
/** A client needs one, its upstream another; the last fifth is for idle upstream connections and files being sent. */
const clientShare = 2 / 5
/** The default of Linux; assumed where the limit is not known. */
const descriptorsAssumed = 1024
/** More than one process serves well; limits memory where descriptors are not limited. */
const connectionsMaxDefault = 20_000
const connectionsMin = 8

/** The environment variable that sets the limit. */
export const connectionsVariable = 'MODELGATE_MAX_CONNECTIONS'

/**
 * Connections of clients that may be open at once. `setting` is the text of `connectionsVariable`, undefined or empty
 * when it is not set. Throws with a reason for the operator when it is no number, or more than `descriptors` allow.
 */
export function connectionLimit(setting: string | undefined, descriptors: number | undefined): number {
  if (setting) return checkedSetting(setting, descriptors)
  const derived = Math.floor(((descriptors ?? descriptorsAssumed) - descriptorsReserved) * clientShare)
  return Math.max(connectionsMin, Math.min(derived, connectionsMaxDefault))
}

function checkedSetting(setting: string, descriptors: number | undefined): number {
  const max = /^\d{1,7}$/.test(setting) ? Number(setting) : 0
  if (max === 0)
    throw new Error(`${connectionsVariable} must be a whole number of connections from 1 to 9999999; got '${setting}'`)
  const needed = descriptorsReserved + 2 * max
  if (descriptors !== undefined && needed > descriptors)
    throw new Error(
      `${connectionsVariable} is ${max}, which needs ${needed} open files (each client has an upstream), ` +
        `and this process may open ${descriptors}; ` +
        'raise that limit (ulimit -n, LimitNOFILE= of systemd, --ulimit nofile= of Docker) or lower the variable',
    )
  return max
}
