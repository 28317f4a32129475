/** A group of endpoints that is loaded at the first request for one of them. */
import type { Endpoint } from '../../core/endpoint.ts'
import { callBodyEndpoints } from '../spend/stored-bodies.ts'
import { spendEvents } from '../spend/spend-events.ts'
import { spendLogs } from '../spend/spend-logs.ts'
import { activityEndpoints } from '../spend/activity.ts'
import { allSpendLogs } from '../spend/all-rows.ts'
import { estimateEndpoints } from '../spend/estimate.ts'
import { spendHistogram } from '../spend/histogram.ts'
import { reportEndpoints } from '../spend/report.ts'
import { spendSummary } from '../spend/summary.ts'
import { sessionEndpoints } from '../spend/sessions.ts'
import { totalsEndpoints } from '../spend/totals.ts'

/** What was called and what it cost: logs, events, sums, reports, stored bodies. */
export const endpoints: readonly Endpoint[] = [
  spendLogs,
  allSpendLogs,
  spendHistogram,
  spendEvents,
  spendSummary,
  ...sessionEndpoints,
  ...callBodyEndpoints,
  ...totalsEndpoints,
  ...reportEndpoints,
  ...activityEndpoints,
  ...estimateEndpoints,
]
