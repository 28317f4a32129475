import type { Settlement } from '../core/call.ts'
import type { Policy } from '../core/policy.ts'
import type { Ledger, ModelDirectory } from '../core/ports.ts'
import type { Limiter } from '../core/limits.ts'
import type { Settings } from '../core/settings.ts'
import { countLocally } from './count-locally.ts'
import { modelAccess } from './model-access.ts'
import { observe } from './observe.ts'
import { rateLimit } from './rate-limit.ts'
import { recordLedger } from './record-ledger.ts'

/** `settings` and `models` are asked anew for each call: a reload replaces them. */
interface PolicyParts {
  readonly ledger: Ledger
  readonly limiter: Limiter
  settings(): Settings
  models(): ModelDirectory
  log(settlement: Settlement): void
  count(settlement: Settlement): void
}

/**
 * Read top to bottom: this is the order a call passes through, and the order in which the parts hear
 * of its end. The ledger hears first: it must hold the record before anything else can go wrong.
 */
export function createPolicies(parts: PolicyParts): Policy[] {
  return [
    recordLedger(parts.ledger),
    observe('log', parts.log),
    observe('metrics', parts.count),
    modelAccess(parts.models),
    countLocally(),
    rateLimit(parts.limiter, parts.settings),
  ]
}
