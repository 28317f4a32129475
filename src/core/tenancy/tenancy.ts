/**
 * Organizations, teams, users, customers, tags and named budgets: what a caller belongs to. Each may list models and
 * set limits and a budget; all of them hold together. Money is nano-dollars.
 */
import type {
  budgetFields,
  customerFields,
  membershipFields,
  organizationFields,
  tagFields,
  teamFields,
  userFields,
} from './field-tables.ts'
import { directoryFields, nameOwnerFields, spendingFields } from './field-tables.ts'
import { blankRecord } from './fields.ts'
import type { Values } from './fields.ts'

/** Limits and budget of one object, its own or by a named budget that fills what it leaves open. */
export type SpendingFields = Values<typeof spendingFields>
/** No limit and no budget. */
export const unlimited: SpendingFields = blankRecord(spendingFields)

/** What organizations, teams, users, customers, tags and named budgets have in common. Immutable. */
export type TenantFields = Omit<Organization, 'objectPermission'>

/** The widest tenant: teams belong to at most one. */
export type Organization = Values<typeof organizationFields>

/** What a directory (SCIM) says of a user or a team, beside the fields that each has. */
export type DirectoryFields = Values<typeof directoryFields>
/** Of a user or a team that no directory has sent. */
export const noDirectory: DirectoryFields = blankRecord(directoryFields)

/** A group of users and keys. */
export type Team = Values<typeof teamFields>

/** A person with keys. */
export type User = Values<typeof userFields>

/** Whose keys may name a customer or a tag. At most one of the two is set; both null = it has no owner. */
export type NameOwner = Values<typeof nameOwnerFields>
/** Of a customer or a tag without an owner. */
export const noNameOwner: NameOwner = blankRecord(nameOwnerFields)

/** An end user of a client's application: an id on calls, without keys. */
export type Customer = Values<typeof customerFields>

/** A label on calls, with limits and a budget of its own. */
export type Tag = Values<typeof tagFields>

/** Limits and a budget under a name, for many objects. */
export type NamedBudget = Values<typeof budgetFields>

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

/** A user's place in a team or an organization, with limits and a budget for what the user does there. */
export type Membership = Values<typeof membershipFields>

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
