/** The child of the crash test: appends without end and prints which calls were acknowledged, until it is killed. */
import { writeSync } from 'node:fs'
import { systemClock } from '../../lib/clock.ts'
import { exampleRow, intentOf } from './ledger-fixture.ts'
import { openLedger } from './ledger.ts'

const [databaseUrl, journalDirectory] = process.argv.slice(2)
const ledger = await openLedger({
  databaseUrl: databaseUrl!,
  journalDirectory: journalDirectory!,
  clock: systemClock,
  segmentBytes: 65_536,
})
for (;;) {
  for (let at = 0; at < 20; at++) {
    const row = exampleRow()
    ledger.begin(intentOf(row))
    writeSync(1, `begun ${row.request_id}\n`)
    ledger.settle(row)
    writeSync(1, `settled ${row.request_id}\n`)
  }
  await new Promise(resolve => setImmediate(resolve))
}
