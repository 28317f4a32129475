/** Metrics of stored bodies. */
import type { BodyCounts } from '../core/ledger/stored-bodies.ts'
import type { Exposition } from './exposition.ts'

/** Nothing is shown while no call was to be stored. */
export function exposeBodies(out: Exposition, { stored, lost, waitingBytes }: BodyCounts): void {
  const losses = Object.entries(lost)
  if (stored === 0 && waitingBytes === 0 && losses.every(([, count]) => count === 0)) return
  out.value('modelgate_stored_bodies_total', {}, stored)
  for (const [reason, count] of losses) out.value('modelgate_lost_bodies_total', { reason }, count)
  out.value('modelgate_waiting_bodies_bytes', {}, waitingBytes)
}
