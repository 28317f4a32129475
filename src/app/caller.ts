/** Identifies the caller: the holder of a virtual key, or of the master key. */
import { keyProblem } from '../accounts/key.ts'
import type { Caller, VirtualKey } from '../core/caller.ts'
import { systemClock as clock } from '../lib/clock.ts'
import type { Store } from './store.ts'

const masterKeyRecord: VirtualKey = {
  id: 'master',
  alias: 'master key',
  userId: null,
  teamId: null,
  models: [],
  expiresAtMs: null,
  blocked: false,
  requestsPerMinute: null,
  tokensPerMinute: null,
  parallelRequests: null,
  metadata: {},
}

/** Maps key text to a caller; synchronous for cached keys and for the master key, which needs no database. */
export function callerFinder(store: Store): (keyText: string) => Caller | undefined | Promise<Caller | undefined> {
  const admin: Caller = { role: 'admin', key: masterKeyRecord }
  /** One caller object for each key, so that calls allocate nothing. */
  const callers = new WeakMap<VirtualKey, Caller>()
  const callerOf = (key: VirtualKey | undefined): Caller | undefined => {
    if (!key || keyProblem(key, clock.epochMs())) return undefined
    let caller = callers.get(key)
    if (!caller) callers.set(key, (caller = { role: 'key', key }))
    return caller
  }
  return keyText => {
    const known = store.directory.lookup(keyText)
    if (known !== undefined && !(known instanceof Promise)) return callerOf(known)
    if (!store.installation.isMasterKey(keyText)) return known?.then(callerOf)
    // The text is the master key, so the database's answer is not awaited and its error is ignored.
    known?.catch(() => {})
    return admin
  }
}
