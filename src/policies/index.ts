import type { Call, Settlement } from '../core/call.ts'
import type { Ledger } from '../core/ledger.ts'
import type { Limiter } from '../core/limits.ts'
import type { Policy, RequestPolicy } from '../core/policy.ts'
import type { Settings } from '../core/settings.ts'
import { bodyBudget } from './body-budget.ts'
import { checkFields, prepareCall } from './check-fields.ts'
import { countTokens } from './count-tokens.ts'
import { fallbacks } from './fallbacks.ts'
import { identify } from './identify.ts'
import type { FindCaller } from './identify.ts'
import { modelAccess } from './model-access.ts'
import { modelMode } from './model-mode.ts'
import { observe } from './observe.ts'
import { placeFiles } from './place-files.ts'
import { countRequests, rateLimit } from './rate-limit.ts'
import { recordLedger } from './record-ledger.ts'
import { requireRole } from './require-role.ts'

/** What the policies work with. */
export interface AdmissionParts {
  readonly findCaller: FindCaller
  readonly limiter: Limiter
  readonly ledger: Ledger
  /** Of this moment; a call has its own. */
  settings(): Settings
  placeFiles(call: Call): Promise<void> | undefined
  /** Of the program that starts the gateway; asked where `createAdmission` says. */
  readonly own: readonly Policy[]
  log(settlement: Settlement): void
  count(settlement: Settlement): void
}

/**
 * Admission, top to bottom: every request with a key passes the first group, every call the others. Nothing else
 * refuses a request before it is routed, but the reading of its body (size, framing, encoding, JSON). The end of a call
 * is told from the bottom to the top: the ledger has its record before anything else hears of it.
 */
export function createAdmission(parts: AdmissionParts): readonly (RequestPolicy | Policy)[] {
  const limits = rateLimit(parts.limiter)
  const bodyBytes = bodyBudget()
  return [
    // Every request with a key, on its head.
    identify(parts.findCaller),
    countRequests(parts.limiter, parts.settings),
    requireRole(),

    // Every call, before its body is read: what is refused here costs and holds nothing.
    limits.onHead,
    bodyBytes.onHead,

    // The body is read: what the call asks for, and of which models.
    bodyBytes.onBody,
    checkFields(),
    prepareCall(),
    modelAccess(),
    modelMode(),
    fallbacks(),

    // Policies that read or change what is asked and answered.
    ...parts.own,

    countTokens(),
    limits.onBody,
    placeFiles(parts.placeFiles),

    // From here on the call is known to the journal; it is routed next.
    observe('metrics', parts.count),
    observe('log', parts.log),
    recordLedger(parts.ledger),
  ]
}
