/** Tells the log and the metrics how each call ended. */
import type { Settlement } from '../core/call.ts'
import type { Policy } from '../core/policy.ts'

export function observe(name: string, see: (settlement: Settlement) => void): Policy {
  return { name, settled: see }
}
