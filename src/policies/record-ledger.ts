/** One row in the ledger for every call: an intent before it is dispatched, the settlement after. */
import type { Call } from '../core/call.ts'
import { ledgerIntent, ledgerRow } from '../core/ledger/ledger-columns.ts'
import type { BegunInput } from '../core/ledger/ledger-columns.ts'
import type { Operation } from '../core/hub/operation.ts'
import type { Ledger } from '../core/ledger/ledger.ts'
import type { Policy } from '../core/policy.ts'
import { inputCost } from '../pricing/input-cost.ts'
import { inputTokensAtHand } from './limits/body-tokens.ts'
import { reservedCharge } from '../core/tenancy/budget-charge.ts'
import type { SpendWriter } from '../core/tenancy/budget-charge.ts'

/**
 * The record of an ended call survives kill -9, as long as the journal can be written. One that is killed before its
 * end is charged what its last intent says that it had reserved, or has the cost of its input where it says only that.
 */
export function recordLedger(ledger: Ledger, writer: SpendWriter): Policy {
  const begin = (call: Call) => {
    const reserved = reservedCharge(call.taken, writer)
    ledger.begin(ledgerIntent({ call, reserved, input: reserved ? undefined : inputOf(call) }))
  }
  // A further attempt, or another model, may have reserved more.
  const beginAgain = (call: Call) => {
    if (call.taken.reserved || call.taken.byModel) begin(call)
  }
  return {
    name: 'record-ledger',
    stage: 'body',
    dryRun: false,
    admit: begin,
    admitAttempt(call) {
      beginAgain(call)
      return true
    },
    async admitModel(call) {
      beginAgain(call)
      return undefined
    },
    settled: settlement => ledger.settle(ledgerRow(settlement)),
  }
}

/** Of calls that are priced by the tokens of their texts. */
function inputOf(call: Call): BegunInput | undefined {
  const { operation, candidates } = call
  if (candidates.length === 0 || !inTokens.has(operation)) return undefined
  const inputTokens = inputTokensAtHand(call)
  return inputTokens === undefined ? undefined : inputCost(call, inputTokens)
}

const inTokens: ReadonlySet<Operation> = new Set<Operation>(['chat', 'completions', 'embeddings'])
