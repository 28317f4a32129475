/**
 * `npm run panels`: what the panel of operators costs on a large ledger. First how long the pages Logs, Usage, Keys and
 * others take to open, as a person with that page does it: all requests of a page at once, until the last is answered
 * (bar: 300 ms for 95 of 100). Then what small calls feel while twenty panels follow the log live: calls at a steady
 * rate, each timed from when it was due, in turns alone and beside panels (bar: a 99th percentile of 1.2 times). The
 * caller, the gateway, its upstream and the panels are processes of their own. Status 1 where a bar is missed.
 *
 *   npm run panels [-- --rows 1000000 --keys 100000 --directory PATH --seconds 14 --rate 100]
 *   npm run panels -- --database postgres://... --redis redis://...   (an empty database, or one that it filled before)
 *
 * With `--directory` the ledger is kept, and used again. `--only pages` or `--only calls` is one of the two.
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { model, requestBody } from '../bench/fixtures.ts'
import { percentile, threadCpuUs } from '../bench/machine.ts'
import { freePort, startGatewayProcess } from '../support/gateway-process.ts'
import type { GatewayProcess } from '../support/gateway-process.ts'
import { openScalePlace } from '../ledger-scale/place.ts'
import type { PanelCounts } from './panel-client.ts'

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    keys: { type: 'string', default: '100000' },
    days: { type: 'string', default: '30' },
    seconds: { type: 'string', default: '14' },
    rate: { type: 'string', default: '100' },
    rounds: { type: 'string', default: '3' },
    panels: { type: 'string', default: '20' },
    opened: { type: 'string', default: '40' },
    directory: { type: 'string' },
    database: { type: 'string' },
    redis: { type: 'string' },
    only: { type: 'string' },
  },
})
const number = (name: 'rows' | 'keys' | 'days' | 'seconds' | 'rate' | 'rounds' | 'panels' | 'opened'): number => {
  const value = Number(values[name])
  if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} must be a whole number above 0`)
  return value
}
const [seconds, rate, rounds, panels, opened] = (['seconds', 'rate', 'rounds', 'panels', 'opened'] as const).map(
  number,
) as [number, number, number, number, number]
if (values.only !== undefined && !['pages', 'calls'].includes(values.only))
  throw new Error('--only must be pages or calls')

const openMsMax = 300
const ratioMax = 1.2
/** After panels were opened or closed, before calls count. */
const settleMs = 2500
/** A key follows the ledger ten times at most: operators have a key each. */
const panelsOfKey = 5
/** Keys that call: the list names each of them. */
const callerCount = 200

const dayAgo = (days: number): string => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10)
const moment = (hours: number): string => new Date(Date.now() - hours * 3_600_000).toISOString()
const usage = (report: string) =>
  `/${report}/daily/activity?start_date=${dayAgo(59)}&end_date=${dayAgo(0)}&page_size=60`
const latency = () => `/model/latency?group_by=model&start_date=${dayAgo(29)}&end_date=${dayAgo(0)}`
const random = (most: number): number => Math.floor(Math.random() * most)

/** What a page asks when it is opened (`web/pages`). */
const pages: Readonly<Record<string, () => readonly string[]>> = {
  Overview: () => ['/overview', '/spend/logs/v2?cursor=first&page_size=10', '/models'],
  Logs: () => [
    `/spend/logs/v2?cursor=first&page_size=200&start_date=${moment(24)}`,
    `/spend/logs/histogram?start_date=${moment(24)}`,
  ],
  'Logs, 30 days': () => [
    `/spend/logs/v2?cursor=first&page_size=200&start_date=${moment(720)}`,
    `/spend/logs/histogram?start_date=${moment(720)}`,
  ],
  'Logs, one model that failed': () => [
    `/spend/logs/v2?cursor=first&page_size=200&start_date=${moment(720)}&model=model-${random(12)}&outcome=error`,
  ],
  'Logs, long calls': () => [
    `/spend/logs/v2?cursor=first&page_size=200&start_date=${moment(720)}&min_duration_ms=60000`,
    `/spend/logs/histogram?start_date=${moment(720)}&min_duration_ms=60000`,
  ],
  'Logs, a session': () => [`/spend/logs/v2?cursor=first&page_size=200&session_id=session-${random(1000)}`],
  'Usage by model': () => [usage('user'), latency()],
  'Usage by team': () => [usage('user'), usage('team')],
  'Usage by tag': () => [usage('user'), usage('tag')],
  'Usage by customer': () => [usage('user'), usage('customer')],
  Keys: () => ['/key/list?return_full_object=true&size=50'],
  Health: () => ['/health/deployments'],
}

/** true = a page takes too long to open. */
async function openPages(gateway: GatewayProcess): Promise<boolean> {
  let isSlow = false
  for (const [name, requests] of Object.entries(pages)) {
    const times: number[] = []
    for (let at = 0; at < opened; at++) {
      const startMs = performance.now()
      await Promise.all(requests().map(path => read(gateway, path)))
      times.push(performance.now() - startMs)
    }
    times.sort((a, b) => a - b)
    const p95Ms = percentile(times, 0.95)
    isSlow ||= p95Ms > openMsMax
    const verdict = p95Ms > openMsMax ? '  too long' : ''
    console.log(`${name.padEnd(30)} p50 ${shown(percentile(times, 0.5))}, p95 ${shown(p95Ms)} ms${verdict}`)
  }
  return isSlow
}

const shown = (ms: number): string => ms.toFixed(1).padStart(7)

async function read(gateway: GatewayProcess, path: string): Promise<void> {
  const answer = await fetch(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${gateway.masterKey}` } })
  const text = await answer.text()
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${text.slice(0, 300)}`)
}

/** What the threads of the gateway took in a phase, in microseconds. */
type Cpu = Record<'serving' | 'ledger', number>

/** The calls of a phase, and the processor time of the gateway meanwhile. */
async function phase(gateway: GatewayProcess, keys: readonly string[], cpu: Cpu): Promise<number[]> {
  const before = threadCpuUs([gateway.pid])
  const times = await callsFor(gateway, keys, seconds * 1000)
  const after = threadCpuUs([gateway.pid])
  for (const thread of ['serving', 'ledger'] as const) cpu[thread] += after[thread] - before[thread]
  return times
}

/**
 * Calls at a steady rate, of one key after the other, each timed from when it was due: one that waits for another
 * counts its wait.
 */
async function callsFor(gateway: GatewayProcess, keys: readonly string[], forMs: number): Promise<number[]> {
  const tookMs: number[] = []
  const startedMs = performance.now()
  const call = async (key: string, dueMs: number) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const answer = await fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', headers, body: requestBody })
    await answer.arrayBuffer()
    if (answer.status !== 200) throw new Error(`a call was answered with ${answer.status}`)
    if (dueMs - startedMs > settleMs) tookMs.push(performance.now() - dueMs)
  }
  const pending: Promise<void>[] = []
  for (let at = 0; performance.now() - startedMs < settleMs + forMs; at++) {
    const dueMs = startedMs + (at * 1000) / rate
    while (performance.now() < dueMs) await Bun.sleep(1)
    pending.push(call(keys[at % keys.length]!, dueMs))
  }
  await Promise.all(pending)
  return tookMs
}

async function operatorKeys(gateway: GatewayProcess): Promise<string[]> {
  const keys: string[] = []
  for (let at = 0; at < Math.ceil(panels / panelsOfKey); at++) {
    const user_id = `operator-${at}-${Date.now()}`
    const made = await gateway.admin('/user/new', { user_id, user_role: 'proxy_admin_viewer', auto_create_key: false })
    if (made.status !== 200) throw new Error(await made.text())
    keys.push(await gateway.key({ user_id }))
  }
  return keys
}

/** Panels in a process of their own; ends them and tells what they have seen. */
async function openPanels(gateway: GatewayProcess, keys: readonly string[]): Promise<() => Promise<PanelCounts>> {
  const script = join(import.meta.dir, 'panel-client.ts')
  const child = Bun.spawn([process.execPath, script, gateway.url, String(panels), keys.join(',')], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'inherit',
  })
  return async () => {
    child.stdin.end()
    const text = await new Response(child.stdout).text()
    if ((await child.exited) !== 0) throw new Error('the panels were not open to the end')
    return JSON.parse(text) as PanelCounts
  }
}

/** true = calls wait too long beside panels. */
async function callsBesidePanels(gateway: GatewayProcess): Promise<boolean> {
  const callers = await Promise.all(Array.from({ length: callerCount }, () => gateway.key()))
  const operators = await operatorKeys(gateway)
  await callsFor(gateway, callers, 1000)
  const times: Record<'calm' | 'beside', number[]> = { calm: [], beside: [] }
  const cpu = { calm: { serving: 0, ledger: 0 }, beside: { serving: 0, ledger: 0 } }
  const counts = { rows: 0, events: 0, reads: 0, bytes: 0 }
  for (let round = 0; round < rounds; round++) {
    times.calm.push(...(await phase(gateway, callers, cpu.calm)))
    const close = await openPanels(gateway, operators)
    times.beside.push(...(await phase(gateway, callers, cpu.beside)))
    const seen = await close()
    for (const name of Object.keys(counts) as (keyof PanelCounts)[]) counts[name] += seen[name]
  }
  if (counts.rows < times.beside.length) throw new Error('the panels did not see the calls')
  const of = (kind: 'calm' | 'beside', share: number) =>
    percentile(
      times[kind].toSorted((a, b) => a - b),
      share,
    )
  const share = (us: number) => `${((us / (rounds * (settleMs + seconds * 1000) * 1000)) * 100).toFixed(1)} %`
  for (const kind of ['calm', 'beside'] as const)
    console.log(
      `small calls ${kind === 'calm' ? 'alone' : `beside ${panels} panels`}, ${rate} a second: ` +
        `p50 ${of(kind, 0.5).toFixed(2)}, p99 ${of(kind, 0.99).toFixed(2)} ms (${times[kind].length}); of a core: ` +
        `serving ${share(cpu[kind].serving)}, ledger ${share(cpu[kind].ledger)}`,
    )
  const { rows, events, reads, bytes } = counts
  console.log(`panels: ${rows} rows in ${events} events, lists read ${reads} times, ${(bytes / 1e6).toFixed(0)} MB`)
  const ratio = of('beside', 0.99) / of('calm', 0.99)
  console.log(`p99 beside panels: ${ratio.toFixed(2)} times (bar: ${ratioMax})${ratio > ratioMax ? '  too long' : ''}`)
  return ratio > ratioMax
}

const place = await openScalePlace({
  rows: number('rows'),
  keys: number('keys'),
  days: number('days'),
  directory: values.directory,
  database: values.database,
})
const port = freePort()
const upstream = Bun.spawn([process.execPath, join(import.meta.dir, '../bench/body-upstream.ts'), String(port)], {
  stdout: 'pipe',
})
await upstream.stdout.getReader().read()
const config = `
model_list:
  - model_name: ${model}
    proxy_params: { model: custom_openai/${model}, api_base: "http://127.0.0.1:${port}/v1", api_key: none }
`
const gateway = await startGatewayProcess(config, {
  DATABASE_URL: place.databaseUrl,
  ...(values.redis !== undefined && { REDIS_URL: values.redis }),
  MODELGATE_DISCOVER: '0',
})
let isMissed = false
try {
  if (values.only !== 'calls') isMissed = await openPages(gateway)
  if (values.only !== 'pages') isMissed = (await callsBesidePanels(gateway)) || isMissed
} finally {
  await gateway.stop()
  upstream.kill()
  place.remove()
}
process.exit(isMissed ? 1 : 0)
