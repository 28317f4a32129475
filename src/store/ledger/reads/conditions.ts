/** Conditions of questions to the ledger, as SQL. */
import type { LedgerQuery } from '../../../core/ledger/ledger.ts'

/** Postgres refuses a NUL in a parameter, and both databases half of a surrogate pair; no stored text has either. */
export function storableParameter(text: string): string {
  return text.replaceAll('\0', '\ufffd').toWellFormed()
}

/**
 * SQL, by what was hit: a guardrail that found something or was not answered, or an answer from the cache. The indexes
 * of hits are made with these conditions: SQLite compares the texts.
 */
export const hitConditions: Readonly<Record<NonNullable<LedgerQuery['hits']>, string>> = {
  guardrail: `(${['mask', 'block', 'flag', 'error'].map(one => `guardrails like '%:${one}%'`).join(' or ')})`,
  cache: 'cache_hit_kind is not null',
}

/**
 * A condition that no index of the ledger knows: it is tested in rows that others have found. `text` binds its values.
 */
export interface TestedCondition {
  readonly columns: readonly string[]
  readonly text: (bind: (value: number | string) => string) => string
}

type TestedFields = Pick<
  LedgerQuery,
  'minDurationMs' | 'minCostNanoUsd' | 'maxCostNanoUsd' | 'deploymentId' | 'errorStatus'
>

/** The conditions of a query that no index knows. `tail/tail-match.ts` says the same in memory. */
export function testedConditions(query: TestedFields): readonly TestedCondition[] {
  const compared = (column: string, sign: string, value: number | string | undefined): TestedCondition[] =>
    value === undefined ? [] : [{ columns: [column], text: bind => `${column} ${sign} ${bind(value)}` }]
  const failed = compared('status', '=', query.errorStatus)
  return [
    ...compared('duration_ms', '>=', query.minDurationMs),
    ...compared('cost_nano_usd', '>=', query.minCostNanoUsd),
    ...compared('cost_nano_usd', '<=', query.maxCostNanoUsd),
    ...compared('deployment_id', '=', query.deploymentId && storableParameter(query.deploymentId)),
    ...failed,
    ...(failed.length > 0 ? [{ columns: ['error_kind'], text: () => 'error_kind is not null' }] : []),
  ]
}
