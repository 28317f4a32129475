/** Finds the callers of derived keys beside those of stored ones. */
import { timingSafeEqual } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { entryLimit } from '../../lib/entry-limit.ts'
import { derivedCaller, derivedPrefix, readDerivedKey } from '../../access/derived-key.ts'
import type { DerivedClaims } from '../../access/derived-key.ts'
import type { Caller } from '../../core/caller.ts'
import type { KeyDirectory } from '../../core/tenancy/keys.ts'
import type { Signer } from '../../lib/signer.ts'

const claimsMax = 20_000

interface Directory extends KeyDirectory {
  /** As `lookup`, by the hash of a key. */
  lookupHash(hash: string): Caller | undefined | Promise<Caller | undefined>
}

/**
 * A derived key is found as long as the key it comes from is: blocked, expired, deleted or replaced, that key takes all
 * of its derived keys along. Its signature is checked once, not for each call.
 */
export function withDerivedKeys(stored: Directory, sign: Signer): KeyDirectory {
  const claimsOf = new LRUCache<string, DerivedClaims>(entryLimit(claimsMax))
  /** Dropped with the parent's caller, which is replaced when the key or what it belongs to changes. */
  const callers = new WeakMap<Caller, WeakMap<DerivedClaims, Caller>>()
  const callerOf = (parent: Caller | undefined, claims: DerivedClaims): Caller | undefined => {
    if (!parent) return undefined
    let known = callers.get(parent)
    if (!known) callers.set(parent, (known = new WeakMap()))
    let caller = known.get(claims)
    if (!caller) known.set(claims, (caller = derivedCaller(parent, claims)))
    return caller
  }
  return {
    lookupUser: (userId, teamId) => stored.lookupUser(userId, teamId),
    lookupServiceAccount: (name, teamId) => stored.lookupServiceAccount(name, teamId),
    lookupSession: secret => stored.lookupSession(secret),
    lookup(keyText) {
      if (!keyText.startsWith(derivedPrefix)) return stored.lookup(keyText)
      let claims = claimsOf.get(keyText)
      if (!claims) {
        claims = readDerivedKey(keyText, sign, timingSafeEqual)
        if (!claims) return undefined
        claimsOf.set(keyText, claims)
      }
      const read = claims
      const parent = stored.lookupHash(read.key)
      return parent instanceof Promise ? parent.then(found => callerOf(found, read)) : callerOf(parent, read)
    },
  }
}
