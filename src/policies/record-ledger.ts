/** One row in the ledger for every call: an intent before it is dispatched, the settlement after. */
import type { Call } from '../core/call.ts'
import { ledgerIntent, ledgerRow } from '../core/ledger/ledger-columns.ts'
import type { Ledger } from '../core/ledger/ledger.ts'
import type { Policy } from '../core/policy.ts'
import { reservedCharge } from '../core/tenancy/budget-charge.ts'
import type { SpendWriter } from '../core/tenancy/budget-charge.ts'

/**
 * The record of an ended call survives kill -9, as long as the journal can be written. One that is killed before its
 * end is charged what its last intent says that it had reserved.
 */
export function recordLedger(ledger: Ledger, writer: SpendWriter): Policy {
  const begin = (call: Call) => ledger.begin(ledgerIntent({ call, reserved: reservedCharge(call, writer) }))
  // A further attempt, or another model, may have reserved more.
  const beginAgain = (call: Call) => {
    if (call.reserved || call.modelReservations) begin(call)
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
