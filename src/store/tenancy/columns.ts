/** How the objects of tenancy and the keys are stored: for each field its column, and how its value is written. */
import type { KeyRecord } from '../../core/tenancy/keys.ts'
import type {
  DirectoryFields,
  Membership,
  ModelBudget,
  NameOwner,
  SpendingFields,
  TenantFields,
  TenantKind,
  Tenants,
} from '../../core/tenancy/tenancy.ts'
import { toNumber, toNumberOrNull } from '../database/open.ts'

/** A value as it is bound to a statement; it is JSON, too. */
export type StoredValue = string | number | null

interface Codec<Value> {
  write(value: Value): StoredValue
  read(stored: unknown): Value
}
/** The columns of a record, by its fields. Optional ones are made when it is read, and are not stored. */
export type Columns<Fields> = {
  readonly [Name in keyof Fields as undefined extends Fields[Name] ? never : Name]-?: readonly [
    column: string,
    codec: Codec<Fields[Name]>,
  ]
}
/** One row. */
export type Row = Readonly<Record<string, StoredValue>>

/** Rows that an earlier program kept lack later columns. */
const isAbsent = (stored: unknown): boolean => stored === null || stored === undefined

const text: Codec<string> = { write: value => value, read: String }
const textOrNull: Codec<string | null> = {
  write: value => value,
  read: stored => (isAbsent(stored) ? null : String(stored)),
}
const integer: Codec<number> = { write: value => value, read: toNumber }
const integerOrNull: Codec<number | null> = { write: value => value, read: toNumberOrNull }
const flag: Codec<boolean> = { write: value => (value ? 1 : 0), read: stored => toNumber(stored) === 1 }
const flagOrNull: Codec<boolean | null> = {
  write: value => (value === null ? null : value ? 1 : 0),
  read: stored => (isAbsent(stored) ? null : toNumber(stored) === 1),
}
const money: Codec<bigint | null> = {
  write: value => (value === null ? null : value.toString()),
  read: stored => (isAbsent(stored) ? null : BigInt(String(stored))),
}
const json = <Value>(): Codec<Value> => ({
  write: value => JSON.stringify(value),
  read: stored => JSON.parse(String(stored)) as Value,
})
/** One of a few words, which the writer has checked. */
const word = <Value extends string>(): Codec<Value> => ({
  write: value => value,
  read: stored => String(stored) as Value,
})

type WrittenModelBudgets = Record<string, Omit<ModelBudget, 'maxBudgetNanoUsd'> & { maxBudgetNanoUsd: string }>
const modelBudgets: Codec<Readonly<Record<string, ModelBudget>>> = {
  write: budgets =>
    JSON.stringify(mapValues(budgets, one => ({ ...one, maxBudgetNanoUsd: one.maxBudgetNanoUsd.toString() }))),
  read: stored =>
    mapValues(JSON.parse(String(stored)) as WrittenModelBudgets, one => ({
      ...one,
      maxBudgetNanoUsd: BigInt(one.maxBudgetNanoUsd),
    })),
}

function mapValues<In, Out>(from: Readonly<Record<string, In>>, change: (value: In) => Out): Record<string, Out> {
  return Object.fromEntries(Object.entries(from).map(([name, value]) => [name, change(value)]))
}

const spending: Columns<SpendingFields> = {
  requestsPerMinute: ['requests_per_minute', integerOrNull],
  tokensPerMinute: ['tokens_per_minute', integerOrNull],
  parallelRequests: ['parallel_requests', integerOrNull],
  modelRequestsPerMinute: ['model_requests_per_minute', json()],
  modelTokensPerMinute: ['model_tokens_per_minute', json()],
  maxBudgetNanoUsd: ['max_budget_nano_usd', money],
  softBudgetNanoUsd: ['soft_budget_nano_usd', money],
  budgetDuration: ['budget_duration', textOrNull],
  budgetResetAtMs: ['budget_reset_at_ms', integerOrNull],
  spendResetAtMs: ['spend_reset_at_ms', integerOrNull],
  spendOffsetNanoUsd: ['spend_offset_nano_usd', money],
  modelMaxBudget: ['model_max_budget', modelBudgets],
  budgetIncreaseNanoUsd: ['budget_increase_nano_usd', money],
  budgetIncreaseUntilMs: ['budget_increase_until_ms', integerOrNull],
  budgetIncreaseReason: ['budget_increase_reason', textOrNull],
  budgetId: ['budget_id', textOrNull],
}

const tenant: Columns<TenantFields> = {
  ...spending,
  id: ['id', text],
  alias: ['alias', textOrNull],
  models: ['models', json()],
  metadata: ['metadata', json()],
  blocked: ['blocked', flag],
  version: ['revision', integer],
  createdAtMs: ['created_at_ms', integer],
  createdBy: ['created_by', text],
  updatedAtMs: ['updated_at_ms', integer],
  updatedBy: ['updated_by', text],
}

const directory: Columns<DirectoryFields> = {
  externalId: ['external_id', textOrNull],
  directoryAttributes: ['directory_attributes', json()],
  blockedByDirectory: ['blocked_by_directory', flag],
  removedAtMs: ['removed_at_ms', integerOrNull],
}

const nameOwner: Columns<NameOwner> = {
  teamId: ['team_id', textOrNull],
  organizationId: ['organization_id', textOrNull],
}

/** The columns of each kind of tenant. */
export const tenantColumns: { readonly [Kind in TenantKind]: Columns<Tenants[Kind]> } = {
  organization: tenant,
  team: {
    ...tenant,
    ...directory,
    organizationId: ['organization_id', textOrNull],
    modelAliases: ['model_aliases', json()],
    memberPermissions: ['member_permissions', json()],
    tags: ['tags', json()],
    guardrails: ['guardrails', json()],
    storesBodies: ['stores_bodies', flagOrNull],
    memberMaxBudgetNanoUsd: ['member_max_budget_nano_usd', money],
    memberBudgetDuration: ['member_budget_duration', textOrNull],
    memberRequestsPerMinute: ['member_requests_per_minute', integerOrNull],
    memberTokensPerMinute: ['member_tokens_per_minute', integerOrNull],
    memberKeyDuration: ['member_key_duration', textOrNull],
  },
  user: {
    ...tenant,
    ...directory,
    userName: ['user_name', textOrNull],
    email: ['email', textOrNull],
    role: ['role', word()],
    ssoUserId: ['sso_user_id', textOrNull],
  },
  customer: { ...tenant, ...nameOwner },
  tag: { ...tenant, ...nameOwner, description: ['description', textOrNull] },
  budget: tenant,
}

/** Of a user's place in a team or an organization. */
export const membershipColumns: Columns<Membership> = {
  ...spending,
  kind: ['kind', word()],
  groupId: ['group_id', text],
  userId: ['user_id', text],
  role: ['role', word()],
  createdAtMs: ['created_at_ms', integer],
}

/** The columns of `virtual_keys`. */
export const keyColumns: Columns<KeyRecord> = {
  ...spending,
  id: ['id', text],
  hash: ['hash', text],
  hint: ['hint', text],
  formerHash: ['former_hash', textOrNull],
  formerEndMs: ['former_end_ms', integerOrNull],
  objectsOwner: ['objects_owner', textOrNull],
  formerObjectsOwner: ['former_objects_owner', textOrNull],
  alias: ['alias', textOrNull],
  userId: ['user_id', textOrNull],
  teamId: ['team_id', textOrNull],
  organizationId: ['organization_id', textOrNull],
  models: ['models', json()],
  aliases: ['aliases', json()],
  tags: ['tags', json()],
  allowedRoutes: ['allowed_routes', json()],
  enforcedParams: ['enforced_params', json()],
  allowedCacheControls: ['allowed_cache_controls', json()],
  guardrails: ['guardrails', json()],
  storesBodies: ['stores_bodies', flagOrNull],
  expiresAtMs: ['expires_at_ms', integerOrNull],
  rotationInterval: ['rotation_interval', textOrNull],
  textSinceMs: ['text_since_ms', integerOrNull],
  rotateByMs: ['rotate_by_ms', integerOrNull],
  blocked: ['blocked', flag],
  ofDirectory: ['of_directory', flag],
  metadata: ['metadata', json()],
  version: ['revision', integer],
  createdAtMs: ['created_at_ms', integer],
  createdBy: ['created_by', text],
  updatedAtMs: ['updated_at_ms', integer],
  updatedBy: ['updated_by', text],
}

/** The row of a record. */
export function toRow<Fields extends object>(columns: Columns<Fields>, record: Fields): Row {
  const row: Record<string, StoredValue> = {}
  for (const name in columns) {
    const [column, { write }] = columns[name]
    row[column] = write(record[name])
  }
  return row
}

/** The record of a row; columns that are no fields are left out. */
export function toRecord<Fields extends object>(
  columns: Columns<Fields>,
  row: Readonly<Record<string, unknown>>,
): Fields {
  const record: Partial<Fields> = {}
  for (const name in columns) {
    const [column, { read }] = columns[name]
    record[name] = read(row[column])
  }
  return record as Fields
}

/** The table of each kind of tenant. */
export const tenantTables: Readonly<Record<TenantKind, string>> = {
  organization: 'organizations',
  team: 'teams',
  user: 'users',
  customer: 'customers',
  tag: 'tags',
  budget: 'budgets',
}
