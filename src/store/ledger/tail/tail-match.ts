/** Whether a row is one of a query: says in memory what the conditions of `ledger-query.ts` say in SQL. */
import type { FollowedRows } from '../../../core/ledger/ledger-tail.ts'
import type { LedgerRow } from '../../../core/ledger/ledger-columns.ts'
import type { VisibleUsage } from '../../../core/ledger/usage-report.ts'

/** A test compares it with the database. */
export function isFollowed(row: LedgerRow, query: FollowedRows): boolean {
  const { fromMs, toMs, visible, hits, minDurationMs, errorStatus } = query
  const filters = [
    [query.keyId, row.key_id],
    [query.userId, row.user_id],
    [query.teamId, row.team_id],
    [query.endUser, row.end_user],
    [query.requestId, row.request_id],
    [query.sessionId, row.session_id],
    [query.model, row.model],
    [query.outcome, row.outcome],
    [query.deploymentId, row.deployment_id],
  ] as const
  return (
    filters.every(([wanted, value]) => wanted === undefined || wanted === value) &&
    (fromMs === undefined || row.started_at_ms >= Math.ceil(fromMs)) &&
    (toMs === undefined || row.started_at_ms < Math.ceil(toMs)) &&
    (visible === undefined || isVisible(row, visible)) &&
    (hits === undefined || isHit[hits](row)) &&
    (minDurationMs === undefined || row.duration_ms >= minDurationMs) &&
    (errorStatus === undefined || (row.error_kind !== null && row.status === errorStatus)) &&
    hasCost(row, query)
  )
}

/** A call whose cost is not known is in no range. */
function hasCost({ cost_nano_usd: cost }: LedgerRow, { minCostNanoUsd: least, maxCostNanoUsd: most }: FollowedRows) {
  if (least === undefined && most === undefined) return true
  return (
    cost !== null &&
    Number(cost) >= (least ?? Number.NEGATIVE_INFINITY) &&
    Number(cost) <= (most ?? Number.POSITIVE_INFINITY)
  )
}

function isVisible(row: LedgerRow, visible: VisibleUsage): boolean {
  return Object.entries(visible).some(([field, values]) => {
    const value = row[field as keyof VisibleUsage]
    return value !== null && values.includes(value)
  })
}

/** As `hitConditions` of `conditions.ts` says it in SQL. */
const isHit: Readonly<Record<NonNullable<FollowedRows['hits']>, (row: LedgerRow) => boolean>> = {
  guardrail: ({ guardrails }) => guardrails !== null && /:(mask|block|flag|error)/.test(guardrails),
  cache: ({ cache_hit_kind }) => cache_hit_kind !== null,
}
