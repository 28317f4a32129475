/**
 * Organizations, teams, users, customers, tags and named budgets: what a caller belongs to. Each may list models and
 * set limits and a budget; all of them hold together. Money is nano-dollars.
 */

/** Limits that one object sets. null = none, 0 = nothing is allowed. */
export interface LimitFields {
  readonly requestsPerMinute: number | null
  readonly tokensPerMinute: number | null
  readonly parallelRequests: number | null
  /** By the name of a model. */
  readonly modelRequestsPerMinute: Readonly<Record<string, number>>
  /** By the name of a model. */
  readonly modelTokensPerMinute: Readonly<Record<string, number>>
}

/** What may be spent in one object's scope. */
export interface BudgetFields {
  /** null = no limit. */
  readonly maxBudgetNanoUsd: bigint | null
  /** Passing it raises an alert and refuses nothing; null = none. */
  readonly softBudgetNanoUsd: bigint | null
  /** `30d`, `1mo`, ...: how long a window is, after which spending begins at 0 again; null = one window for ever. */
  readonly budgetDuration: string | null
  /** One end of a window, which the others follow; null = windows follow the calendar. Milliseconds since 1970. */
  readonly budgetResetAtMs: number | null
  /** An operator set what was spent anew: a window of its own began then. null = never. Milliseconds since 1970. */
  readonly spendResetAtMs: number | null
  /** What of the cost of all calls is shown as spent no more, since then; null = nothing. */
  readonly spendOffsetNanoUsd: bigint | null
  /** By the name of a model, for calls of it in this object's scope. */
  readonly modelMaxBudget: Readonly<Record<string, ModelBudget>>
  /** Added to the maximum until `budgetIncreaseUntilMs`; both are null or neither is. */
  readonly budgetIncreaseNanoUsd: bigint | null
  /** Milliseconds since 1970. */
  readonly budgetIncreaseUntilMs: number | null
  /** Why it was raised, for people; null = it is not, or it was not said. */
  readonly budgetIncreaseReason: string | null
}

/** The budget of one model within an object's scope. */
export interface ModelBudget {
  readonly maxBudgetNanoUsd: bigint
  /** null = one window for ever. */
  readonly budgetDuration: string | null
}

/** Limits and budget of one object, its own or by a named budget that fills what it leaves open. */
export interface SpendingFields extends LimitFields, BudgetFields {
  /** The named budget that it uses; null = none. */
  readonly budgetId: string | null
}

/** No limit and no budget. */
export const unlimited: SpendingFields = {
  requestsPerMinute: null,
  tokensPerMinute: null,
  parallelRequests: null,
  modelRequestsPerMinute: {},
  modelTokensPerMinute: {},
  maxBudgetNanoUsd: null,
  softBudgetNanoUsd: null,
  budgetDuration: null,
  budgetResetAtMs: null,
  spendResetAtMs: null,
  spendOffsetNanoUsd: null,
  modelMaxBudget: {},
  budgetIncreaseNanoUsd: null,
  budgetIncreaseUntilMs: null,
  budgetIncreaseReason: null,
  budgetId: null,
}

/** What organizations, teams, users, customers, tags and named budgets have in common. Immutable. */
export interface TenantFields extends SpendingFields {
  readonly id: string
  /** A name for people; several objects may share it. */
  readonly alias: string | null
  /** Names, patterns, access groups and special names; empty = every model. */
  readonly models: readonly string[]
  readonly metadata: Readonly<Record<string, unknown>>
  /** Its keys are refused. */
  readonly blocked: boolean
  /** Grows with every change; a change may name the version that it was made for. */
  readonly version: number
  /** Milliseconds since 1970. */
  readonly createdAtMs: number
  /** Id of the key that made it, or `cli`. */
  readonly createdBy: string
  readonly updatedAtMs: number
  readonly updatedBy: string
}

/** The widest tenant: teams belong to at most one. */
export type Organization = TenantFields

/** What a directory (SCIM) says of a user or a team, beside the fields that each has. */
export interface DirectoryFields {
  /** Its id at the directory. */
  readonly externalId: string | null
  /** What the directory sent and no other field holds, by the names of SCIM. */
  readonly directoryAttributes: Readonly<Record<string, unknown>>
  /** The directory set `blocked`, and may lift it: what an administrator blocked stays blocked. */
  readonly blockedByDirectory: boolean
  /** When the directory deleted it, milliseconds since 1970; null = it did not. It is blocked since then. */
  readonly removedAtMs: number | null
}

/** Of a user or a team that no directory has sent. */
export const noDirectory: DirectoryFields = {
  externalId: null,
  directoryAttributes: {},
  blockedByDirectory: false,
  removedAtMs: null,
}

/** A group of users and keys. */
export interface Team extends TenantFields, DirectoryFields {
  readonly organizationId: string | null
  /** What its keys call a model -> the model. */
  readonly modelAliases: Readonly<Record<string, string>>
  /** What members who are not its admins may do with its keys: paths such as `/key/generate`. */
  readonly memberPermissions: readonly string[]
  /** Tags of every call with its keys. */
  readonly tags: readonly string[]
  /** Names of guardrails that hold for calls with its keys, beside the others. */
  readonly guardrails: readonly string[]
  /** What is said in calls with its keys is stored; null = as the gateway says. */
  readonly storesBodies: boolean | null
  /** The share of each member who has no budget of its own. */
  readonly memberMaxBudgetNanoUsd: bigint | null
  readonly memberBudgetDuration: string | null
  readonly memberRequestsPerMinute: number | null
  readonly memberTokensPerMinute: number | null
  /** How long keys live that members make, as in `duration`; null = as they ask. */
  readonly memberKeyDuration: string | null
}

/** What a user may do over the whole gateway. Admins of teams and organizations are so by their membership. */
export const userRoles = ['proxy_admin', 'proxy_admin_viewer', 'internal_user', 'internal_user_viewer'] as const
/** One of `userRoles`. */
export type UserRole = (typeof userRoles)[number]

/** A person with keys. */
export interface User extends TenantFields, DirectoryFields {
  readonly email: string | null
  readonly role: UserRole
  /** The id at the identity provider. */
  readonly ssoUserId: string | null
  /** The name to sign in with at the directory, unique in any case; null = no directory has sent the user. */
  readonly userName: string | null
}

/** Whose keys may name a customer or a tag. At most one of the two is set; both null = it has no owner. */
export interface NameOwner {
  readonly teamId: string | null
  readonly organizationId: string | null
}

/** Of a customer or a tag without an owner. */
export const noNameOwner: NameOwner = { teamId: null, organizationId: null }

/** An end user of a client's application: an id on calls, without keys. */
export interface Customer extends TenantFields, NameOwner {}

/** A label on calls, with limits and a budget of its own. */
export interface Tag extends TenantFields, NameOwner {
  readonly description: string | null
}

/** Limits and a budget under a name, for many objects. */
export type NamedBudget = TenantFields

/** The stored objects by their kinds. */
export interface Tenants {
  readonly organization: Organization
  readonly team: Team
  readonly user: User
  readonly customer: Customer
  readonly tag: Tag
  readonly budget: NamedBudget
}
/** The kinds of objects that own keys or limits. */
export type TenantKind = keyof Tenants

/** `team`: `admin` or `user`. `organization`: `org_admin`, `internal_user` or `internal_user_viewer`. */
export type MemberRole = 'admin' | 'user' | 'org_admin' | 'internal_user' | 'internal_user_viewer'

/** A user's place in a team or an organization, with limits and a budget for what the user does there. */
export interface Membership extends SpendingFields {
  readonly kind: 'team' | 'organization'
  /** Id of the team or the organization. */
  readonly groupId: string
  readonly userId: string
  readonly role: MemberRole
  /** Milliseconds since 1970. */
  readonly createdAtMs: number
}

/** The most teams and organizations that a user may be in: all are read with the user's key. */
export const membershipsMax = 1000

/** Who makes a change, for the audit log. */
export interface Actor {
  /** The user, or the key where it has none; `cli` on the command line. */
  readonly id: string
  /** The key's hash, `session:` and the id of a session, or `master` or `cli`. */
  readonly keyHash: string
}

/** What the audit log records: changes of objects, and of persons who sign in. */
export const auditActions = [
  'created',
  'updated',
  'deleted',
  'read',
  'blocked',
  'unblocked',
  'rotated',
  'spend-reset',
  'signed-in',
  'sign-in-refused',
  'signed-out',
] as const

/** One change in the audit log. Values are as the API shows them, without secrets. */
export interface AuditEntry {
  readonly id: string
  /** Milliseconds since 1970. */
  readonly atMs: number
  readonly actor: Actor
  readonly action: (typeof auditActions)[number]
  /** `team`, `key`, `model`, ... */
  readonly kind: string
  readonly objectId: string
  /** null = it was not there. */
  readonly before: Readonly<Record<string, unknown>> | null
  /** Of an update only what changed; null = it is gone. */
  readonly after: Readonly<Record<string, unknown>> | null
}
