/** A rolling restart of three replicas with open streams: no client sees an error. Full size: `npm run faults`. */
import { expect, test } from 'bun:test'
import { startFleet } from './fleet.ts'
import { restartInTurn } from './rolling-restart.ts'
import { missingPrograms } from './servers.ts'
import { until } from '../support/until.ts'

const missing = missingPrograms()
if (missing) console.log(`skipped: a rolling restart (needs ${missing})`)

test.skipIf(missing !== undefined)(
  'three replicas are restarted in turn, and every stream is read to its end',
  async () => {
    const fleet = await startFleet({ streamEvents: 20, streamEventMs: 50 }, { MODELGATE_DRAIN_MS: '60000' })
    try {
      const { complete, wrong, openAtSignal, exitCodes } = await restartInTurn(fleet, 30)
      expect(wrong).toEqual([])
      expect(exitCodes).toEqual([0, 0, 0])
      expect(openAtSignal.length).toBe(3)
      expect(complete).toBeGreaterThan(openAtSignal.reduce((sum, one) => sum + one, 0))
      expect(Math.max(...openAtSignal)).toBeGreaterThan(0)
      const read = async () =>
        (await fleet.sql`select outcome, count(*)::int as total from ledger group by outcome`) as {
          outcome: string
          total: number
        }[]
      await until(async () => (await read())[0]!.total >= complete, 'every call is stored', 60_000)
      expect(await read()).toEqual([{ outcome: 'success', total: complete }])
    } finally {
      await fleet.close()
    }
  },
  240_000,
)
