/** Decides which calls are stored, and lets a collector of bodies take part in them. Others pay a few comparisons. */
import type { BodySettings } from '../core/ledger/stored-bodies.ts'
import { refusesStorage } from '../core/ledger/storage-refusal.ts'
import type { Call } from '../core/call.ts'
import type { Policy } from '../core/policy.ts'
import { BodyCollector } from './body-collector.ts'
import type { CollectorParts } from './body-collector.ts'

/**
 * Behind all policies that read or change the request: a call that one of them refuses is not stored, and what they
 * have masked is stored masked. Before the cache, whose answers are stored as others are.
 */
export function storeBodies(parts: CollectorParts): Policy {
  return {
    name: 'record-bodies',
    stage: 'body',
    dryRun: false,
    admit(call) {
      const { bodies } = call.models.settings
      if (bodies.isOn !== false && isStored(call, bodies)) call.bodyCollector = BodyCollector.start(parts, call, bodies)
    },
    settled(settlement) {
      const { bodyCollector } = settlement.call
      if (bodyCollector instanceof BodyCollector) bodyCollector.settled(settlement)
    },
  }
}

/** One no is enough, and one yes is needed. */
function isStored(call: Call, { isOn }: BodySettings): boolean {
  const isAsked = isOn || call.caller.key.storesBodies || call.caller.team?.storesBodies
  return isAsked === true && call.format !== undefined && !refusesStorage(call)
}
