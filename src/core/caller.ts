/** Who calls the gateway. */
import type { Session } from './sign-in/session.ts'
import { keyFields } from './tenancy/field-tables.ts'
import { blankRecord } from './tenancy/fields.ts'
import type { UserRole, Values } from './tenancy/fields.ts'
import type { ToolPermission } from './tenancy/tool-permission.ts'
import type { Membership, Organization, SpendingFields, Tag, Team, User } from './tenancy/tenancy.ts'

/** A virtual key as calls need it. Immutable; a change makes a new object. */
export type VirtualKey = Values<typeof keyFields> & {
  /**
   * The key's own end, where it was found by the text before: `expiresAtMs` is the earlier end of that then. Absent =
   * it was found by its present text.
   */
  readonly ownEndMs?: number | null
}

/** The id of the key record that stands for the master key. */
export const masterKeyId = 'master'

/** Ids of stored keys are UUIDs. */
const userKeyPrefix = 'user:'
const serviceAccountKeyPrefix = 'service-account:'

/** The id of the key record that stands for a user without a key: in a session, or with a token. */
export const userKeyId = (userId: string): string => userKeyPrefix + userId

/** The id of the key record that stands for a service account without a key, whose calls come with tokens. */
export const serviceAccountKeyId = (name: string): string => serviceAccountKeyPrefix + name

/** The key record of this id is made for a session or a token, and is not stored. */
export const isStandInKeyId = (keyId: string): boolean =>
  keyId.startsWith(userKeyPrefix) || keyId.startsWith(serviceAccountKeyPrefix)

/** The user for whom a key record of this id stands; undefined = it is a key. */
export function userOfKeyId(keyId: string): string | undefined {
  return keyId.startsWith(userKeyPrefix) ? keyId.slice(userKeyPrefix.length) : undefined
}

const { id: _, ...blankKey } = blankRecord(keyFields)
/** A key that belongs to no stored object and may do everything: the default of each field. */
export const bareKey: Omit<VirtualKey, 'id'> = blankKey

/**
 * `key`: a key without a stored user, which may call models and read about itself. `directory`: a key of a directory,
 * which may change users and teams by SCIM and do nothing else.
 */
export type Role = UserRole | 'key' | 'directory'

/**
 * Who calls, compiled once for each key and thrown away when the key or any object that it belongs to changes. Limits
 * and budgets of the objects are effective ones: what a named budget sets is filled in. Absent = the key names no such
 * object, or none of that id is stored.
 */
export interface Caller {
  /** Of the key's user; the master key is `proxy_admin`. */
  readonly role: Role
  readonly key: VirtualKey
  readonly user?: User | undefined
  readonly team?: Team | undefined
  /** The key's user in the key's team. */
  readonly member?: Membership | undefined
  /** The key's, or its team's. */
  readonly organization?: Organization | undefined
  /** The teams and organizations of the key's user. */
  readonly memberships?: readonly Membership[] | undefined
  /** The stored ones of the key's and the team's tags. */
  readonly tags?: readonly Tag[] | undefined
  /** It calls with a key that was derived from `key`: each derivation narrows what it may do. Absent = it was not. */
  readonly derived?: readonly DerivedKey[] | undefined
  /** What of its key keeps it from managing: its rights are those of its user and its key. Absent = nothing. */
  readonly restriction?: string | undefined
  /** It has shown the cookie of this session, and no key. Absent = it has not. */
  readonly session?: Session | undefined
}

/** One derivation of a key, with limits and a budget of its own. */
export interface DerivedKey extends SpendingFields {
  readonly id: string
  /** Milliseconds since 1970. */
  readonly endMs: number
  /** As those of a key. */
  readonly models: readonly string[]
  /** Absent = as the key it comes from. */
  readonly objectPermission?: ToolPermission | null | undefined
}

/** The operator, who has the master key and is bound by no list of models and no limit. */
export function isMaster({ key }: Caller): boolean {
  return key.id === masterKeyId
}

/** The master key, and users with the role `proxy_admin`: they may read everything, and change what their key lets. */
export function isAdministrator({ role }: Caller): boolean {
  return role === 'proxy_admin'
}

/** May change everything: an administrator whose key does not keep it from managing. */
export function managesAll(caller: Caller): boolean {
  return isAdministrator(caller) && caller.restriction === undefined
}

/**
 * The storing id whose objects (files, batches, assistants, ...) the caller sees; null = those of every key.
 */
export function ownerOf(caller: Caller): string | null {
  return managesAll(caller) ? null : storingIdOf(caller)
}

/** The id under which the caller stores objects: that of its key, unless its text is another's than the user's. */
export function storingIdOf({ key }: Pick<Caller, 'key'>): string {
  return key.objectsOwner ?? key.id
}

/** Ends the id of a key in a storing id of its own; ids of keys are UUIDs or hashes. */
const storingMark = '/'

/** Another storing id for the key, which no text has had. */
export const newStoringId = (keyId: string): string => keyId + storingMark + crypto.randomUUID()

/** The id of the key that has, or had, this storing id. */
export function keyOfStoringId(id: string): string {
  return isStandInKeyId(id) ? id : id.split(storingMark, 1)[0]!
}

/** The caller with the master key. */
export const masterCaller: Caller = {
  role: 'proxy_admin',
  key: { ...bareKey, id: masterKeyId, alias: 'master key' },
}
