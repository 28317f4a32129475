/**
 * What a field of a tenant object is. The tables of `field-tables.ts` are made of fields; from one follow its type,
 * the check of requests (`access/fields/checks.ts`), what answers show (`access/fields/answers.ts`) with its schema
 * (`endpoints/openapi/field-schemas.ts`), the column and the audit row (`store/tenancy/columns.ts`), and what an import
 * reads of LiteLLM (`access/imports/litellm-rows.ts`).
 */

import type { ToolPermission } from './tool-permission.ts'

/** The budget of one model within an object's scope. */
export interface ModelBudget {
  readonly maxBudgetNanoUsd: bigint
  /** null = one window for ever. */
  readonly budgetDuration: string | null
  /** How it was written, and is shown: the amount alone, or as LiteLLM's budgets have it; absent = as its keys do. */
  readonly form?: 'amount' | 'max_budget'
}

/** What a user may do over the whole gateway. Admins of teams and organizations are so by their membership. */
export const userRoles = ['proxy_admin', 'proxy_admin_viewer', 'internal_user', 'internal_user_viewer'] as const
/** One of `userRoles`. */
export type UserRole = (typeof userRoles)[number]

/** `team`: `admin` or `user`. `organization`: `org_admin`, `internal_user` or `internal_user_viewer`. */
export const memberRoles = ['admin', 'user', 'org_admin', 'internal_user', 'internal_user_viewer'] as const
/** One of `memberRoles`. */
export type MemberRole = (typeof memberRoles)[number]

/** The kinds of fields, and what a field of each holds. Money is nano-dollars, moments are milliseconds since 1970. */
export interface KindValues {
  /** An id, a hash, or who did something. */
  readonly id: string
  /** A number that the store counts. */
  readonly count: number
  /** A moment that is always known. */
  readonly time: number
  readonly moment: number | null
  /** A short text: a name, or the id of something else. */
  readonly name: string | null
  /** Some sentences, with line breaks. */
  readonly paragraph: string | null
  readonly email: string | null
  /** `30d`, `1mo`, ...: kept as it was written. */
  readonly duration: string | null
  /** 0 = nothing is allowed, null = there is no limit. */
  readonly limit: number | null
  /** Limits by the name of a model. */
  readonly limits: Readonly<Record<string, number>>
  readonly dollars: bigint | null
  /** By the name of a model. */
  readonly modelBudgets: Readonly<Record<string, ModelBudget>>
  readonly names: readonly string[]
  /** Names, patterns, access groups and special names; empty = every model. */
  readonly models: readonly string[]
  /** What is said -> what is meant. */
  readonly aliases: Readonly<Record<string, string>>
  /** Some of `memberPermissions`. */
  readonly permissions: readonly string[]
  /** Any JSON object. */
  readonly object: Readonly<Record<string, unknown>>
  /** null = it says nothing of tools. */
  readonly toolPermission: ToolPermission | null
  readonly flag: boolean
  /** null = others decide. */
  readonly choice: boolean | null
  readonly userRole: UserRole
  readonly memberRole: MemberRole
  readonly groupKind: 'team' | 'organization'
}
/** The name of a kind. */
export type FieldKind = keyof KindValues

/** What is unusual about a field. */
interface FieldOptions {
  /** The name of its column, where that is not its own name in snake case. */
  readonly column?: string
  /** LiteLLM keeps it in `metadata` and not in a column of its own. */
  readonly isInLitellmMetadata?: true
  /** Those who lead the object may write it: the admins of a team or an organization, and a user its own. */
  readonly isSelfService?: true
}

/** One field. `Name` is null where no answer shows it. */
export interface Field<
  Kind extends FieldKind = FieldKind,
  Name extends string | null = string | null,
  IsWritten extends boolean = boolean,
> extends FieldOptions {
  readonly kind: Kind
  /** What the API calls it, and LiteLLM. */
  readonly name: Name
  /** Requests may send it. */
  readonly isWritten: IsWritten
  /** For the API document: a sentence with meaning and unit. */
  readonly description: string
}

/** The fields of one kind of object, by their names in the record. */
export type FieldTable = Readonly<Record<string, Field>>

/** The record of a table's fields. */
export type Values<Table extends FieldTable> = { readonly [Name in keyof Table]: KindValues[Table[Name]['kind']] }

/** A field that requests send and answers show. */
export const written = <Kind extends FieldKind, Name extends string>(
  kind: Kind,
  name: Name,
  description: string,
  options: FieldOptions = {},
): Field<Kind, Name, true> => ({ kind, name, description, isWritten: true, ...options })

/** A field that answers show, and that requests do not send under its name. */
export const shown = <Kind extends FieldKind, Name extends string>(
  kind: Kind,
  name: Name,
  description: string,
  options: FieldOptions = {},
): Field<Kind, Name, false> => ({ kind, name, description, isWritten: false, ...options })

/** A field that the API neither takes nor shows. */
export const stored = <Kind extends FieldKind>(kind: Kind, options: FieldOptions = {}): Field<Kind, null, false> => ({
  kind,
  name: null,
  description: '',
  isWritten: false,
  ...options,
})

/** What members of a team who are not its admins may be allowed to do with its keys. */
export const memberPermissions = [
  '/key/info',
  '/key/health',
  '/key/generate',
  '/key/update',
  '/key/delete',
  '/key/regenerate',
] as const

/** What a field of each kind is in a new object, and where a request sends null. */
export const blankValues: KindValues = {
  id: '',
  count: 0,
  time: 0,
  moment: null,
  name: null,
  paragraph: null,
  email: null,
  duration: null,
  limit: null,
  limits: {},
  dollars: null,
  modelBudgets: {},
  names: [],
  models: [],
  aliases: {},
  // As those of a new team at LiteLLM.
  permissions: ['/key/info', '/key/health'],
  object: {},
  toolPermission: null,
  flag: false,
  choice: null,
  userRole: 'internal_user',
  memberRole: 'user',
  groupKind: 'team',
}

/** A record with a value for each field of the table. */
export function recordOf<Table extends FieldTable>(
  table: Table,
  makeValue: <Kind extends FieldKind>(field: Field<Kind>) => KindValues[Kind],
): Values<Table> {
  const record = Object.entries(table).map(([name, field]) => [name, makeValue(field)])
  return Object.fromEntries(record) as Values<Table>
}

/** A record of which nothing was said. */
export const blankRecord = <Table extends FieldTable>(table: Table): Values<Table> =>
  recordOf(table, ({ kind }) => blankValues[kind])
