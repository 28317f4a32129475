/** Several workers from one start: limits and budgets are exact over them, what one learns holds for all, and a worker that is killed takes no row with it. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { startSimulator } from '../../simulator/index.ts'
import type { Simulator } from '../../simulator/index.ts'
import { startGatewayProcess } from '../support/gateway-process.ts'
import type { GatewayProcess } from '../support/gateway-process.ts'
import { until } from '../support/until.ts'

const workers = 3
const rounds = Number(process.env.ROUNDS ?? 4)

let simulator: Simulator
let gateway: GatewayProcess

beforeAll(async () => {
  simulator = await startSimulator({ seed: 5 })
  const base = simulator.url.replace(/\/$/, '')
  const config = `
model_list:
  - model_name: chat-model
    proxy_params: { model: custom_openai/sim-chat, api_base: "${base}/v1", api_key: k, input_cost_per_token: 0.000003, output_cost_per_token: 0.000015 }
  - model_name: hanging
    proxy_params: { model: "custom_openai/x#hang-mid;at=5", api_base: "${base}/v1", api_key: k }
  - model_name: unwell
    proxy_params: { model: "custom_openai/x#status;code=500", api_base: "${base}/v1", api_key: k, order: 1 }
  - model_name: unwell
    proxy_params: { model: "custom_openai/well", api_base: "${base}/v1", api_key: k, order: 2 }
router_settings: { num_retries: 1, cooldown_time: 60, allowed_fails: 0 }
litellm_settings: { cache: true, cache_params: { type: local, mode: default_off } }
`
  gateway = await startGatewayProcess(config, { MODELGATE_WORKERS: String(workers), MODELGATE_DRAIN_MS: '5000' })
  await allServe()
}, 120_000)
afterAll(async () => {
  await gateway.stop()
  await simulator.stop()
})

/** A new connection each time: the system gives it to one of the workers. */
function chat(key: string, { model = 'chat-model', content = 'tokens: 6', ...more }: Record<string, unknown> = {}) {
  return fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    keepalive: false,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content }], ...more }),
  })
}

interface Standing {
  readonly workers: number
  readonly workers_serving: number
}

/** undefined = the worker that was asked has just ended. */
const standing = (): Promise<Standing | undefined> =>
  fetch(`${gateway.url}/health/readiness`).then(
    async answer => (await answer.json()) as Standing,
    () => undefined,
  )
const allServe = () => until(async () => (await standing())?.workers_serving === workers, 'all workers serve', 60_000)

/** The processes of the workers, by their numbers. */
function workerPids(): Map<number, number> {
  const children = readFileSync(`/proc/${gateway.pid}/task/${gateway.pid}/children`, 'utf8')
    .trim()
    .split(' ')
    .map(Number)
  const placed = children.flatMap(pid => {
    const variables = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0')
    const place = variables.find(one => one.startsWith('MODELGATE_WORKER='))?.slice('MODELGATE_WORKER='.length)
    return place === undefined ? [] : [[(JSON.parse(place) as { number: number }).number, pid] as const]
  })
  return new Map(placed)
}

const cpuTicks = (pid: number) => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  return Number(fields[11]) + Number(fields[12])
}

const allowed = (answers: Response[]) => answers.filter(one => one.status === 200).length

test('requests a minute and a budget are exact for a burst over all workers, which all take part', async () => {
  const before = new Map([...workerPids()].map(([number, pid]) => [number, cpuTicks(pid)]))
  const limited = await gateway.key({ rpm_limit: 150 })
  const answers = await Promise.all(Array.from({ length: 400 }, () => chat(limited)))
  expect(allowed(answers)).toBe(150)
  expect(new Set(answers.map(one => one.status))).toEqual(new Set([200, 429]))
  for (const [number, pid] of workerPids())
    expect([number, cpuTicks(pid) > before.get(number)!]).toEqual([number, true])
}, 120_000)

test('a budget takes as many calls in bursts over all workers as one after the other', async () => {
  const budget = 0.0022
  const short = { max_tokens: 6 }
  const inTurn = await gateway.key({ max_budget: budget })
  let alone = 0
  while ((await chat(inTurn, short)).status === 200) alone++
  expect(alone).toBeGreaterThan(12)
  const atOnce = await gateway.key({ max_budget: budget })
  let together = 0
  for (let round = 0; round < alone; round++)
    together += allowed(await Promise.all(Array.from({ length: 10 }, () => chat(atOnce, short))))
  expect(together).toBe(alone)
  const { info } = (await (await gateway.admin(`/key/info?key=${atOnce}`)).json()) as { info: { spend: number } }
  expect(info.spend).toBeLessThanOrEqual(budget)
}, 120_000)

test('parallel calls are exact, and those of a killed worker free their places at once', async () => {
  const key = await gateway.key({ max_parallel_requests: 6 })
  const open = async () => {
    const answer = await chat(key, { model: 'hanging', content: 'tokens: 40', stream: true })
    if (answer.status !== 200) return undefined
    const stream = { isCut: false }
    void answer.text().catch(() => (stream.isCut = true))
    return stream
  }
  const opened = async (count: number) => (await Promise.all(Array.from({ length: count }, open))).filter(one => one)
  const first = await opened(30)
  expect(first.length).toBe(6)
  // The system may have given none of them to one of the workers.
  for (let worker = 1; worker <= workers && !first.some(one => one!.isCut); worker++) {
    process.kill(workerPids().get(worker)!, 'SIGKILL')
    await Bun.sleep(500)
  }
  const cut = first.filter(one => one!.isCut).length
  expect((await opened(20)).length).toBe(cut)
  await allServe()
}, 120_000)

test('a blocked key, a new model and a cooldown hold at every worker at once', async () => {
  const key = await gateway.key()
  await Promise.all(Array.from({ length: 30 }, () => chat(key)))
  await gateway.admin('/key/block', { key })
  await Bun.sleep(200)
  const blocked = await Promise.all(Array.from({ length: 30 }, () => chat(key)))
  expect(allowed(blocked)).toBe(0)
  const other = await gateway.key()
  const before = simulator.truth.entries.length
  await chat(other, { model: 'unwell' })
  await Bun.sleep(100)
  const asked = simulator.truth.entries.length
  expect(asked).toBe(before + 2)
  const cooled = await Promise.all(Array.from({ length: 20 }, () => chat(other, { model: 'unwell' })))
  expect(allowed(cooled)).toBe(20)
  expect(simulator.truth.entries.length).toBe(asked + 20)
}, 120_000)

test('an answer that one worker has kept is given by all', async () => {
  const key = await gateway.key()
  const content = `tokens: 6\nsame question ${crypto.randomUUID()}`
  await (await chat(key, { content, cache: { 'use-cache': true } })).text()
  const asked = simulator.truth.entries.length
  const again = await Promise.all(
    Array.from({ length: 20 }, () => chat(key, { content, cache: { 'use-cache': true } })),
  )
  expect(allowed(again)).toBe(20)
  expect(simulator.truth.entries.length).toBe(asked)
}, 60_000)

test('metrics are those of all workers', async () => {
  const count = async () => {
    const text = await (await fetch(`${gateway.url}/metrics`)).text()
    const lines = text
      .split('\n')
      .filter(line => line.startsWith('modelgate_call_duration_seconds_count{model="chat-model"'))
    return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
  }
  const before = await count()
  const key = await gateway.key()
  await Promise.all(Array.from({ length: 45 }, async () => (await chat(key)).text()))
  expect(await count()).toBe(before + 45)
}, 60_000)

test(`${rounds} workers killed under load: others go on, no row is lost or doubled, each is started anew`, async () => {
  const key = await gateway.key()
  const complete = new Set<string>()
  let running = true
  let failed = 0
  const client = async (stream: boolean) => {
    while (running)
      try {
        const answer = await chat(key, { stream })
        const text = await answer.text()
        if (answer.status === 200 && (!stream || text.includes('[DONE]')))
          complete.add(answer.headers.get('x-request-id')!)
      } catch {
        failed++
      }
  }
  const clients = Promise.all(Array.from({ length: 12 }, (_, at) => client(at % 2 === 0)))
  for (let round = 0; round < rounds; round++) {
    const wanted = complete.size + 150
    await until(() => complete.size > wanted, 'calls are answered', 60_000)
    process.kill(workerPids().get(1 + (round % workers))!, 'SIGKILL')
    await allServe()
  }
  running = false
  await clients
  let ids: string[] = []
  await until(
    async () => {
      ids = await allIds()
      return complete.difference(new Set(ids)).size === 0
    },
    'every call that was complete has its row',
    60_000,
  )
  const mine = ids.filter(id => complete.has(id))
  expect(mine.length).toBe(complete.size)
  // Only calls that the killed worker had open are cut: twelve clients at most each time.
  expect(failed).toBeLessThanOrEqual(rounds * 12 * 3)
  console.log(`workers: ${complete.size} calls complete, ${failed} cut in ${rounds} kills`)
}, 240_000)

async function allIds(): Promise<string[]> {
  const ids: string[] = []
  for (let cursor = ''; ; ) {
    const page = (await (await gateway.admin(`/spend/logs/v2?page_size=1000${cursor}`)).json()) as {
      data: { request_id: string }[]
      next_cursor: string | null
    }
    ids.push(...page.data.map(row => row.request_id))
    if (!page.next_cursor) return ids
    cursor = `&cursor=${encodeURIComponent(page.next_cursor)}`
  }
}

test('fewer workers than before, or none: the journals of the others are stored', async () => {
  const key = await gateway.key()
  const answers = await Promise.all(Array.from({ length: 60 }, () => chat(key)))
  await Promise.all(answers.map(one => one.text()))
  const ids = new Set(answers.map(one => one.headers.get('x-request-id')!))
  process.kill(gateway.pid, 'SIGKILL')
  await until(() => workersGone(), 'workers end with the process that started them')
  process.env.MODELGATE_WORKERS = ''
  await gateway.kill()
  await gateway.revive()
  await until(async () => ids.difference(new Set(await allIds())).size === 0, 'all rows are there', 60_000)
}, 120_000)

async function workersGone(): Promise<boolean> {
  return await fetch(`${gateway.url}/health/liveliness`).then(
    () => false,
    () => true,
  )
}
