/** Tells the log and the metrics how each call ended. */
import type { Settlement } from '../core/call.ts'
import type { Policy } from '../core/policy.ts'

/** `see` is called once a call, also for one that was refused. It must not throw or wait. */
export function observe(name: string, see: (settlement: Settlement) => void): Policy {
  return { name, stage: 'body', settled: see }
}
