/**
 * The records of the journal: an intent or a settlement as lines of JSON, and back as what a database takes.
 *
 * A settlement is two lines: what is its own (ids, times, counts, amounts), and what calls of one key to one model have
 * in common, which is written and read once for many of them (docs/decisions/0071).
 */
import {
  columnList,
  intentColumnList,
  interruptedRow,
  missingValue,
  usualColumnCount,
} from '../../../core/ledger/ledger-columns.ts'
import type { LedgerColumn, LedgerIntent, LedgerRow } from '../../../core/ledger/ledger-columns.ts'

/** A value as it is bound to a column. Booleans are 0 and 1, decimals are text, lists are JSON. */
export type ColumnValue = string | number | null

/**
 * The columns that every settlement has. Of all others a list of its own stands behind them: the position in
 * `columnList` and the value of each that is not missing (`missingValue`), which are few. No such list = none is there.
 */
export const usualColumns = columnList.slice(0, usualColumnCount)
const occasionalColumns = columnList.slice(usualColumnCount)
/** Their values where a record does not have them, in the order of `columnList`. */
export const missingValues: readonly ColumnValue[] = columnList.map(column => storableValue(null, column))

/** Longer texts are cut in the database: an index of Postgres refuses entries of more than 2700 bytes. */
const textLengthMax = 512
/** No index has them. `policies/call-tags.ts` lets a call have so many bytes. */
const jsonLengthMax = 4096
/**
 * A record of at most this many UTF-16 units is written as it is; 3 bytes each stay under `recordBytesMax`.
 */
const recordLengthMax = 16_384
/** More than `policies/call-tags.ts` lets a call have. */
const listItemsMax = 64
/** Of lists in which each item is compared with all before it. */
const shortListItems = 10
/** A hostile record is cut to this many units a text, which bounds it even when each becomes `\u0000`. */
const hostileTextLengthMax = 256
/** Keys whose texts are remembered. */
const rememberedMax = 256
const integerMax = Number.MAX_SAFE_INTEGER
const integer32Max = 2 ** 31 - 1
const decimalMax = 2n ** 63n - 1n
const decimalMaxDigits = String(decimalMax).length

const intentMark = 0
const settlementMark = 2
const intentStart = `[${intentMark},"`

/** Columns with texts that are others in each call of a key. */
const ofOneCall: ReadonlySet<string> = new Set([
  'request_id',
  'session_id',
  'error_message',
  'tool_server',
  'tool_name',
  'parent_call_id',
  'tool_error',
])

/**
 * Whether calls of one key to one model may be alike in a column. It follows from the kind, which a released column
 * keeps: the lists of `usualColumns` in a record never change.
 */
function isShared({ kind, name }: (typeof columnList)[number]): boolean {
  const isText = kind === 'text' || kind === 'list' || kind === 'boolean' || kind === 'integer32'
  return isText && !ofOneCall.has(name)
}

const ownColumns = usualColumns.filter(column => !isShared(column))
const sharedColumns = usualColumns.filter(isShared)
const positionsOf = (columns: typeof columnList) => columns.map(column => columnList.indexOf(column))
const [ownPositions, sharedPositions] = [positionsOf(ownColumns), positionsOf(sharedColumns)]

const firstIntentColumns = intentColumnList.filter(column => column.since === undefined)
const ownIntentColumns = firstIntentColumns.filter(column => !isShared(column))
const sharedIntentColumns = firstIntentColumns.filter(isShared)
/** They stand behind what intents of before have. */
const laterIntentColumns = intentColumnList.filter(column => column.since !== undefined)
/** The id of the call, when it began, what calls of one key have in common, its input, what it has reserved. */
const intentColumnsInRecord = [
  ...ownIntentColumns.slice(0, 2),
  ...sharedIntentColumns,
  ...ownIntentColumns.slice(2),
  ...laterIntentColumns,
]
const laterIntentFields = compileFields<LedgerIntent>(laterIntentColumns)
const sharedIntentFields = compileFields<LedgerIntent>(sharedIntentColumns)
const ownFields = compileFields<LedgerRow>(ownColumns, [settlementMark])
const ownOccasionalFields = compileOccasionalFields(occasionalColumns.filter(column => !isShared(column)))
const sharedFields = compileFields<LedgerRow>(sharedColumns)
const sharedOccasionalFields = compileOccasionalFields(occasionalColumns.filter(isShared))

/**
 * Compiles `row => [...before, row.request_id, ...]`. Reading the fields in a loop takes 0.3 us more, as much as
 * `JSON.stringify` of the list.
 */
function compileFields<Row>(columns: typeof columnList, before: readonly number[] = []): (row: Row) => unknown[] {
  const fields = [...before, ...columns.map(({ name }) => `row.${name}`)]
  return new Function('row', `return [${fields.join(', ')}]`) as (row: Row) => unknown[]
}

/** Compiles `row => [30, row.images, ...]` of what is there; undefined = nothing is. */
function compileOccasionalFields(columns: typeof columnList): (row: LedgerRow) => unknown[] | undefined {
  const lines = columns.map(column => {
    const value = `row.${column.name}`
    const missing = JSON.stringify(missingValue(column))
    return `if (${value} !== ${missing}) (list ??= []).push(${columnList.indexOf(column)}, ${value})`
  })
  return new Function('row', `let list\n${lines.join('\n')}\nreturn list`) as (row: LedgerRow) => unknown[] | undefined
}

/** Compiles whether two rows have the same values in these columns. */
function compileComparison<Row>(columns: typeof columnList): (row: Row, other: Row) => boolean {
  const terms = columns.map(({ name }) => `row.${name} === other.${name}`)
  return new Function('row', 'other', `return ${terms.join(' && ')}`) as (row: Row, other: Row) => boolean
}

/** The JSON of what calls of one key to one model have in common: most are like the one before. */
class SharedTexts<Row extends { readonly key_id: string }> {
  readonly #isAlike: (row: Row, other: Row) => boolean
  readonly #textOf: (row: Row) => string
  /** The last of each key. */
  readonly #remembered = new Map<string, { readonly row: Row; readonly text: string }>()

  constructor(columns: typeof columnList, textOf: (row: Row) => string) {
    this.#isAlike = compileComparison(columns)
    this.#textOf = textOf
  }

  of(row: Row): string {
    const before = this.#remembered.get(row.key_id)
    if (before && this.#isAlike(row, before.row)) return before.text
    const text = this.#textOf(row)
    if (text.length <= recordLengthMax) this.#remember(row, text)
    return text
  }

  #remember(row: Row, text: string): void {
    if (this.#remembered.size >= rememberedMax) this.#remembered.clear()
    this.#remembered.set(row.key_id, { row, text })
  }
}

/** The middle of the list that an intent is, between a comma and its last item. */
const intentMiddles = new SharedTexts<LedgerIntent>(
  sharedIntentColumns,
  intent => `,${JSON.stringify(sharedIntentFields(intent)).slice(1, -1)}`,
)

/** One line of JSON, at most 64 KiB of UTF-8. */
export function encodeIntent(intent: LedgerIntent): string {
  const { request_id: id, started_at_ms: startedAtMs, input_tokens: inputTokens } = intent
  const { cost_nano_usd: cost, budget_nano_usd: reserved } = intent
  const known = reserved !== null ? [null, null, reserved] : cost !== null ? [inputTokens, cost] : [inputTokens]
  const isTool = intent.tool_server !== null
  const ends = isTool ? [inputTokens, cost, reserved, ...laterIntentFields(intent)] : known
  const end = !isTool && reserved === null && inputTokens === null ? ']' : `,${JSON.stringify(ends).slice(1)}`
  const text = `[${intentMark},${JSON.stringify(id)},${startedAtMs}${intentMiddles.of(intent)}${end}`
  if (text.length <= recordLengthMax) return text
  return JSON.stringify([intentMark, id, startedAtMs, ...sharedIntentFields(intent), ...ends].map(shortened))
}

/** The second line of a settlement. */
const sharedTexts = new SharedTexts<LedgerRow>(columnList.filter(isShared), row => JSON.stringify(sharedList(row)))

/** Two lines of JSON, at most 64 KiB of UTF-8. `JSON.stringify` of a list costs 0.3 us, of the object 0.5 us. */
export function encodeSettlement(row: LedgerRow): string {
  const fields = ownFields(row)
  const later = ownOccasionalFields(row)
  if (later) fields.push(later)
  const text = `${JSON.stringify(fields)}\n${sharedTexts.of(row)}`
  if (text.length <= recordLengthMax) return text
  return `${JSON.stringify(fields.map(shortened))}\n${JSON.stringify(sharedList(row).map(shortened))}`
}

function sharedList(row: LedgerRow): unknown[] {
  const fields = sharedFields(row)
  const later = sharedOccasionalFields(row)
  if (later) fields.push(later)
  return fields
}

function shortened(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shortened)
  return typeof value === 'string' ? value.slice(0, hostileTextLengthMax) : value
}

/** A record of the journal, read back. `values` are those of `columnList`, in its order. */
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
  const lineEnd = text.indexOf('\n')
  const values = lineEnd > 0 ? valuesOfLines(text.slice(0, lineEnd), text.slice(lineEnd + 1)) : undefined
  return values && { kind: 'settlement', id: String(values[0]), values }
}

/** Second lines whose values are remembered. */
const readMax = 500
const readShared = new Map<string, readonly ColumnValue[]>()

/** Of a settlement in two lines, in the order of `columnList`. */
function valuesOfLines(ownText: string, sharedText: string): ColumnValue[] | undefined {
  const own = parseList(ownText)
  if (own?.[0] !== settlementMark) return undefined
  let shared = readShared.get(sharedText)
  if (shared === undefined) {
    const read = missingValues.slice()
    const list = parseList(sharedText)
    if (list === undefined || !readColumns(list, sharedPositions, { from: 0, text: sharedText, values: read }))
      return undefined
    if (readShared.size >= readMax) readShared.clear()
    readShared.set(sharedText, (shared = read))
  }
  const values = shared.slice()
  return readColumns(own, ownPositions, { from: 1, text: ownText, values }) ? values : undefined
}

interface ColumnsRead {
  /** Where the first value stands in the list. */
  readonly from: number
  /** The list as it was written. */
  readonly text: string
  readonly values: ColumnValue[]
}

/**
 * Puts what a list has of the first columns, and the positions and values that may stand at its end, where they belong;
 * false = a newer version wrote it, or it is none of ours.
 */
function readColumns(
  list: readonly unknown[],
  positions: readonly number[],
  { from, text, values }: ColumnsRead,
): boolean {
  const end = from + positions.length
  const later = list.length === end + 1 ? list[end] : noPositions
  if (list.length < end || list.length > end + 1 || !Array.isArray(later)) return false
  const areTextsClean = isClean(text)
  for (let at = 0; at < positions.length; at++)
    values[positions[at]!] = storableValue(list[from + at], columnList[positions[at]!]!, areTextsClean)
  return readOccasionalColumns(later, values, areTextsClean)
}

const noPositions: readonly unknown[] = []

/** NUL and lone surrogates are escaped in JSON: without an escape the texts need not be searched for them. */
const isClean = (text: string): boolean => !text.includes('\\u')

/** Each value at the position before it; false = a newer version has more columns, or the list is none of ours. */
function readOccasionalColumns(later: readonly unknown[], values: ColumnValue[], areTextsClean: boolean): boolean {
  for (let at = 0; at + 1 < later.length; at += 2) {
    const position: unknown = later[at]
    if (typeof position !== 'number' || !(position >= usualColumns.length)) return false
    const column = columnList[position]
    if (column === undefined) return false
    values[position] = storableValue(later[at + 1], column, areTextsClean)
  }
  return true
}

function parseList(text: string): readonly unknown[] | undefined {
  try {
    const list: unknown = JSON.parse(text)
    return Array.isArray(list) ? (list as unknown[]) : undefined
  } catch {
    return undefined
  }
}

/** Without its input and what it has reserved, which are last. */
const intentLengthMin = 3 + sharedIntentColumns.length

/** The intent in a record that `decodeRecord` called one; undefined = it is none after all. */
export function readIntent(record: string): LedgerIntent | undefined {
  const fields = parseList(record)
  if (fields?.[0] !== intentMark || fields.length < intentLengthMin || fields.length > intentColumnsInRecord.length + 1)
    return undefined
  const values = intentColumnsInRecord.map((column, at) => [column.name, intentValue(fields[at + 1], column)])
  return Object.fromEntries(values) as unknown as LedgerIntent
}

function intentValue(value: unknown, column: LedgerColumn): unknown {
  const stored = storableValue(value, column)
  if (column.kind === 'list') return stored === null ? null : (JSON.parse(String(stored)) as unknown)
  return column.kind === 'boolean' && stored !== null ? stored === 1 : stored
}

/** The values of a call whose process died before it was settled, in the order of `columnList`. */
export function interruptedValues(intent: LedgerIntent): readonly ColumnValue[] {
  const row = interruptedRow(intent)
  return columnList.map(column => storableValue(row[column.name], column))
}

/** What a column takes in place of any value. `isTextClean` = it holds neither NUL nor a lone surrogate. */
function storableValue(value: unknown, column: LedgerColumn, isTextClean = false): ColumnValue {
  if (value === null || value === undefined) return column.nullable ? null : column.kind === 'text' ? '' : 0
  switch (column.kind) {
    case 'text':
      return isTextClean && typeof value === 'string' && value.length <= textLengthMax
        ? value
        : storableText(String(value))
    case 'json':
      return storableJson(value)
    case 'list':
      return storableList(value, isTextClean)
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

/** Of texts, each once; null = there is none. What is not a text is left out, and so is what is beyond the limit. */
function storableList(value: unknown, areTextsClean: boolean): string | null {
  if (!Array.isArray(value)) return null
  if (areTextsClean && isStorableList(value)) return JSON.stringify(value)
  const texts = (value as unknown[]).filter(one => typeof one === 'string' && one !== '').map(one => String(one))
  const stored = new Set(texts.slice(0, listItemsMax).map(storableText))
  return stored.size > 0 ? JSON.stringify([...stored]) : null
}

/** Most lists are: the budgets of a call. It saves copies of them, a microsecond a row. */
function isStorableList(list: readonly unknown[]): boolean {
  if (list.length === 0 || list.length > shortListItems) return false
  for (let at = 0; at < list.length; at++) {
    const text = list[at]
    if (typeof text !== 'string' || text === '' || text.length > textLengthMax) return false
    if (list.indexOf(text) < at) return false
  }
  return true
}

/** null = too long: cut, it would be none. */
function storableJson(value: unknown): string | null {
  if (typeof value !== 'string' || value.length > jsonLengthMax) return null
  return value.replaceAll('\0', '\ufffd').toWellFormed()
}

/** Postgres knows no NUL in a text, neither database a lone surrogate. */
function storableText(text: string): string {
  const cut = text.length > textLengthMax ? text.slice(0, textLengthMax) : text
  return (cut.includes('\0') ? cut.replaceAll('\0', '\ufffd') : cut).toWellFormed()
}

function storableDecimal(text: string): string | null {
  if (!/^-?\d{1,19}$/.test(text)) return null
  if (text.length < decimalMaxDigits) return text
  const amount = BigInt(text)
  return amount > decimalMax || amount < -decimalMax ? null : text
}
