/**
 * `npm run ledger-scale -- --beside 10`: what small calls feel while the gateway deletes old rows of the ledger. Calm
 * rounds of so many seconds, and rounds beside the deletion, in turns, calls at a steady rate; caller, gateway and
 * upstream are processes of their own. Deletes the oldest days of the ledger.
 */
import { join } from 'node:path'
import { model, requestBody } from '../bench/fixtures.ts'
import { percentile } from '../bench/machine.ts'
import { freePort, startGatewayProcess } from '../support/gateway-process.ts'
import type { GatewayProcess } from '../support/gateway-process.ts'
import { withDatabase } from './fill.ts'

const rounds = 6
const ratioMax = 1.2
/** A steady rate of 200 calls a second. */
const callEveryMs = 5
/** In so many parts of a round another day is deleted. */
const parts = 5
/** Before a round, so that the start of a gateway or of pages is not in it. */
const settleMs = 2000

interface Place {
  readonly databaseUrl: string
  /** That it has rows of. */
  readonly days: number
  readonly seconds: number
}

/** true = a 99th percentile is above 1.2 times the calm one. */
export async function measureBeside(place: Place): Promise<boolean> {
  const port = freePort()
  const upstream = Bun.spawn([process.execPath, join(import.meta.dir, '../bench/body-upstream.ts'), String(port)], {
    stdout: 'pipe',
  })
  await upstream.stdout.getReader().read()
  try {
    return await besideDeletion(place, port)
  } finally {
    upstream.kill()
  }
}

/**
 * One gateway: in calm rounds it keeps everything, in the others it deletes, and the time that it keeps rows shrinks by
 * a day every fifth of a round, so that there is always something to delete. It is configured as often in both.
 */
async function besideDeletion(place: Place, port: number): Promise<boolean> {
  const gateway = await start(place, port)
  const [calm, beside]: [number[][], number[][]] = [[], []]
  let [kept, deleted] = [place.days - 1, 0]
  const round = async (isDeleting: boolean) => {
    const times: number[] = []
    for (let part = 0; part < parts; part++) {
      if (isDeleting) kept = Math.max(kept - 1, 1)
      // A text that is not the same as before is read anew: that costs the calls of calm rounds as much.
      gateway.configure(`${configOf(port, isDeleting ? kept : undefined)}# ${crypto.randomUUID()}\n`)
      // A new time is looked for once a second.
      times.push(...(await latencies(gateway, place.seconds / parts, part === 0 ? settleMs : 0)))
    }
    return times
  }
  await round(false)
  for (let at = 0; at < rounds; at++) {
    calm.push(await round(false))
    const before = await rowCount(place.databaseUrl)
    beside.push(await round(true))
    gateway.configure(configOf(port))
    await Bun.sleep(settleMs)
    const gone = before - (await rowCount(place.databaseUrl))
    if (gone <= 0) throw new Error('nothing was deleted: the ledger has fewer days than --days says')
    deleted += gone
  }
  await gateway.stop()
  const [first, second] = [0, 1].map(half => calm.filter((_, at) => at % 2 === half).flat()) as [number[], number[]]
  console.log(`two halves of the calm rounds, for comparison: ${(p99Of(second) / p99Of(first)).toFixed(2)}x`)
  return judged(`while ${deleted} rows were deleted`, calm.flat(), beside.flat())
}

function start({ databaseUrl }: Place, port: number): Promise<GatewayProcess> {
  return startGatewayProcess(configOf(port), { DATABASE_URL: databaseUrl, MODELGATE_DISCOVER: '0' })
}

/** `keptDays` undefined = everything is kept. */
function configOf(port: number, keptDays?: number): string {
  const kept = keptDays === undefined ? '' : `maximum_spend_logs_retention_period: ${keptDays}d`
  return `
model_list:
  - model_name: ${model}
    proxy_params:
      model: custom_openai/${model}
      api_base: http://127.0.0.1:${port}/v1
      api_key: none
      input_cost_per_token: 0.000003
      output_cost_per_token: 0.000015
general_settings: { ${kept} }
`
}

/**
 * Of small calls, in milliseconds from the moment at which each was due: one that waits for another has waited too.
 * What is called in the first `warmMs` is not in it.
 */
async function latencies(gateway: GatewayProcess, seconds: number, warmMs = settleMs): Promise<number[]> {
  const headers = { authorization: `Bearer ${await gateway.key()}`, 'content-type': 'application/json' }
  const times: number[] = []
  const fromMs = performance.now()
  const call = async (dueMs: number) => {
    // The pause before may have ended a moment early.
    const beganMs = Math.min(dueMs, performance.now())
    const response = await fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', headers, body: requestBody })
    if (response.status !== 200) throw new Error(`a call: ${response.status} ${await response.text()}`)
    await response.arrayBuffer()
    if (dueMs - fromMs >= warmMs) times.push(performance.now() - beganMs)
  }
  const calls: Promise<void>[] = []
  for (let dueMs = fromMs; dueMs < fromMs + warmMs + seconds * 1000; dueMs += callEveryMs) {
    const restMs = dueMs - performance.now()
    if (restMs > 0) await Bun.sleep(restMs)
    calls.push(call(dueMs))
  }
  await Promise.all(calls)
  return times
}

function rowCount(databaseUrl: string): Promise<number> {
  return withDatabase(databaseUrl, async sql => {
    const [found] = (await sql`select count(*) as rows from ledger`) as { rows: unknown }[]
    return Number(found!.rows)
  })
}

const of = (times: readonly number[], share: number): number =>
  percentile(
    times.toSorted((a, b) => a - b),
    share,
  )
const p99Of = (times: readonly number[]): number => of(times, 0.99)

function judged(title: string, calm: number[], beside: number[]): boolean {
  const ratio = p99Of(beside) / p99Of(calm)
  const shown = (times: number[]) => `p50 ${of(times, 0.5).toFixed(2)}, p99 ${of(times, 0.99).toFixed(2)} ms`
  console.log(
    `small calls ${title}: ${shown(beside)} (${beside.length}); calm ${shown(calm)} (${calm.length}): ` +
      `${ratio.toFixed(2)}x${ratio > ratioMax ? '  too long' : ''}`,
  )
  return ratio > ratioMax
}
