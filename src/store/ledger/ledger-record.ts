/** The records of the journal: an intent or a settlement as one line of JSON, and back as what a database takes. */
import { columnList, intentColumnList, interruptedRow, missingValue } from '../../core/ledger-columns.ts'
import type { LedgerColumn, LedgerIntent, LedgerRow } from '../../core/ledger-columns.ts'

/** A value as it is bound to a column. Booleans are 0 and 1, decimals are text. */
export type ColumnValue = string | number | null

/**
 * The columns that every settlement has. Those of later versions stand behind them, and are left out of a record when
 * all of them are missing values (`missingValue`), which they are for nearly every call.
 */
export const firstColumns = columnList.filter(column => column.since === 1)
const laterColumns = columnList.filter(column => column.since > 1)

/** Longer texts are cut in the database: an index of Postgres refuses entries of more than 2700 bytes. */
const textLengthMax = 512
/**
 * A record of at most this many UTF-16 units is written as it is; 3 bytes each stay under `recordBytesMax`.
 */
const recordLengthMax = 16_384
/** A hostile record is cut to this many units a text, which bounds it even when each becomes `\u0000`. */
const hostileTextLengthMax = 256
const integerMax = Number.MAX_SAFE_INTEGER
const integer32Max = 2 ** 31 - 1
const decimalMax = 2n ** 63n - 1n

const intentMark = 0
const settlementMark = 1
const intentStart = `[${intentMark},"`

const intentFields = compileFields<LedgerIntent>(intentMark, intentColumnList)
const firstFields = compileFields<LedgerRow>(settlementMark, firstColumns)
const allFields = compileFields<LedgerRow>(settlementMark, columnList)
const hasLaterValues = compileHasLaterValues()

/**
 * Compiles `row => [mark, row.request_id, ...]`. Reading the fields in a loop takes 0.3 us more, as much as
 * `JSON.stringify` of the list.
 */
function compileFields<Row>(mark: number, columns: typeof columnList): (row: Row) => unknown[] {
  const fields = columns.map(({ name }) => `row.${name}`)
  return new Function('row', `return [${mark}, ${fields.join(', ')}]`) as (row: Row) => unknown[]
}

function compileHasLaterValues(): (row: LedgerRow) => boolean {
  const conditions = laterColumns.map(column => `row.${column.name} !== ${JSON.stringify(missingValue(column))}`)
  return new Function('row', `return ${conditions.join(' || ') || 'false'}`) as (row: LedgerRow) => boolean
}

/** One line of JSON, at most 64 KiB of UTF-8. `JSON.stringify` of a list costs 0.3 us, of the object 0.5 us. */
export function encodeIntent(intent: LedgerIntent): string {
  return bounded(intentFields(intent))
}

/** One line of JSON, at most 64 KiB of UTF-8. The order is that of `columnList`. */
export function encodeSettlement(row: LedgerRow): string {
  return bounded(hasLaterValues(row) ? allFields(row) : firstFields(row))
}

function bounded(values: readonly unknown[]): string {
  const text = JSON.stringify(values)
  if (text.length <= recordLengthMax) return text
  return JSON.stringify(values.map(value => (typeof value === 'string' ? value.slice(0, hostileTextLengthMax) : value)))
}

/**
 * A record of the journal, read back. `values` stand in the order of `columnList`; there are as many as there are
 * `firstColumns` when the record has no others.
 */
type LedgerRecord =
  /** Nearly every intent is settled a moment later: its fields are read by `readIntent`, when they are needed. */
  | { readonly kind: 'intent'; readonly id: string }
  | { readonly kind: 'settlement'; readonly id: string; readonly values: readonly ColumnValue[] }

/**
 * undefined = not a record of this program, or of a newer one. Values that a column would refuse are replaced by ones
 * that it takes.
 */
export function decodeRecord(text: string): LedgerRecord | undefined {
  const plainId = text.startsWith(intentStart) ? text.indexOf('"', intentStart.length) : -1
  // The checksum has proven the record whole; an id with an escape is no id of this program.
  if (plainId > 0) return { kind: 'intent', id: text.slice(intentStart.length, plainId) }
  const fields = parseList(text)
  const columns = fields?.[0] === settlementMark ? columnsOf(fields.length - 1) : undefined
  if (fields === undefined || columns === undefined) return undefined
  const values = columns.map((column, at) => storableValue(fields[at + 1], column))
  return { kind: 'settlement', id: String(fields[1] ?? ''), values }
}

/** The columns of a record with so many values. One in between was written before the last columns were there. */
function columnsOf(values: number): typeof columnList | undefined {
  if (values === firstColumns.length) return firstColumns
  return values > firstColumns.length && values <= columnList.length ? columnList : undefined
}

function parseList(text: string): readonly unknown[] | undefined {
  try {
    const list: unknown = JSON.parse(text)
    return Array.isArray(list) ? (list as unknown[]) : undefined
  } catch {
    return undefined
  }
}

const firstIntentLength = 1 + intentColumnList.filter(column => column.since === 1).length

/** The intent in a record that `decodeRecord` called one; undefined = it is none after all. */
export function readIntent(record: string): LedgerIntent | undefined {
  const fields = parseList(record)
  if (fields?.[0] !== intentMark || fields.length < firstIntentLength || fields.length > intentColumnList.length + 1)
    return undefined
  const values = intentColumnList.map((column, at) => [column.name, intentValue(fields[at + 1], column)])
  return Object.fromEntries(values) as unknown as LedgerIntent
}

function intentValue(value: unknown, column: LedgerColumn): unknown {
  const stored = storableValue(value, column)
  return column.kind === 'boolean' && stored !== null ? stored === 1 : stored
}

/** The values of a call whose process died before it was settled, in the order of `firstColumns` or `columnList`. */
export function interruptedValues(intent: LedgerIntent): readonly ColumnValue[] {
  const row = { ...interruptedRow, ...intent }
  const columns = hasLaterValues(row) ? columnList : firstColumns
  return columns.map(column => storableValue(row[column.name], column))
}

/** What a column takes in place of any value. */
function storableValue(value: unknown, column: LedgerColumn): ColumnValue {
  if (value === null || value === undefined) return column.nullable ? null : column.kind === 'text' ? '' : 0
  switch (column.kind) {
    case 'text':
      return storableText(String(value))
    case 'boolean':
      return value === true || value === 1 ? 1 : 0
    case 'decimal':
      return storableDecimal(String(value)) ?? (column.nullable ? null : 0)
    case 'number':
      return Number.isFinite(value) ? (value as number) : 0
    case 'integer':
    case 'integer32': {
      const max = column.kind === 'integer32' ? integer32Max : integerMax
      return Number.isFinite(value) ? Math.max(-max, Math.min(max, Math.trunc(value as number))) : 0
    }
  }
}

/** Postgres knows no NUL in a text, neither database a lone surrogate. */
function storableText(text: string): string {
  const cut = text.length > textLengthMax ? text.slice(0, textLengthMax) : text
  return (cut.includes('\0') ? cut.replaceAll('\0', '\ufffd') : cut).toWellFormed()
}

function storableDecimal(text: string): string | null {
  if (!/^-?\d{1,19}$/.test(text)) return null
  const amount = BigInt(text)
  return amount > decimalMax || amount < -decimalMax ? null : text
}
