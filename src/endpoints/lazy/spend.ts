/** A group of endpoints that is loaded at the first request for one of them. */
import type { Endpoint } from '../../core/endpoint.ts'
import { callBodyEndpoints } from '../administration/call-bodies.ts'
import { spendEvents } from '../administration/spend-events.ts'
import { spendLogs } from '../administration/spend.ts'
import { activityEndpoints } from '../administration/spend/activity.ts'
import { estimateEndpoints } from '../administration/spend/estimate.ts'
import { spendHistogram } from '../administration/spend/histogram.ts'
import { reportEndpoints } from '../administration/spend/report.ts'
import { totalsEndpoints } from '../administration/spend/totals.ts'

/** What was called and what it cost: logs, events, sums, reports, stored bodies. */
export const endpoints: readonly Endpoint[] = [
  spendLogs,
  spendHistogram,
  spendEvents,
  ...callBodyEndpoints,
  ...totalsEndpoints,
  ...reportEndpoints,
  ...activityEndpoints,
  ...estimateEndpoints,
]
