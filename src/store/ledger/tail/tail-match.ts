/** Whether a row is one of a query: says in memory what the conditions of `ledger-query.ts` say in SQL. */
import type { FollowedRows } from '../../../core/ledger/ledger-tail.ts'
import type { LedgerRow } from '../../../core/ledger/ledger-columns.ts'
import type { VisibleUsage } from '../../../core/ledger/usage-report.ts'

/** A test compares it with the database. */
export function isFollowed(row: LedgerRow, query: FollowedRows): boolean {
  const { fromMs, toMs, visible, hits, minDurationMs, minCostNanoUsd } = query
  const asked = [
    [query.keyId, row.key_id],
    [query.userId, row.user_id],
    [query.teamId, row.team_id],
    [query.endUser, row.end_user],
    [query.requestId, row.request_id],
    [query.sessionId, row.session_id],
    [query.model, row.model],
    [query.outcome, row.outcome],
  ] as const
  return (
    asked.every(([wanted, value]) => wanted === undefined || wanted === value) &&
    (fromMs === undefined || row.started_at_ms >= Math.ceil(fromMs)) &&
    (toMs === undefined || row.started_at_ms < Math.ceil(toMs)) &&
    (visible === undefined || isVisible(row, visible)) &&
    (hits === undefined || isHit[hits](row)) &&
    (minDurationMs === undefined || row.duration_ms >= minDurationMs) &&
    (minCostNanoUsd === undefined || (row.cost_nano_usd !== null && Number(row.cost_nano_usd) >= minCostNanoUsd))
  )
}

function isVisible(row: LedgerRow, visible: VisibleUsage): boolean {
  return Object.entries(visible).some(([field, values]) => {
    const value = row[field as keyof VisibleUsage]
    return value !== null && values.includes(value)
  })
}

/** As `hit-conditions.ts`. */
const isHit: Readonly<Record<NonNullable<FollowedRows['hits']>, (row: LedgerRow) => boolean>> = {
  guardrail: ({ guardrails }) => guardrails !== null && /:(mask|block|flag|error)/.test(guardrails),
  cache: ({ cache_hit_kind }) => cache_hit_kind !== null,
}
