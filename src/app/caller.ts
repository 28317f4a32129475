/** Who calls: the holder of a virtual key, or of the master key. */
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

/** Key text to caller; synchronous for every key that is known here, and for the master key: it needs no database. */
export function identifier(store: Store): (keyText: string) => Caller | undefined | Promise<Caller | undefined> {
  const admin: Caller = { role: 'admin', key: masterKeyRecord }
  /** One caller object a key: nothing is made on the path of a call. */
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
    // It is no virtual key, so whatever the database says, or does not say, is not waited for.
    known?.catch(() => {})
    return admin
  }
}
