/**
 * The words of the journal: an intent or a settlement as one line of JSON, and back as what a database takes.
 */
import type { Ledger, LedgerRow, LedgerUnits } from '../../core/ports.ts'

/** What `Ledger.begin` takes. */
export type LedgerIntent = Parameters<Ledger['begin']>[0]

/** A value as it is bound to a column. Flags are 0 and 1, money is decimal text. */
export type ColumnValue = string | number | null

type ColumnKind = 'text' | 'integer' | 'small' | 'real' | 'flag' | 'money'

interface LedgerColumn<Name = keyof LedgerRow> {
  readonly name: Name
  readonly kind: ColumnKind
  /** May be null. */
  readonly null?: true
}

/** A row of a call that used nothing but tokens: nearly every call. */
type PlainRow = Omit<LedgerRow, keyof LedgerUnits>

/** The columns that every settlement has, in the order of its record: all there were before version 5 of the database. */
export const plainColumns: readonly LedgerColumn<keyof PlainRow>[] = [
  { name: 'request_id', kind: 'text' },
  { name: 'started_at_ms', kind: 'integer' },
  { name: 'route', kind: 'text' },
  { name: 'operation', kind: 'text' },
  { name: 'outcome', kind: 'text' },
  { name: 'status', kind: 'small' },
  { name: 'error_kind', kind: 'text', null: true },
  { name: 'model', kind: 'text' },
  { name: 'deployment_id', kind: 'text', null: true },
  { name: 'provider', kind: 'text', null: true },
  { name: 'upstream_model', kind: 'text', null: true },
  { name: 'key_id', kind: 'text' },
  { name: 'key_alias', kind: 'text', null: true },
  { name: 'user_id', kind: 'text', null: true },
  { name: 'team_id', kind: 'text', null: true },
  { name: 'end_user', kind: 'text', null: true },
  { name: 'stream', kind: 'flag' },
  { name: 'input_tokens', kind: 'integer', null: true },
  { name: 'output_tokens', kind: 'integer', null: true },
  { name: 'cached_input_tokens', kind: 'integer', null: true },
  { name: 'cache_write_tokens', kind: 'integer', null: true },
  { name: 'reasoning_tokens', kind: 'integer', null: true },
  { name: 'usage_source', kind: 'text' },
  { name: 'cost_nano_usd', kind: 'money', null: true },
  { name: 'duration_ms', kind: 'real' },
  { name: 'first_byte_ms', kind: 'real', null: true },
  { name: 'attempts', kind: 'small' },
  { name: 'client_address', kind: 'text', null: true },
  { name: 'user_agent', kind: 'text', null: true },
]

/** What follows in the record of a call that has any of it. New columns go to the end: older records stop before them. */
const unitColumns: readonly LedgerColumn<keyof LedgerUnits>[] = [
  { name: 'cache_write_one_hour_tokens', kind: 'integer', null: true },
  { name: 'input_audio_tokens', kind: 'integer', null: true },
  { name: 'output_audio_tokens', kind: 'integer', null: true },
  { name: 'input_image_tokens', kind: 'integer', null: true },
  { name: 'output_image_tokens', kind: 'integer', null: true },
  { name: 'images', kind: 'integer', null: true },
  { name: 'audio_microseconds', kind: 'integer', null: true },
  { name: 'characters', kind: 'integer', null: true },
  { name: 'search_units', kind: 'real', null: true },
]

/** Every column of table `ledger`. */
export const ledgerColumns: readonly LedgerColumn[] = [...plainColumns, ...unitColumns]

/** Longer texts are cut in the database: an index of Postgres refuses entries of more than 2700 bytes. */
const textLengthMax = 512
/**
 * A record of at most this many UTF-16 units is written as it is; 3 bytes each stay under `recordBytesMax`.
 */
const recordLengthMax = 16_384
/** A hostile record is cut to this many units a text, which bounds it even when each becomes `\u0000`. */
const hostileTextLengthMax = 256
const integerMax = Number.MAX_SAFE_INTEGER
const smallMax = 2 ** 31 - 1
const moneyMax = 2n ** 63n - 1n

const intentMark = 0
const settlementMark = 1
const intentStart = `[${intentMark},"`
const intentLength = 10

/**
 * One line of JSON, at most 64 KiB of UTF-8. `JSON.stringify` of a list costs 0.3 us, of the object 0.5 us.
 */
export function encodeIntent(intent: LedgerIntent): string {
  return bounded([
    intentMark,
    intent.request_id,
    intent.started_at_ms,
    intent.route,
    intent.operation,
    intent.model,
    intent.key_id,
    intent.user_id,
    intent.team_id,
    intent.stream,
  ])
}

/**
 * One line of JSON, at most 64 KiB of UTF-8. The order is that of `ledgerColumns`; without units it ends where
 * `plainColumns` do, and costs what it did before there were any.
 */
export function encodeSettlement(row: LedgerRow): string {
  const values = [
    settlementMark,
    row.request_id,
    row.started_at_ms,
    row.route,
    row.operation,
    row.outcome,
    row.status,
    row.error_kind,
    row.model,
    row.deployment_id,
    row.provider,
    row.upstream_model,
    row.key_id,
    row.key_alias,
    row.user_id,
    row.team_id,
    row.end_user,
    row.stream,
    row.input_tokens,
    row.output_tokens,
    row.cached_input_tokens,
    row.cache_write_tokens,
    row.reasoning_tokens,
    row.usage_source,
    row.cost_nano_usd,
    row.duration_ms,
    row.first_byte_ms,
    row.attempts,
    row.client_address,
    row.user_agent,
  ]
  if (hasUnits(row)) for (const { name } of unitColumns) values.push(row[name])
  return bounded(values)
}

function hasUnits(row: LedgerUnits): boolean {
  const ofTokens =
    row.cache_write_one_hour_tokens ??
    row.input_audio_tokens ??
    row.output_audio_tokens ??
    row.input_image_tokens ??
    row.output_image_tokens
  return (ofTokens ?? row.images ?? row.audio_microseconds ?? row.characters ?? row.search_units) !== null
}

function bounded(values: readonly unknown[]): string {
  const text = JSON.stringify(values)
  if (text.length <= recordLengthMax) return text
  return JSON.stringify(values.map(value => (typeof value === 'string' ? value.slice(0, hostileTextLengthMax) : value)))
}

/**
 * A record of the journal, read back. `values` stand in the order of `ledgerColumns`; there are as many as there are
 * `plainColumns` when the call used nothing but tokens.
 */
type LedgerRecord =
  /** Nearly every intent is settled a moment later: its fields are read by `readIntent`, when they are needed. */
  | { readonly kind: 'intent'; readonly id: string }
  | { readonly kind: 'settlement'; readonly id: string; readonly values: readonly ColumnValue[] }

/**
 * undefined = not a record of this program. Values that a column would refuse are mended, never thrown on.
 */
export function decodeRecord(text: string): LedgerRecord | undefined {
  const plainId = text.startsWith(intentStart) ? text.indexOf('"', intentStart.length) : -1
  // The checksum has proven the record whole; an id with an escape is no id of this program.
  if (plainId > 0) return { kind: 'intent', id: text.slice(intentStart.length, plainId) }
  const fields = parseList(text)
  const columns = fields?.[0] === settlementMark ? columnsOf(fields.length - 1) : undefined
  if (fields === undefined || columns === undefined) return undefined
  const values = columns.map((column, at) => columnValue(fields[at + 1], column))
  return { kind: 'settlement', id: String(fields[1] ?? ''), values }
}

/** The columns of a record with so many values. One in between was written before the last columns were there: null. */
function columnsOf(values: number): readonly LedgerColumn[] | undefined {
  if (values === plainColumns.length) return plainColumns
  return values > plainColumns.length && values <= ledgerColumns.length ? ledgerColumns : undefined
}

function parseList(text: string): readonly unknown[] | undefined {
  try {
    const list: unknown = JSON.parse(text)
    return Array.isArray(list) ? (list as unknown[]) : undefined
  } catch {
    return undefined
  }
}

/** The intent in a record that `decodeRecord` called one; undefined = it is none after all. */
export function readIntent(record: string): LedgerIntent | undefined {
  const fields = parseList(record)
  if (fields?.[0] !== intentMark || fields.length !== intentLength) return undefined
  const text = (at: number) => String(fields[at] ?? '')
  const textOrNull = (at: number) => (typeof fields[at] === 'string' ? fields[at] : null)
  return {
    request_id: text(1),
    started_at_ms: Number(fields[2] ?? 0),
    route: text(3),
    operation: text(4),
    model: text(5),
    key_id: text(6),
    user_id: textOrNull(7),
    team_id: textOrNull(8),
    stream: fields[9] === true,
  }
}

/** The row of a call whose process died before it was settled: nobody knows what it used. */
export function interruptedRow(intent: LedgerIntent): readonly ColumnValue[] {
  const row: PlainRow = {
    ...intent,
    outcome: 'interrupted',
    status: 500,
    error_kind: 'internal',
    deployment_id: null,
    provider: null,
    upstream_model: null,
    key_alias: null,
    end_user: null,
    input_tokens: null,
    output_tokens: null,
    cached_input_tokens: null,
    cache_write_tokens: null,
    reasoning_tokens: null,
    usage_source: 'none',
    cost_nano_usd: null,
    duration_ms: 0,
    first_byte_ms: null,
    attempts: 0,
    client_address: null,
    user_agent: null,
  }
  return plainColumns.map(column => columnValue(row[column.name], column))
}

function columnValue(value: unknown, column: LedgerColumn): ColumnValue {
  if (value === null || value === undefined) return column.null ? null : column.kind === 'text' ? '' : 0
  switch (column.kind) {
    case 'text':
      return storableText(String(value))
    case 'flag':
      return value === true || value === 1 ? 1 : 0
    case 'money':
      return storableMoney(String(value))
    case 'real':
      return Number.isFinite(value) ? (value as number) : 0
    case 'integer':
    case 'small': {
      const max = column.kind === 'small' ? smallMax : integerMax
      return Number.isFinite(value) ? Math.max(-max, Math.min(max, Math.trunc(value as number))) : 0
    }
  }
}

/** Postgres knows no NUL in a text, neither database a lone surrogate. */
function storableText(text: string): string {
  const cut = text.length > textLengthMax ? text.slice(0, textLengthMax) : text
  return (cut.includes('\0') ? cut.replaceAll('\0', '\ufffd') : cut).toWellFormed()
}

function storableMoney(text: string): string | null {
  if (!/^-?\d{1,19}$/.test(text)) return null
  const amount = BigInt(text)
  return amount > moneyMax || amount < -moneyMax ? null : text
}
