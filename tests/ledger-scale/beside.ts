/**
 * `npm run ledger-scale -- --beside 10`: what small calls feel while the gateway deletes old rows of the ledger. Calm
 * rounds of so many seconds, and rounds beside the deletion, in turns; caller, gateway and upstream are processes of
 * their own. Deletes the oldest days of the ledger.
 */
import { join } from 'node:path'
import { model, requestBody } from '../bench/fixtures.ts'
import { percentile } from '../bench/machine.ts'
import { freePort, startGatewayProcess } from '../gateway-process.ts'
import type { GatewayProcess } from '../gateway-process.ts'
import { withDatabase } from './fill.ts'

const rounds = 4
const ratioMax = 1.2
const callPauseMs = 2
/** Before a round, so that the start of a gateway or of pages is not in it. */
const settleMs = 1500

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

/** Each round has a gateway that keeps everything, and one that deletes another two days. */
async function besideDeletion(place: Place, port: number): Promise<boolean> {
  const [calm, beside]: [number[], number[]] = [[], []]
  let deleted = 0
  for (let round = 0; round < rounds; round++) {
    const keeping = await start(place, port)
    calm.push(...(await latencies(keeping, place.seconds)))
    await keeping.stop()
    const before = await rowCount(place.databaseUrl)
    const deletes = await start(place, port, place.days - 3 - 2 * round)
    beside.push(...(await latencies(deletes, place.seconds)))
    await deletes.stop()
    deleted += before - (await rowCount(place.databaseUrl))
  }
  if (deleted <= 0) throw new Error('nothing was deleted: the ledger has fewer days than --days says')
  return judged(`while ${deleted} rows were deleted`, calm, beside)
}

function start({ databaseUrl }: Place, port: number, keptDays?: number): Promise<GatewayProcess> {
  const kept = keptDays === undefined ? '' : `maximum_spend_logs_retention_period: ${keptDays}d`
  const config = `
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
  return startGatewayProcess(config, { DATABASE_URL: databaseUrl, MODELGATE_DISCOVER: '0' })
}

/** Of one small call after another, in milliseconds. */
async function latencies(gateway: GatewayProcess, seconds: number): Promise<number[]> {
  const headers = { authorization: `Bearer ${await gateway.key()}`, 'content-type': 'application/json' }
  const call = () => fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', headers, body: requestBody })
  const times: number[] = []
  const fromMs = performance.now()
  for (;;) {
    const startMs = performance.now()
    const response = await call()
    if (response.status !== 200) throw new Error(`a call: ${response.status} ${await response.text()}`)
    await response.arrayBuffer()
    const endMs = performance.now()
    if (startMs - fromMs > settleMs) times.push(endMs - startMs)
    if (endMs - fromMs > settleMs + seconds * 1000) return times
    await Bun.sleep(callPauseMs)
  }
}

function rowCount(databaseUrl: string): Promise<number> {
  return withDatabase(databaseUrl, async sql => {
    const [found] = (await sql`select count(*) as rows from ledger`) as { rows: unknown }[]
    return Number(found!.rows)
  })
}

function judged(title: string, calm: number[], beside: number[]): boolean {
  const of = (times: number[], share: number) =>
    percentile(
      times.toSorted((a, b) => a - b),
      share,
    )
  const ratio = of(beside, 0.99) / of(calm, 0.99)
  const shown = (times: number[]) => `p50 ${of(times, 0.5).toFixed(2)}, p99 ${of(times, 0.99).toFixed(2)} ms`
  console.log(
    `small calls ${title}: ${shown(beside)} (${beside.length}); calm ${shown(calm)} (${calm.length}): ` +
      `${ratio.toFixed(2)}x${ratio > ratioMax ? '  too long' : ''}`,
  )
  return ratio > ratioMax
}
