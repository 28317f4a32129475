/** What the input of a call costs, before anything is known of its output. */
import type { Call } from '../core/call.ts'
import { credentialFor } from '../core/client-credential.ts'
import type { Deployment } from '../core/deployment.ts'
import type { BegunInput } from '../core/ledger/ledger-columns.ts'
import { costNanoUsd } from './cost.ts'
import { costUnder, termsFor } from './price-terms.ts'

/**
 * The tokens with what they cost at the cheapest of the deployments that may serve the call: no upstream takes less for
 * it. The cost is null where one of them has no known price.
 */
export function inputCost(call: Call, inputTokens: number): BegunInput {
  let least: bigint | null = null
  for (const deployment of call.candidates) {
    const cost = credentialFor(call, deployment) ? 0n : costAt(call, deployment, inputTokens)
    if (cost === null) return { inputTokens, costNanoUsd: null }
    if (least === null || cost < least) least = cost
  }
  return { inputTokens, costNanoUsd: least }
}

function costAt({ caller, models, startedAtMs }: Call, { prices, target }: Deployment, inputTokens: number) {
  const list = costNanoUsd({ inputTokens, outputTokens: 0 }, prices, { atMs: startedAtMs })
  const { priceTerms } = models.settings
  return list === null || priceTerms === null
    ? list
    : costUnder(termsFor(priceTerms, caller, target.provider.name), list)
}
