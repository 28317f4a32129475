/** Interface of the store of tenancy, implemented by `store/tenancy`. */
import type { Caller, VirtualKey } from '../caller.ts'
import type { IdentityLink, IdentityRemoval, NamedIdentity } from '../sign-in/identity-providers.ts'
import type { KeyChanges, KeyRecord } from './keys.ts'
import type { ChangeActor } from './change-actor.ts'
import type { stampFields } from './field-tables.ts'
import type { AuditEntry, Membership, TenantKind, Tenants } from './tenancy.ts'

/** The fields of an object that can change; absent = unchanged. */
export type TenantChanges<Kind extends TenantKind> = Partial<Omit<NewTenant<Kind>, 'id'>>
/** A new object, without what the store sets. */
export type NewTenant<Kind extends TenantKind> = Omit<Tenants[Kind], keyof typeof stampFields>
/** A new key, without what the store sets. */
export type NewKey = Omit<KeyRecord, keyof typeof stampFields>
/**
 * What a condition is about. `name` = of a user the name at the directory, else the address, else the id; of a team the
 * alias, else the id. `memberId` = teams with this member, `teamId` = users in this team.
 */
export type SearchField =
  | 'id'
  | 'name'
  | 'alias'
  | 'email'
  | 'externalId'
  | 'blocked'
  | 'createdAtMs'
  | 'updatedAtMs'
  | 'memberId'
  | 'teamId'

/** How a field is compared, by the words of SCIM; `pr` = it has a value. Texts are compared in any case. */
export type SearchOperator = 'eq' | 'ne' | 'co' | 'sw' | 'ew' | 'gt' | 'ge' | 'lt' | 'le' | 'pr'

/** A condition on users or teams. Of `memberId` and `teamId` only `eq` is asked. */
export type TenantCondition =
  | { readonly all: readonly TenantCondition[] }
  | { readonly any: readonly TenantCondition[] }
  | { readonly not: TenantCondition }
  | {
      readonly field: SearchField
      readonly operator: SearchOperator
      /** null = no value. Of `pr` it is ignored. */
      readonly value: string | number | boolean | null
    }

/** Only the objects with these values; absent = any. Lists are of ids. */
export interface TenantFilter {
  readonly ids?: readonly string[] | undefined
  /** The objects of these ids, or in these organizations: what a caller may see. */
  readonly visible?: { readonly ids: readonly string[]; readonly organizationIds: readonly string[] } | undefined
  /** A part of it, in any case. */
  readonly alias?: string | undefined
  /** The whole id, or a part of the alias in any case. */
  readonly named?: string | undefined
  /** The whole id, or a part of the name or of the address in any case. Users only. */
  readonly person?: string | undefined
  /** A part of it, in any case. Users only. */
  readonly email?: string | undefined
  /** Users only. */
  readonly role?: string | undefined
  /** Users only. */
  readonly ssoUserIds?: readonly string[] | undefined
  /** Teams only. */
  readonly organizationId?: string | undefined
  /** The teams or organizations with this member. */
  readonly memberId?: string | undefined
  /** The users in this team. */
  readonly teamId?: string | undefined
  /** Users and teams only. */
  readonly condition?: TenantCondition | undefined
  /** true = without users and teams that their directory has deleted. */
  readonly unremoved?: boolean | undefined
}

/** Newest first unless `ascending`. `after` = the last object of the page before, else `offset` counts. */
export interface PageQuery {
  readonly limit: number
  readonly offset?: number | undefined
  readonly after?: { readonly createdAtMs: number; readonly id: string } | undefined
  readonly ascending?: boolean | undefined
}

/** One page, and how many there are on all. */
export interface Page<Item> {
  readonly items: readonly Item[]
  readonly total: number
}

/** Which changes a list of the audit log shows. */
export interface AuditQuery extends PageQuery {
  readonly id?: string | undefined
  readonly actorId?: string | undefined
  readonly action?: string | undefined
  readonly kind?: string | undefined
  readonly objectId?: string | undefined
  /** Milliseconds since 1970, inclusive. */
  readonly fromMs?: number | undefined
  /** Milliseconds since 1970, exclusive. */
  readonly toMs?: number | undefined
}

/** Whose calls are summed. */
export type SpendKind = 'key' | 'user' | 'team' | 'customer' | 'tag'

/** Memberships of a user, of up to 1000 users, of a group, or of up to 1000 groups. */
export type MembershipQuery =
  | { readonly userId: string }
  | { readonly userIds: readonly string[] }
  | Pick<Membership, 'kind' | 'groupId'>
  | { readonly kind: Membership['kind']; readonly groupIds: readonly string[] }

/** Reads one state of the database. */
export interface TenancyReader {
  find<Kind extends TenantKind>(kind: Kind, id: string): Promise<Tenants[Kind] | undefined>
  /** The objects of these ids that exist, in any order; at most 1000 ids. */
  findAll<Kind extends TenantKind>(kind: Kind, ids: readonly string[]): Promise<Tenants[Kind][]>
  /** Nothing of this kind is stored. */
  isUnused(kind: TenantKind): Promise<boolean>
  /** The users with this address, at most two. */
  usersByEmail(email: string): Promise<Tenants['user'][]>
  /** The users with this id at an identity provider or a directory (SCIM), at most two. */
  usersBySsoId(ssoUserId: string): Promise<Tenants['user'][]>
  /** The user that a person at an identity provider is linked to. */
  identityLink(of: Pick<IdentityLink, 'issuer' | 'subject'>): Promise<IdentityLink | undefined>
  /** Newest first, at most 100. */
  identityLinksOf(userId: string): Promise<IdentityLink[]>
  /** The user can sign in with a password. */
  hasPassword(userId: string): Promise<boolean>
  /** undefined = the person's user was not deleted, or there is another one since. */
  identityRemoval(of: NamedIdentity): Promise<IdentityRemoval | undefined>
  /** Oldest first, at most `limit`; also those that their directory has deleted. */
  search<Kind extends 'user' | 'team'>(kind: Kind, condition: TenantCondition, limit: number): Promise<Tenants[Kind][]>
  /** At most `membershipsMax` of one user; of others all, oldest first. */
  memberships(of: MembershipQuery): Promise<Membership[]>
  /** The revision of the last change of each team's members; teams without one since it is counted are missing. */
  membersRevisions(teamIds: readonly string[]): Promise<ReadonlyMap<string, number>>
  findKey(by: { hash: string } | { id: string } | { alias: string }): Promise<KeyRecord | undefined>
  /** By the hash of its text, or of the text before while that is valid: then `expiresAtMs` is the end of that. */
  findKeyOfText(hash: string): Promise<KeyRecord | undefined>
}

/**
 * One transaction: all of its changes are committed, with a row of the audit log for each, or none is. It has the lock
 * on all changes of tenancy and keys, in all replicas, so that what it reads stays true until it ends.
 */
export interface TenancyTransaction extends TenancyReader {
  readonly nowMs: number
  /** Throws `conflict` where the id is taken. */
  insert<Kind extends TenantKind>(kind: Kind, record: NewTenant<Kind>): Promise<Tenants[Kind]>
  /** Throws `not-found`, and `conflict` where the version is not `version`. */
  update<Kind extends TenantKind>(
    kind: Kind,
    id: string,
    changes: TenantChanges<Kind>,
    version?: number,
  ): Promise<Tenants[Kind]>
  /**
   * Deletes it with its memberships, keys and links to identity providers, an organization also with its teams. Throws
   * `not-found`, and `conflict` for a budget in use or for more than 1000 keys.
   */
  delete<Kind extends TenantKind>(kind: Kind, id: string): Promise<Tenants[Kind]>
  /** Adds or replaces it. Throws `conflict` beyond `membershipsMax` of its user. */
  putMembership(membership: Omit<Membership, 'createdAtMs'>): Promise<Membership>
  /** Of a team with the user's keys in it, at most 1000, else `conflict`. false = there was none. */
  deleteMembership(of: Pick<Membership, 'kind' | 'groupId' | 'userId'>): Promise<boolean>
  /** Throws `conflict` where the person is linked already. */
  linkIdentity(of: NamedIdentity, userId: string): Promise<IdentityLink>
  /** `keysOfUserMax`: the maximum number of valid keys of its user; throws `conflict` when it is reached. */
  insertKey(record: NewKey, keysOfUserMax?: number | null): Promise<KeyRecord>
  /** Throws `not-found`, and `conflict` where the version is not `version`, and as `insertKey`. */
  updateKey(id: string, changes: KeyChanges, options?: KeyUpdateOptions): Promise<KeyRecord>
  /**
   * Sets what was spent of its budget, and is shown as spent, to an amount that is at most what is shown now. Calls
   * that are under way count in the time before. Throws `not-found`, and `invalid-request` for a larger amount.
   */
  resetSpend(kind: 'key' | 'team', id: string, toNanoUsd: bigint): Promise<SpendReset>
  /** Of a new object: what it spent at another gateway counts as spent, in its budget and where it is shown. */
  carrySpend(kind: 'key' | 'team' | 'user', id: string, nanoUsd: bigint): Promise<void>
  /** Throws `not-found`. A deleted key is refused from this moment on. */
  deleteKey(id: string): Promise<KeyRecord>
}

/** What was shown as spent before and after a reset. Nano-dollars. */
export interface SpendReset {
  readonly beforeNanoUsd: bigint
  readonly afterNanoUsd: bigint
}

/** What a change of a key is checked against. */
export interface KeyUpdateOptions {
  /** As for `insertKey`, when the key is given to another user or its time extended. */
  readonly keysOfUserMax?: number | null
  readonly version?: number | undefined
  /** The hash of its text as it was read; another one now is a conflict. */
  readonly hashBefore?: string
  /** For the audit log; absent = `updated`, or `blocked` and `unblocked`. */
  readonly action?: AuditEntry['action']
}

/**
 * Every method throws `overloaded` when the database is unreachable. Other processes see changes within a second.
 */
export interface TenancyStore extends TenancyReader {
  /** Keys and teams that have the guardrail by themselves, oldest first: so many of each at most. */
  usesOfGuardrail(guardrail: string, limit: number): Promise<GuardrailUses>
  list<Kind extends TenantKind>(kind: Kind, filter: TenantFilter, page: PageQuery): Promise<Page<Tenants[Kind]>>
  audit(query: AuditQuery): Promise<Page<AuditEntry>>
  /**
   * Nano-dollars of all calls by id, less what was reset; ids without any are missing. Calls of the last moments may be
   * missing, too.
   */
  spend(kind: SpendKind, ids: readonly string[]): Promise<ReadonlyMap<string, bigint>>
  /** Runs `work` as one transaction; what it throws takes everything back. It must use the transaction alone. */
  change<Result>(actor: ChangeActor, work: (tx: TenancyTransaction) => Promise<Result>): Promise<Result>
}

/** Whom a guardrail holds for. */
export interface GuardrailUses {
  readonly keys: readonly { readonly id: string; readonly alias: string | null; readonly teamId: string | null }[]
  readonly teams: readonly { readonly id: string; readonly alias: string | null }[]
}

/** Callers, and objects that a call names and its key does not: customers, tags. */
export interface TenantDirectory {
  /** The caller with the key of this hash; undefined = there is no such key. */
  load(hash: string): Promise<Caller | undefined>
  /** The caller with this key record, stored or not: with the user, team and organization that it names. */
  compile(record: VirtualKey): Promise<Caller>
  /** With its effective limits and budget, at once when cached. undefined = there is none of this id. */
  lookup<Kind extends 'customer' | 'tag' | 'budget'>(
    kind: Kind,
    id: string,
  ): Tenants[Kind] | undefined | Promise<Tenants[Kind] | undefined>
}
