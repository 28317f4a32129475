/**
 * `npm run faults`: replicas, Redis and Postgres are killed, stopped, emptied and cut off under a steady rate of calls;
 * then the database is away for minutes, and the replicas are restarted one after the other with open streams. After
 * each, ledger, daily sums and budgets are compared with what the upstream was asked for. Prints a line for each; exit
 * code 1 when a call of a known key failed, was lost or counted twice, or the books differ.
 *
 * Needs redis-server and the programs of Postgres in the path.
 * Flags: `--rate 200` calls a second, `--away-seconds 10`, `--outage-seconds 600`, `--streams 200`.
 */
import { parseArgs } from 'node:util'
import { booksOf, Load } from './load.ts'
import type { Fleet } from './fleet.ts'
import { startFleet } from './fleet.ts'
import { restartInTurn } from './rolling-restart.ts'
import { scenarios } from './scenarios.ts'
import type { Scenario } from './scenarios.ts'
import { callUsd, missingPrograms } from './servers.ts'

const { values: flags } = parseArgs({
  options: {
    rate: { type: 'string', default: '200' },
    'away-seconds': { type: 'string', default: '10' },
    'outage-seconds': { type: 'string', default: '600' },
    streams: { type: 'string', default: '200' },
  },
})
const [rate, awaySeconds, outageSeconds, streams] = [
  flags.rate,
  flags['away-seconds'],
  flags['outage-seconds'],
  flags.streams,
].map(Number) as [number, number, number, number]
/** Each client waits so long between its calls; a call takes a fifth of a second when it is a stream. */
const pauseMs = 100
const clients = Math.ceil((rate * (pauseMs + 100)) / 1000)

/** What is wrong; empty = nothing. */
async function judged(fleet: Fleet, { name, run }: Scenario, awayMs: number): Promise<string[]> {
  const { key, id } = await fleet.key({ max_budget: 1_000_000 })
  const load = new Load(fleet, key, { clients, pauseMs })
  await load.more(rate)
  const fromMs = performance.now()
  await run(fleet, load, { calls: rate, awayMs })
  const tookMs = performance.now() - fromMs
  await load.more(rate)
  await load.stop()
  const books = await booksOf(fleet, id, load)
  const open = clients * callUsd * 1e9
  const problems = [
    ...load.wrong.slice(0, 5),
    ...(load.refused.size > 0 ? [`${load.refused.size} calls refused`] : []),
    ...(['lost', 'doubled', 'unpriced'] as const).flatMap(field =>
      books[field] > 0 ? [`${books[field]} ${field}`] : [],
    ),
    ...(['summedNanoUsd', 'chargedNanoUsd', 'spentNanoUsd'] as const).flatMap(field =>
      books[field] === books.costNanoUsd ? [] : [`${field} is ${books[field]}, the rows cost ${books.costNanoUsd}`],
    ),
    ...(books.costNanoUsd > books.truthNanoUsd || books.costNanoUsd < books.truthNanoUsd - open
      ? [`the rows cost ${books.costNanoUsd}, the truth is ${books.truthNanoUsd}`]
      : []),
  ]
  console.log(
    `${name.padEnd(45)} ${(tookMs / 1000).toFixed(1).padStart(6)} s, ${books.asked} calls, failed ${load.wrong.length}, ` +
      `lost ${books.lost}, double ${books.doubled}: ${problems.length === 0 ? 'good' : problems.join('; ')}`,
  )
  return problems
}

async function main(): Promise<boolean> {
  const missing = missingPrograms()
  if (missing) throw new Error(`this needs ${missing}`)
  const fleet = await startFleet({ streamEvents: 40, streamEventMs: 50 })
  try {
    let problems = 0
    for (const scenario of scenarios) problems += (await judged(fleet, scenario, awaySeconds * 1000)).length
    const outage = scenarios.find(({ name }) => name === 'Postgres cannot be reached')!
    const named = { ...outage, name: `Postgres is away for ${outageSeconds} s` }
    problems += (await judged(fleet, named, outageSeconds * 1000)).length
    const restart = await restartInTurn(fleet, streams)
    console.log(`rolling restart with ${restart.openAtSignal.join(', ')} open streams: ${restart.wrong.length} failed`)
    return problems + restart.wrong.length === 0
  } finally {
    await fleet.close()
  }
}

process.exit((await main()) ? 0 : 1)
