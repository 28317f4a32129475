/** Reports the end of each call to the log and the metrics. */
import type { Settlement } from '../core/call.ts'
import type { Policy } from '../core/policy.ts'

/** `report` is called once per call, also for one that was refused. It must not throw or wait. */
export function observe(name: string, report: (settlement: Settlement) => void): Policy {
  return { name, stage: 'body', settled: report }
}
