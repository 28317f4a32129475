/** Metrics of stored bodies. */
import type { BodyCounts } from '../core/ledger/stored-bodies.ts'
import type { Exposition } from './exposition.ts'

/** Nothing is shown while no call was to be stored. */
export function exposeBodies(out: Exposition, { stored, lost, waitingBytes }: BodyCounts): void {
  const losses = Object.entries(lost)
  if (stored === 0 && waitingBytes === 0 && losses.every(([, count]) => count === 0)) return
  const kept = { name: 'modelgate_stored_bodies_total', help: 'Calls of which request and answer were stored.' }
  out.value({ ...kept, type: 'counter' }, {}, stored)
  const missed = { name: 'modelgate_lost_bodies_total', help: 'Calls that were to be stored and were not, by reason.' }
  for (const [reason, count] of losses) out.value({ ...missed, type: 'counter' }, { reason }, count)
  const waiting = { name: 'modelgate_waiting_bodies_bytes', help: 'Of open calls that are stored, and of the queue.' }
  out.value({ ...waiting, type: 'gauge' }, {}, waitingBytes)
}
