/** Whether a row is one of a query: says in memory what the conditions of `ledger-query.ts` say in SQL. */
import type { FollowedRows } from '../../../core/ledger/ledger-tail.ts'
import type { LedgerRow } from '../../../core/ledger/ledger-columns.ts'
import { asciiLower } from '../../../lib/text.ts'
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
    [query.provider, row.provider],
    [query.errorKind, row.error_kind],
  ] as const
  return (
    filters.every(([wanted, value]) => wanted === undefined || wanted === value) &&
    (fromMs === undefined || row.started_at_ms >= Math.ceil(fromMs)) &&
    (toMs === undefined || row.started_at_ms < Math.ceil(toMs)) &&
    (visible === undefined || isVisible(row, visible)) &&
    (hits === undefined || isHit[hits](row)) &&
    (minDurationMs === undefined || row.duration_ms >= minDurationMs) &&
    (query.isFailed === undefined || row.outcome !== 'success') &&
    isAmong(row, query.among) &&
    hasTexts(row, query) &&
    (errorStatus === undefined || (row.error_kind !== null && row.status === errorStatus)) &&
    hasCost(row, query)
  )
}

function isAmong(row: LedgerRow, among: FollowedRows['among'] = {}): boolean {
  return Object.entries(among).every(([column, values]) => {
    const value = row[column as keyof VisibleUsage]
    return value !== null && values.includes(value)
  })
}

function hasTexts(row: LedgerRow, { statusRange, errorText, tag, modelPattern }: FollowedRows): boolean {
  const holds = (text: string | null, part: string) => text !== null && asciiLower(text).includes(asciiLower(part))
  return (
    (statusRange === undefined || (row.status >= statusRange[0] && row.status <= statusRange[1])) &&
    (errorText === undefined || holds(row.error_message, errorText)) &&
    (tag === undefined || row.request_tags?.includes(tag) === true) &&
    (modelPattern === undefined || fitsPattern(asciiLower(row.model), asciiLower(modelPattern)))
  )
}

/** `*` stands for any characters. */
function fitsPattern(text: string, pattern: string): boolean {
  const [first = '', ...others] = pattern.split('*')
  const last = others.pop()
  if (last === undefined) return text === pattern
  if (!text.startsWith(first)) return false
  let from = first.length
  for (const part of others) {
    const at = text.indexOf(part, from)
    if (at < 0) return false
    from = at + part.length
  }
  return text.length >= from + last.length && text.endsWith(last)
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
