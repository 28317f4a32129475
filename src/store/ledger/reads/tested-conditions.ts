/** Conditions that no index of the ledger knows: they are tested in rows that others have found. */
import type { LedgerQuery } from '../../../core/ledger/ledger.ts'
import { storableParameter } from './storable-parameter.ts'

/** `text` binds the values of the statement. */
export interface TestedCondition {
  readonly columns: readonly string[]
  readonly text: (bind: (value: number | string) => string) => string
}

type TestedFields = Pick<
  LedgerQuery,
  'minDurationMs' | 'minCostNanoUsd' | 'maxCostNanoUsd' | 'deploymentId' | 'errorStatus'
>

/** Those of the query. `tail/tail-match.ts` says the same in memory. */
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
