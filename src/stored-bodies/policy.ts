/** Decides which calls are stored, and lets a collector of bodies take part in them. Others pay a few comparisons. */
import type { BodySettings } from '../core/ledger/stored-bodies.ts'
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
function isStored({ caller, format, options, overrides, headers }: Call, settings: BodySettings): boolean {
  const ofKey = caller.key.storesBodies
  const ofTeam = caller.team?.storesBodies ?? null
  if (ofKey === false || ofTeam === false || !(settings.isOn || ofKey || ofTeam)) return false
  if (format === undefined || options.isPrivate) return false
  return !settings.clientsMayRefuse || !(overrides.noLog === true || isTrue(headers?.get(refusingHeader)))
}

/** LiteLLM's, for dialects whose bodies have no word for it. */
const refusingHeader = 'x-litellm-enable-message-redaction'

const isTrue = (text: string | null | undefined): boolean => text?.toLowerCase() === 'true'
