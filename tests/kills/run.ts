/**
 * `npm run kills`: kill -9 at random moments of a gateway that stores a large backlog and serves calls at the same
 * time. At the end the ledger is compared with the truth: every call of the backlog and every call that a client saw
 * complete is there, once. Exit code 1 when one is lost or double, or when the first new row of a start came late.
 *
 *   npm run kills -- [--kills N] [--backlog-mb N] [--clients N]
 */
import { Database } from 'bun:sqlite'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startSimulator } from '../../simulator/index.ts'
import { migrate } from '../../src/store/database/migrate.ts'
import { openDatabase } from '../../src/store/database/open.ts'
import { exampleRow, leaveJournal } from '../../src/store/ledger/ledger-fixture.ts'
import { masterKey } from '../e2e/harness.ts'
import { gatewayProgram } from '../support/gateway-process.ts'

/** How long a new row may take to be visible after a start. */
const visibleMsMax = 2000
/** Bytes of a call's two records in the journal. */
const callBytes = 440
const costNanoUsd = 1000
/** The backlog is what so many processes left. */
const processes = 3
const headers = { authorization: `Bearer ${masterKey}` }

const { values: flags } = parseArgs({
  options: {
    kills: { type: 'string', default: '20' },
    'backlog-mb': { type: 'string', default: '1024' },
    clients: { type: 'string', default: '8' },
  },
})
const [kills, backlogMb, clients] = [flags.kills, flags['backlog-mb'], flags.clients].map(Number) as [
  number,
  number,
  number,
]

interface Place {
  readonly folder: string
  readonly data: string
  readonly databasePath: string
  readonly port: number
}

interface Round {
  /** From the first answer of the process to the first of its rows in `/spend/logs/v2`; undefined = killed before. */
  readonly visibleMs: number | undefined
  readonly startMs: number
  readonly backlog: Backlog
  readonly lost: number
}

interface Backlog {
  readonly bytes: number
  readonly records: number
}

function freePort(): number {
  const probe = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
  const { port } = probe
  probe.stop(true)
  return port
}

async function prepare(upstream: string): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-kills-'))
  const data = join(folder, 'data')
  mkdirSync(data, { mode: 0o700 })
  const databasePath = join(data, 'modelgate.sqlite')
  const database = await openDatabase(`sqlite:${databasePath}`)
  await migrate(database)
  await database.close()
  writeFileSync(
    join(folder, 'config.yaml'),
    `model_list:
  - model_name: chat-model
    proxy_params:
      { model: custom_openai/sim-chat, api_base: "${upstream.replace(/\/$/, '')}/v1", api_key: k,
        input_cost_per_token: 0.000003, output_cost_per_token: 0.000015 }
`,
  )
  return { folder, data, databasePath, port: freePort() }
}

/** Written by the ledger's own writer, as by processes that were killed. Returns the number of calls. */
function leaveBacklog(data: string): number {
  const count = Math.floor((backlogMb * 1024 * 1024) / callBytes / processes)
  const fromMs = Date.now() - 3_600_000
  for (let at = 0; at < processes; at++) {
    const rows = (function* () {
      for (let index = 0; index < count; index++)
        yield exampleRow({
          request_id: `backlog-${at}-${String(index).padStart(9, '0')}`,
          started_at_ms: fromMs + index,
          key_id: `key-${index % 200}`,
          user_id: `user-${index % 1000}`,
          cost_nano_usd: String(costNanoUsd),
        })
    })()
    leaveJournal(join(data, 'journal'), rows, { start: `${fromMs + at}-${at + 1}-dead` })
  }
  return count * processes
}

function startGateway({ folder, data, port }: Place) {
  const flagsOfServe = ['--config', join(folder, 'config.yaml'), '--port', String(port), '--data-dir', data]
  return Bun.spawn([process.execPath, gatewayProgram, 'serve', ...flagsOfServe], {
    stdout: 'ignore',
    stderr: 'inherit',
    env: { ...process.env, MODELGATE_MASTER_KEY: masterKey, DATABASE_URL: '', REDIS_URL: '' },
  })
}

async function untilServing({ port }: Place): Promise<void> {
  for (const untilMs = performance.now() + 60_000; ; await Bun.sleep(5))
    try {
      await fetch(`http://127.0.0.1:${port}/health/liveliness`)
      return
    } catch (error) {
      if (performance.now() > untilMs) throw error
    }
}

/** One call, streamed or whole; the id of one that the client saw complete. */
async function call({ port }: Place, stream: boolean): Promise<string | undefined> {
  const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ model: 'chat-model', stream, messages: [{ role: 'user', content: 'tokens: 6' }] }),
  })
  const text = await response.text()
  const isComplete = response.status === 200 && (!stream || text.includes('[DONE]'))
  return isComplete ? response.headers.get('x-request-id')! : undefined
}

/** Clients that call until `stop`; what ends in the middle is not complete. */
function load(place: Place, complete: Set<string>): { stop(): Promise<void> } {
  let running = true
  const client = async (stream: boolean) => {
    while (running) {
      const id = await call(place, stream).catch(() => undefined)
      if (id !== undefined) complete.add(id)
      await Bun.sleep(5)
    }
  }
  const done = Promise.all(Array.from({ length: clients }, (_, at) => client(at % 2 === 0)))
  return {
    stop: async () => {
      running = false
      await done
    },
  }
}

/** Waits for the row of a call of its own. */
async function untilVisible(place: Place, complete: Set<string>): Promise<void> {
  const id = await call(place, false)
  if (id === undefined) throw new Error('the first call of a start failed')
  complete.add(id)
  for (;;) {
    const page = await fetch(`http://127.0.0.1:${place.port}/spend/logs/v2?request_id=${id}`, { headers })
    const { data } = (await page.json()) as { data?: object[] }
    if (data?.length === 1) return
    await Bun.sleep(10)
  }
}

async function metric({ port }: Place, name: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  return Number(new RegExp(`^${name} (\\S+)`, 'm').exec(text)?.[1])
}

async function backlogOf(place: Place): Promise<Backlog> {
  const response = await fetch(`http://127.0.0.1:${place.port}/health/readiness`)
  return ((await response.json()) as { ledger_backlog: Backlog }).ledger_backlog
}

async function lostOf(place: Place): Promise<number> {
  const names = ['modelgate_ledger_lost_records_total', 'modelgate_ledger_missing_segments_total']
  const counts = await Promise.all(names.map(name => metric(place, name)))
  return counts.reduce((sum, count) => sum + count, 0)
}

/** Every fourth kill comes at once, the others at a random moment after the first new row is visible. */
async function killRound(place: Place, complete: Set<string>, round: number): Promise<Round> {
  const spawnedMs = performance.now()
  const child = startGateway(place)
  await untilServing(place)
  const servingMs = performance.now()
  const backlog = await backlogOf(place)
  const lost = await lostOf(place)
  const clientsOfRound = load(place, complete)
  let visibleMs: number | undefined
  if (round % 4 !== 3) {
    await untilVisible(place, complete)
    visibleMs = performance.now() - servingMs
  }
  await Bun.sleep(Math.random() * 1500)
  child.kill('SIGKILL')
  await child.exited
  await clientsOfRound.stop()
  return { visibleMs, startMs: servingMs - spawnedMs, backlog, lost }
}

/** Starts once more, until nothing waits. */
async function storeTheRest(place: Place): Promise<{ storedMs: number; records: number; lost: number }> {
  const child = startGateway(place)
  await untilServing(place)
  const fromMs = performance.now()
  const { records } = await backlogOf(place)
  while ((await backlogOf(place)).bytes > 0) await Bun.sleep(50)
  const storedMs = performance.now() - fromMs
  const lost = await lostOf(place)
  child.kill('SIGTERM')
  await child.exited
  return { storedMs, records, lost }
}

/** What is in the database, against what was written. */
function compare(path: string, calls: number, complete: ReadonlySet<string>) {
  const database = new Database(path, { readonly: true })
  const [backlog] = database
    .query(
      "select count(*), count(distinct request_id), sum(cost_nano_usd) from ledger where request_id like 'backlog-%'",
    )
    .values() as [number, number, number][]
  const others = database.query("select request_id from ledger where request_id not like 'backlog-%'").values()
  const [integrity] = database.query('pragma quick_check').values().flat()
  database.close()
  const [rows, distinct, cost] = backlog!
  const known = new Set(others.map(([id]) => String(id)))
  return {
    lost: calls - distinct + [...complete].filter(id => !known.has(id)).length,
    double: rows - distinct + others.length - known.size,
    costIsRight: cost === calls * costNanoUsd,
    rows: rows + others.length,
    integrity: String(integrity),
  }
}

const simulator = await startSimulator({ seed: 3 })
const place = await prepare(simulator.url)
try {
  const madeMs = performance.now()
  const calls = leaveBacklog(place.data)
  console.log(
    `backlog of ${calls} calls (${backlogMb} MB) made in ${Math.round((performance.now() - madeMs) / 1000)} s`,
  )
  const complete = new Set<string>()
  const rounds: Round[] = []
  for (let at = 0; at < kills; at++) {
    const round = await killRound(place, complete, at)
    rounds.push(round)
    const visible = round.visibleMs === undefined ? 'killed before' : `${Math.round(round.visibleMs)} ms`
    const waiting = `${Math.round(round.backlog.bytes / 1024 / 1024)} MB, ${round.backlog.records} records waiting`
    console.log(`kill ${at + 1}: ${waiting}; serving after ${Math.round(round.startMs)} ms, first new row: ${visible}`)
  }
  const rest = await storeTheRest(place)
  const found = compare(place.databasePath, calls, complete)
  const slowestMs = Math.max(...rounds.map(round => round.visibleMs ?? 0))
  const lostCounted = Math.max(rest.lost, ...rounds.map(round => round.lost))
  console.log(
    `the rest: ${rest.records} records in ${(rest.storedMs / 1000).toFixed(1)} s, ` +
      `${Math.round(rest.records / 2 / (rest.storedMs / 1000))} rows/s`,
  )
  console.log(
    `${kills} kills, ${found.rows} rows, ${complete.size} calls seen complete: ${found.lost} lost, ${found.double} double, ` +
      `${lostCounted} counted as lost, money ${found.costIsRight ? 'exact' : 'WRONG'}, database ${found.integrity}; ` +
      `slowest first new row ${Math.round(slowestMs)} ms`,
  )
  const isGood =
    found.lost === 0 && found.double === 0 && lostCounted === 0 && found.costIsRight && found.integrity === 'ok'
  process.exitCode = isGood && slowestMs <= visibleMsMax ? 0 : 1
} finally {
  await simulator.stop()
  rmSync(place.folder, { recursive: true, force: true })
}
process.exit()
