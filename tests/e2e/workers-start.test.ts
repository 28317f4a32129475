/** What workers are started with holds for the whole gateway: its port, its settings, and signals that come meanwhile. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, gatewayProgram, startGatewayProcess } from '../support/gateway-process.ts'
import type { GatewayProcess } from '../support/gateway-process.ts'
import { until } from '../support/until.ts'

const workers = 4
const config = 'model_list:\n  - { model_name: a, proxy_params: { model: local/simulated-chat } }\n'

const folder = mkdtempSync(join(tmpdir(), 'modelgate-workers-'))
let gateway: GatewayProcess

beforeAll(async () => {
  gateway = await startGatewayProcess(config, { MODELGATE_WORKERS: String(workers) })
  await allServe()
}, 120_000)
afterAll(async () => {
  await gateway.stop()
  rmSync(folder, { recursive: true, force: true })
})

interface Standing {
  readonly workers_serving?: number
}

async function serving(): Promise<number> {
  const answer = await fetch(`${gateway.url}/health/readiness`, { keepalive: false })
  return ((await answer.json()) as Standing).workers_serving ?? 0
}
const allServe = () => until(async () => (await serving()) === workers, 'all workers serve', 60_000)

function workerPid(number: number): number | undefined {
  const children = readFileSync(`/proc/${gateway.pid}/task/${gateway.pid}/children`, 'utf8').trim().split(' ')
  return children.map(Number).find(pid => environmentOf(pid).includes(`MODELGATE_WORKER={"number":${number},`))
}

/** '' = it has ended meanwhile. */
function environmentOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8')
  } catch {
    return ''
  }
}

async function replaceWorker(number: number, meanwhile: (pid: number) => unknown = () => {}): Promise<void> {
  const before = workerPid(number)!
  process.kill(before, 'SIGKILL')
  let next: number | undefined
  await until(() => (next = workerPid(number)) !== undefined && next !== before, 'it is started anew', 30_000)
  await meanwhile(next!)
  await allServe()
}

test('a second gateway with workers is refused a port that one has', async () => {
  const directory = join(folder, 'second')
  const second = Bun.spawn(
    [
      process.execPath,
      gatewayProgram,
      'serve',
      '--port',
      String(gateway.port),
      '--workers',
      '2',
      '--data-dir',
      directory,
    ],
    { env: { ...process.env, DATABASE_URL: '', REDIS_URL: '' }, stdout: 'ignore', stderr: 'pipe' },
  )
  const timer = setTimeout(() => second.kill('SIGTERM'), 30_000)
  const told = await new Response(second.stderr).text()
  clearTimeout(timer)
  expect(told).toContain(`cannot listen on port ${gateway.port} of 127.0.0.1: another program uses it`)
  expect(await second.exited).toBe(1)
}, 60_000)

test('SIGHUP does not end a worker that is starting; it reads the configuration once it serves', async () => {
  let started = 0
  await replaceWorker(2, pid => {
    started = pid
    process.kill(gateway.pid, 'SIGHUP')
  })
  expect(workerPid(2)).toBe(started)
}, 60_000)

test('a worker that is started anew keeps the database and the master key that the gateway was started with', async () => {
  const other = join(folder, 'other.sqlite')
  const key = await gateway.key()
  gateway.configure(`general_settings: { database_url: "sqlite:${other}" }\n${config}`)
  await Bun.sleep(500)
  await replaceWorker(2)
  expect(existsSync(other)).toBe(false)
  const answers = await Promise.all(
    Array.from({ length: 20 }, () =>
      fetch(`${gateway.url}/v1/models`, { keepalive: false, headers: { authorization: `Bearer ${key}` } }),
    ),
  )
  expect(new Set(answers.map(one => one.status))).toEqual(new Set([200]))
}, 60_000)

test('workers that end at the same moment are all started anew', async () => {
  const numbers = Array.from({ length: workers }, (_, at) => at + 1)
  for (let round = 0; round < 4; round++) {
    const before = new Set<number | undefined>(numbers.map(workerPid))
    for (const pid of before) process.kill(pid!, 'SIGKILL')
    const isReplaced = (pid: number | undefined) => pid !== undefined && !before.has(pid)
    await until(() => numbers.map(workerPid).every(isReplaced), 'all are started anew', 10_000)
    await until(async () => (await serving().catch(() => 0)) === workers, 'all workers serve', 30_000)
  }
}, 120_000)

test('workers of a data directory with a long path serve, and leave no socket elsewhere', async () => {
  const temporary = join(folder, 't')
  mkdirSync(temporary)
  const directory = join(folder, 'd'.repeat(120), 'data')
  const port = String(freePort())
  const one = Bun.spawn(
    [process.execPath, gatewayProgram, 'serve', '--port', port, '--workers', '2', '--data-dir', directory],
    {
      env: {
        ...process.env,
        DATABASE_URL: '',
        REDIS_URL: '',
        TMPDIR: temporary,
        MODELGATE_MASTER_KEY: gateway.masterKey,
      },
      stdout: 'ignore',
      stderr: 'ignore',
    },
  )
  const ready = async () => (await fetch(`http://127.0.0.1:${port}/health/readiness`)).json()
  await until(async () => ((await ready().catch(() => ({}))) as Standing).workers_serving === 2, 'both serve', 12_000)
  const made = () => readdirSync(temporary).filter(name => name.startsWith('modelgate-'))
  expect(made()).toHaveLength(1)
  one.kill('SIGTERM')
  expect(await one.exited).toBe(0)
  expect(made()).toEqual([])
}, 60_000)
