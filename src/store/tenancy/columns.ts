/** How the objects of tenancy and the keys are stored: for each field its column, and how its value is written. */
import {
  budgetFields,
  customerFields,
  keyRecordFields,
  membershipFields,
  organizationFields,
  tagFields,
  teamFields,
  userFields,
} from '../../core/tenancy/field-tables.ts'
import { blankValues } from '../../core/tenancy/fields.ts'
import type { FieldKind, FieldTable, KindValues, ModelBudget, Values } from '../../core/tenancy/fields.ts'
import type { TenantKind, Tenants } from '../../core/tenancy/tenancy.ts'
import { toNumber } from '../database/open.ts'

/** A value as it is bound to a statement; it is JSON, too. */
export type StoredValue = string | number | null

interface Codec<Value> {
  write(value: Value): StoredValue
  read(stored: unknown): Value
}
/** The columns of a record, by its fields. */
export type Columns<Fields> = {
  readonly [Name in keyof Fields]: readonly [column: string, codec: Codec<Fields[Name]>]
}
/** One row. */
export type Row = Readonly<Record<string, StoredValue>>

const asKept = <Value extends StoredValue>(value: Value): Value => value
const text: Codec<string> = { write: asKept, read: String }
const textOrNull: Codec<string | null> = { write: asKept, read: String }
const integer: Codec<number> = { write: asKept, read: toNumber }
const integerOrNull: Codec<number | null> = { write: asKept, read: toNumber }
const json = <Value>(): Codec<Value> => ({
  write: value => JSON.stringify(value),
  read: stored => JSON.parse(String(stored)) as Value,
})
/** One of a few words, which the writer has checked. */
const word = <Value extends string>(): Codec<Value> => ({ write: asKept, read: stored => String(stored) as Value })

type WrittenModelBudgets = Record<string, Omit<ModelBudget, 'maxBudgetNanoUsd'> & { maxBudgetNanoUsd: string }>

/** How a value of each kind of field is stored, and read where the column is not null. */
const codecs: { readonly [Kind in FieldKind]: Codec<KindValues[Kind]> } = {
  id: text,
  count: integer,
  time: integer,
  moment: integerOrNull,
  name: textOrNull,
  paragraph: textOrNull,
  email: textOrNull,
  duration: textOrNull,
  limit: integerOrNull,
  limits: json(),
  dollars: { write: value => (value === null ? null : value.toString()), read: stored => BigInt(String(stored)) },
  modelBudgets: {
    write: budgets =>
      JSON.stringify(mapValues(budgets, one => ({ ...one, maxBudgetNanoUsd: one.maxBudgetNanoUsd.toString() }))),
    read: stored =>
      mapValues(JSON.parse(String(stored)) as WrittenModelBudgets, one => ({
        ...one,
        maxBudgetNanoUsd: BigInt(one.maxBudgetNanoUsd),
      })),
  },
  names: json(),
  models: json(),
  aliases: json(),
  permissions: json(),
  object: json(),
  toolPermission: {
    write: value => (value === null ? null : JSON.stringify(value)),
    read: stored => JSON.parse(String(stored)) as KindValues['toolPermission'],
  },
  flag: { write: Number, read: stored => toNumber(stored) === 1 },
  choice: { write: value => (value === null ? null : Number(value)), read: stored => toNumber(stored) === 1 },
  userRole: word(),
  memberRole: word(),
  groupKind: word(),
}

function mapValues<In, Out>(from: Readonly<Record<string, In>>, change: (value: In) => Out): Record<string, Out> {
  return Object.fromEntries(Object.entries(from).map(([name, value]) => [name, change(value)]))
}

/** Where the column is null, as in rows from before it, the field is as in a new object. */
function codecOf<Kind extends FieldKind>(kind: Kind): Codec<KindValues[Kind]> {
  const { write, read } = codecs[kind]
  return { write, read: stored => (stored === null || stored === undefined ? blankValues[kind] : read(stored)) }
}

/** A column has the name of its field in snake case, unless the field says otherwise. */
function columnsOf<Table extends FieldTable>(table: Table): Columns<Values<Table>> {
  const columns = Object.entries(table).map(([name, { kind, column }]) => [
    name,
    [column ?? name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`), codecOf(kind)],
  ])
  return Object.fromEntries(columns) as Columns<Values<Table>>
}

/** The columns of each kind of tenant. */
export const tenantColumns: { readonly [Kind in TenantKind]: Columns<Tenants[Kind]> } = {
  organization: columnsOf(organizationFields),
  team: columnsOf(teamFields),
  user: columnsOf(userFields),
  customer: columnsOf(customerFields),
  tag: columnsOf(tagFields),
  budget: columnsOf(budgetFields),
}

/** Of a user's place in a team or an organization. */
export const membershipColumns = columnsOf(membershipFields)

/** The columns of `virtual_keys`. */
export const keyColumns = columnsOf(keyRecordFields)

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
