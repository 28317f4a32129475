/** A session as its calls tell it: turns, sums, and what broke the flow of its prompt cache. Pure functions. */
import type { LedgerRow } from './ledger-columns.ts'

/** What is read of each call of a session. */
export type SessionRow = Pick<
  LedgerRow,
  | 'request_id'
  | 'started_at_ms'
  | 'duration_ms'
  | 'first_byte_ms'
  | 'route'
  | 'operation'
  | 'model'
  | 'deployment_id'
  | 'provider'
  | 'outcome'
  | 'status'
  | 'error_kind'
  | 'attempts'
  | 'input_tokens'
  | 'cached_input_tokens'
  | 'cache_write_tokens'
  | 'output_tokens'
  | 'reasoning_tokens'
  | 'cost_nano_usd'
>

/**
 * What is unlike the turn before: it failed, its stream was cut, its client left; another model, another deployment;
 * the conversation was compacted; nothing of a prompt was cached that was long enough and whose predecessor was.
 */
export const sessionBreaks = ['failed', 'cut', 'left', 'model', 'deployment', 'compaction', 'cold'] as const
/** One of `sessionBreaks`. */
export type SessionBreak = (typeof sessionBreaks)[number]

/** Tokens, calls and money. Counts leave out what is not known. */
export interface SessionSums {
  readonly calls: number
  readonly failed: number
  readonly input_tokens: number
  readonly cached_input_tokens: number
  readonly cache_write_tokens: number
  readonly output_tokens: number
  readonly reasoning_tokens: number
  /** Nano-dollars of calls whose cost is known. */
  readonly costNanoUsd: bigint
  /** Calls that went to an upstream and whose cost is not known. */
  readonly unpriced: number
}

/** One call of a session. */
export interface SessionTurn extends SessionRow {
  readonly breaks: readonly SessionBreak[]
}

/** No vendor caches a shorter prompt. */
const cachedTokensMin = 1024
const compactions: ReadonlySet<string> = new Set(['/v1/responses/compact'])

/** The calls with what broke between them; `rows` are the oldest first. */
export function turnsOf(rows: readonly SessionRow[]): SessionTurn[] {
  let before: SessionRow | undefined
  return rows.map(row => {
    const turn = { ...row, breaks: breaksOf(row, before) }
    if (row.outcome === 'success') before = row
    return turn
  })
}

function breaksOf(row: SessionRow, before: SessionRow | undefined): SessionBreak[] {
  const found: SessionBreak[] = []
  if (row.outcome === 'error' || row.outcome === 'interrupted') found.push('failed')
  if (row.outcome === 'upstream_cut') found.push('cut')
  if (row.outcome === 'client_closed') found.push('left')
  if (compactions.has(row.route)) found.push('compaction')
  if (!before || row.outcome !== 'success') return found
  if (row.model !== before.model) found.push('model')
  else if (row.deployment_id !== before.deployment_id) found.push('deployment')
  if (isLong(row) && isLong(before) && !row.cached_input_tokens && wasCached(before)) found.push('cold')
  return found
}

const isLong = ({ input_tokens: tokens }: SessionRow): boolean => tokens !== null && tokens >= cachedTokensMin
const wasCached = ({ cached_input_tokens: read, cache_write_tokens: written }: SessionRow): boolean =>
  (read ?? 0) + (written ?? 0) > 0

/** All calls together. */
export function sumsOf(rows: readonly SessionRow[]): SessionSums {
  const sum = (of: (row: SessionRow) => number | null) => rows.reduce((all, row) => all + (of(row) ?? 0), 0)
  return {
    calls: rows.length,
    failed: rows.filter(({ outcome }) => outcome !== 'success').length,
    input_tokens: sum(row => row.input_tokens),
    cached_input_tokens: sum(row => row.cached_input_tokens),
    cache_write_tokens: sum(row => row.cache_write_tokens),
    output_tokens: sum(row => row.output_tokens),
    reasoning_tokens: sum(row => row.reasoning_tokens),
    costNanoUsd: rows.reduce((all, { cost_nano_usd: cost }) => all + BigInt(cost ?? 0), 0n),
    unpriced: rows.filter(({ cost_nano_usd: cost, attempts }) => cost === null && attempts > 0).length,
  }
}

/** The same by something that each call has, the dearest first. */
export function sumsBy(
  rows: readonly SessionRow[],
  nameOf: (row: SessionRow) => string | null,
): (SessionSums & { readonly name: string | null })[] {
  return [...Map.groupBy(rows, nameOf)]
    .map(([name, group]) => ({ name, ...sumsOf(group) }))
    .toSorted((a, b) => Number(b.costNanoUsd - a.costNanoUsd) || b.calls - a.calls)
}
