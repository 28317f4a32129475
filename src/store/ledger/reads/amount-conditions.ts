/** Conditions on amounts, which no index of the ledger knows: they are tested in rows that others have found. */
import type { LedgerQuery } from '../../../core/ledger/ledger.ts'

/** `text` gives the value its place in a statement. */
export interface AmountCondition {
  readonly column: string
  readonly text: (place: (value: number) => string) => string
}

/** Those of the query. `tail/tail-match.ts` says the same in memory. */
export function amountConditions({
  minDurationMs,
  minCostNanoUsd,
}: Pick<LedgerQuery, 'minDurationMs' | 'minCostNanoUsd'>): readonly AmountCondition[] {
  const atLeast = (column: string, least: number | undefined): AmountCondition[] =>
    least === undefined ? [] : [{ column, text: place => `${column} >= ${place(least)}` }]
  return [...atLeast('duration_ms', minDurationMs), ...atLeast('cost_nano_usd', minCostNanoUsd)]
}
