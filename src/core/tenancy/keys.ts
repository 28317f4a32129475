/** Virtual keys: stored, listed and changed; and how callers are found by them. Implemented by `store/keys`. */
import type { Caller, VirtualKey } from '../caller.ts'
import type { keyRecordFields, stampFields } from './field-tables.ts'
import type { Values } from './fields.ts'

/** A key as administrators see it. Timestamps are milliseconds since 1970. */
export type KeyRecord = VirtualKey & Values<typeof keyRecordFields>

/** What a key is good for: `active` = calls are made with it. */
export const keyStates = ['active', 'ending', 'expired', 'blocked'] as const
/** One of them. */
export type KeyState = (typeof keyStates)[number]

/** Which keys a list shows, and its page: newest first, from `offset`, or after the last key of the page before. */
export interface KeyQuery {
  readonly userId?: string | undefined
  readonly teamId?: string | undefined
  readonly organizationId?: string | undefined
  readonly alias?: string | undefined
  /** The whole id, or a part of the alias, of the hint or of the alias of the team, in any case. */
  readonly search?: string | undefined
  readonly hash?: string | undefined
  /** Only keys in this state at the moment. `ending` = they end within 14 days. */
  readonly state?: { readonly is: KeyState; readonly nowMs: number } | undefined
  /** Absent = by their beginning. Keys without an end are behind all others. Not beside `after`. */
  readonly sortBy?: 'name' | 'end' | undefined
  /** Absent = the newest first; of names the last of the alphabet. */
  readonly ascending?: boolean | undefined
  /** Only this key. */
  readonly id?: string | undefined
  /** true = only keys of directories (SCIM). */
  readonly ofDirectory?: boolean | undefined
  /** Deleted keys instead of those that exist. */
  readonly deleted?: boolean | undefined
  /** Only keys of this user, of these teams or of these organizations: what a caller may see. */
  readonly visible?:
    | {
        readonly userId: string | null
        readonly teamIds: readonly string[]
        readonly organizationIds: readonly string[]
      }
    | undefined
  readonly limit: number
  readonly offset: number
  readonly after?: { readonly createdAtMs: number; readonly id: string } | undefined
}

/** The fields of a key that can change; absent = unchanged. A new `hash` and `hint` give it another text. */
export type KeyChanges = Partial<Omit<KeyRecord, 'id' | keyof typeof stampFields>>

/** Reads keys; `TenancyStore` changes them. All methods throw `overloaded` when the database is unreachable. */
export interface KeyStore {
  /** By hash, id or alias. */
  find(by: { hash: string } | { id: string } | { alias: string }): Promise<KeyRecord | undefined>
  /** Those of these ids that there are, in any order, by one question. */
  findAll(ids: readonly string[]): Promise<KeyRecord[]>
  list(query: KeyQuery): Promise<{ keys: KeyRecord[]; total: number }>
}

/**
 * Finds callers. Synchronous when cached; what is asked of the database may reject with `overloaded`. Every change of
 * what a caller is made of is seen within a second, also by other replicas.
 */
export interface KeyDirectory {
  /** By the text of a key. */
  lookup(keyText: string): Caller | undefined | Promise<Caller | undefined>
  /** A user without a key, in a team where one is named; undefined = there is no such user. */
  lookupUser(userId: string, teamId?: string): Caller | undefined | Promise<Caller | undefined>
  /** A service account without a key; undefined = there is no such team. */
  lookupServiceAccount(name: string, teamId: string): Caller | undefined | Promise<Caller | undefined>
  /** By the secret of a session's cookie, with `session` set. */
  lookupSession(secret: string): Caller | undefined | Promise<Caller | undefined>
}
