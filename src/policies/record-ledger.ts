/** One row in the ledger for every call: an intent before it is dispatched, the settlement after. */
import { ledgerIntent, ledgerRow } from '../core/ledger/ledger-columns.ts'
import type { Ledger } from '../core/ledger/ledger.ts'
import type { Policy } from '../core/policy.ts'

/** The record of an ended call survives kill -9, as long as the journal can be written. */
export function recordLedger(ledger: Ledger): Policy {
  return {
    name: 'record-ledger',
    stage: 'body',
    dryRun: false,
    admit(call) {
      ledger.begin(ledgerIntent({ call }))
    },
    settled: settlement => ledger.settle(ledgerRow(settlement)),
  }
}
