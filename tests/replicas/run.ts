/**
 * `npm run replicas`: are limits exact over Redis? Three replicas, each a gateway of its own process, 5, 50 and 200 ms
 * away from one Redis, while other processes keep the machine busy. For every kind of limit and every round: a fresh key
 * and a burst of calls spread over the replicas. Prints how many more or fewer than the limit got through, and the round
 * trips to Redis for each call at a steady load. Budgets: what the upstream says that the calls cost, of a
 * derived key, an end user, a tag, a provider, and a key whose budget is raised for a while. Exit code 1 when a limit or a budget was exceeded, or when less than
 * 95 % of a budget could be used.
 *
 * Needs redis-server, or `TEST_REDIS_URL`; a database of Postgres in `TEST_DATABASE_URL`, which it fills.
 * Flags: `--rounds 20`, `--calls 500`, `--load 10`, `--steady-seconds 10`.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startTcpProxy } from '../support/network/tcp-proxy.ts'

const masterKey = `sk-replicas-${crypto.randomUUID()}`
const distances = [5, 50, 200]
const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '20' },
    calls: { type: 'string', default: '500' },
    load: { type: 'string', default: '10' },
    'steady-seconds': { type: 'string', default: '10' },
  },
})
const [rounds, calls, load] = [Number(flags.rounds), Number(flags.calls), Number(flags.load)]
const steadyMs = Number(flags['steady-seconds']) * 1000
const folder = mkdtempSync(join(tmpdir(), 'modelgate-replicas-'))
const cleanups: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })]

interface Kind {
  readonly name: string
  readonly fields: Readonly<Record<string, number>>
  /** Calls of the burst that fit. */
  readonly fits: number
}

/** The body of a call has 1000 bytes, for which 250 tokens are reserved, and used. */
const bodyBytes = 1000
const kinds: readonly Kind[] = [
  { name: 'requests', fields: { rpm_limit: 100 }, fits: 100 },
  { name: 'tokens', fields: { tpm_limit: 30_000 }, fits: 120 },
  { name: 'parallel', fields: { max_parallel_requests: 20 }, fits: 20 },
]

/** Each input token costs a millionth of a dollar, each call 250 of them. */
const callUsd = 0.00025
const budgetCalls = 200
const budgetUsd = callUsd * budgetCalls

/** An upstream whose answers wait until they are let go, so that parallel calls overlap and use what they reserved. */
function startUpstream() {
  let gate = Promise.withResolvers<void>()
  const held = { isHeld: false, calls: 0, most: 0 }
  /** Calls by the first word of their message. */
  const answered = new Map<string, number>()
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const { messages } = (await request.json()) as { messages: readonly { content: string }[] }
      const [scope] = messages[0]!.content.split(' ', 1)
      answered.set(scope!, (answered.get(scope!) ?? 0) + 1)
      held.calls++
      held.most = Math.max(held.most, held.calls)
      if (held.isHeld) await gate.promise
      held.calls--
      const usage = { prompt_tokens: bodyBytes / 4, completion_tokens: 0, total_tokens: bodyBytes / 4 }
      const message = { role: 'assistant', content: 'yes' }
      return Response.json({
        id: 'chatcmpl-1',
        object: 'chat.completion',
        created: 1,
        model: 'held',
        choices: [{ index: 0, message, finish_reason: 'stop' }],
        usage,
      })
    },
  })
  cleanups.push(() => server.stop(true))
  return {
    url: `http://127.0.0.1:${server.port}/v1`,
    answered: (scope: string) => answered.get(scope) ?? 0,
    /** The most calls at the same time since `hold`. */
    most: () => held.most,
    hold() {
      held.isHeld = true
      held.most = 0
      gate = Promise.withResolvers()
    },
    letGo() {
      held.isHeld = false
      gate.resolve()
    },
  }
}

function spawn(words: string[], environment: Record<string, string> = {}) {
  const child = Bun.spawn(words, {
    env: { PATH: process.env.PATH, HOME: folder, ...environment },
    stdout: 'ignore',
    stderr: 'pipe',
  })
  cleanups.push(async () => {
    child.kill('SIGKILL')
    await child.exited
  })
  return child
}

async function freePort(): Promise<number> {
  const server = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
  const { port } = server
  server.stop(true)
  return port
}

async function redisUrl(): Promise<string> {
  if (process.env.TEST_REDIS_URL) return process.env.TEST_REDIS_URL
  const port = await freePort()
  spawn([
    'redis-server',
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--save',
    '',
    '--appendonly',
    'no',
    '--dir',
    folder,
  ])
  return `redis://127.0.0.1:${port}`
}

async function startReplica(name: string, config: string, redis: string): Promise<string> {
  const main = join(import.meta.dir, '../../src/main.ts')
  const words = [process.execPath, main, 'serve', '--port', '0', '--config', config, '--data-dir', join(folder, name)]
  const child = spawn(words, {
    MODELGATE_MASTER_KEY: masterKey,
    MODELGATE_DISCOVER: '0',
    MODELGATE_LOG_LEVEL: 'error',
    DATABASE_URL: process.env.TEST_DATABASE_URL!,
    REDIS_URL: redis,
  })
  const decoder = new TextDecoder()
  const reader = child.stderr.getReader()
  let output = ''
  while (!/ on http:\S+/.test(output)) {
    const { done, value } = await reader.read()
    if (done) throw new Error(`${name} did not start:\n${output}`)
    output += decoder.decode(value, { stream: true })
  }
  void (async () => {
    while (!(await reader.read()).done);
  })()
  return / on (http:\S+)/.exec(output)![1]!.replace(/\/$/, '')
}

function body(model: string, fields: object = {}, first = ''): string {
  const of = (content: string) => JSON.stringify({ model, ...fields, messages: [{ role: 'user', content }] })
  const text = first === '' ? '' : `${first} `
  return of(text + 'x'.repeat(bodyBytes - of(text).length))
}

const post = (url: string, path: string, key: string, text: string) =>
  fetch(`${url}${path}`, { method: 'POST', headers: { authorization: `Bearer ${key}` }, body: text })

async function newKey(url: string, fields: object): Promise<string> {
  const made = await post(url, '/key/generate', masterKey, JSON.stringify(fields))
  return ((await made.json()) as { key: string }).key
}

async function roundTrips(urls: readonly string[]): Promise<number> {
  const texts = await Promise.all(urls.map(async url => (await fetch(`${url}/metrics`)).text()))
  return texts.reduce((sum, text) => sum + Number(/^modelgate_redis_round_trips_total (\d+)/m.exec(text)![1]), 0)
}

interface Round {
  /** Of parallel calls, the most at the same time. */
  readonly allowed: number
  readonly failed: number
  readonly slowestMs: number
}

/** All calls at once; answers are held until as many are refused as have to be, or nothing moved for 10 s. */
async function burst(urls: readonly string[], upstream: ReturnType<typeof startUpstream>, kind: Kind): Promise<Round> {
  const key = await newKey(urls[0]!, kind.fields)
  const text = body('held')
  upstream.hold()
  const statuses: number[] = []
  let movedMs = performance.now()
  let slowestMs = 0
  const all = Array.from({ length: calls }, async (_, at) => {
    const from = performance.now()
    const answer = await post(urls[at % urls.length]!, '/v1/chat/completions', key, text)
    movedMs = performance.now()
    if (answer.status !== 200) slowestMs = Math.max(slowestMs, movedMs - from)
    statuses.push(answer.status)
    await answer.arrayBuffer()
  })
  while (statuses.length < calls - kind.fits || performance.now() - movedMs < 500) {
    if (performance.now() - movedMs > 10_000) break
    await Bun.sleep(20)
  }
  upstream.letGo()
  await Promise.all(all)
  const count = (status: number) => statuses.filter(one => one === status).length
  const allowed = kind.name === 'parallel' ? upstream.most() : count(200)
  return { allowed, failed: calls - count(200) - count(429), slowestMs }
}

/** Each has a budget of its own, and one model. */
const providers = ['groq', 'deepinfra', 'together_ai', 'fireworks_ai', 'cerebras']
let providersUsed = 0

/** How calls are made that count in a fresh budget of a kind. */
interface Budgeted {
  readonly key: string
  readonly model?: string
  /** Of the body. */
  readonly fields?: object
}

async function budgeted(url: string, kind: string, scope: string): Promise<Budgeted> {
  const made = async (path: string, fields: object, key = masterKey) => {
    const answer = await post(url, path, key, JSON.stringify(fields))
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
    return (await answer.json()) as { key: string }
  }
  // Half of it is a raise for an hour, which comes while the key is in use.
  const raise = { temp_budget_increase: budgetUsd / 2, temp_budget_expiry: new Date(Date.now() + 3_600_000) }
  const key = await newKey(url, kind === 'raise' ? { max_budget: budgetUsd / 2 } : {})
  if (kind === 'raise') await made('/key/update', { key, ...raise })
  if (kind === 'derived') return made('/key/derive', { max_budget: budgetUsd }, key)
  if (kind === 'tag') await made('/tag/new', { name: scope, max_budget: budgetUsd })
  if (kind === 'tag') return { key, fields: { metadata: { tags: [scope] } } }
  if (kind === 'provider') return { key, model: providers[providersUsed++]! }
  return kind === 'end user' ? { key, fields: { user: scope } } : { key }
}

/** All calls at once against a fresh budget; what was spent by the truth of the upstream, as a part of the budget. */
async function spend(
  urls: readonly string[],
  upstream: ReturnType<typeof startUpstream>,
  kind: string,
): Promise<number> {
  const scope = `${kind.replace(' ', '-')}-${crypto.randomUUID()}`
  const { key, model = 'held', fields = {} } = await budgeted(urls[0]!, kind, scope)
  const text = body(model, { max_tokens: 1, ...fields }, scope)
  const statuses = await Promise.all(
    Array.from({ length: calls }, async (_, at) => {
      const answer = await post(urls[at % urls.length]!, '/v1/chat/completions', key, text)
      await answer.arrayBuffer()
      return answer.status
    }),
  )
  const failed = statuses.filter(status => status !== 200 && status !== 429).length
  if (failed > 0) throw new Error(`${failed} calls failed`)
  return upstream.answered(scope) / budgetCalls
}

/** Round trips for each call, at about 30 calls a second of each replica. */
async function steady(urls: readonly string[]): Promise<{ calls: number; roundTrips: number }> {
  const key = await newKey(urls[0]!, { rpm_limit: 1_000_000, tpm_limit: 1_000_000_000, max_parallel_requests: 1000 })
  const text = body('held')
  const run = async (ms: number) => {
    const answers: Promise<unknown>[] = []
    for (const from = performance.now(); performance.now() - from < ms; await Bun.sleep(30))
      for (const url of urls) answers.push(post(url, '/v1/chat/completions', key, text).then(one => one.arrayBuffer()))
    await Promise.all(answers)
    return answers.length
  }
  await run(3000)
  const before = await roundTrips(urls)
  const made = await run(steadyMs)
  return { calls: made, roundTrips: (await roundTrips(urls)) - before }
}

async function main(): Promise<boolean> {
  if (!process.env.TEST_DATABASE_URL) throw new Error('set TEST_DATABASE_URL to an empty database of Postgres')
  const redis = new URL(await redisUrl())
  const upstream = startUpstream()
  const config = join(folder, 'config.yaml')
  const prices = 'input_cost_per_token: 0.000001, output_cost_per_token: 0'
  const model = (name: string, provider: string) =>
    `{ model_name: ${name}, proxy_params: { model: ${provider}/held, api_base: "${upstream.url}", api_key: none, ${prices} } }`
  const models = [model('held', 'custom_openai'), ...providers.map(name => model(name, name))].join(', ')
  const ofProviders = providers.map(name => `${name}: { budget_limit: ${budgetUsd}, time_period: 365d }`).join(', ')
  const common = `settings: { max_end_user_budget: ${budgetUsd} }
general_settings: { unowned_limits: allow }
router_settings: { num_retries: 0, provider_budget_config: { ${ofProviders} } }`
  writeFileSync(config, `model_list: [${models}]\n${common}\n`)
  const urls: string[] = []
  for (const roundTripMs of distances) {
    const wire = await startTcpProxy(redis.hostname, Number(redis.port || 6379), { roundTripMs })
    cleanups.push(() => wire.close())
    urls.push(await startReplica(`at-${roundTripMs}-ms`, config, `redis://127.0.0.1:${wire.port}`))
  }
  for (let at = 0; at < load; at++) spawn([process.execPath, '-e', 'for (;;);'])
  console.log(
    `${urls.length} replicas at ${distances.join(', ')} ms, ${load} busy processes, ${rounds} rounds of ${calls} calls`,
  )
  let isExact = true
  for (const kind of kinds) {
    const results: Round[] = []
    const before = await roundTrips(urls)
    for (let round = 0; round < rounds; round++) results.push(await burst(urls, upstream, kind))
    const trips = (await roundTrips(urls)) - before
    const total = (pick: (one: Round) => number) => results.reduce((sum, one) => sum + pick(one), 0)
    const over = total(one => Math.max(one.allowed - kind.fits, 0))
    const under = total(one => Math.max(kind.fits - one.allowed, 0))
    isExact &&= over === 0
    const slowest = Math.max(...results.map(one => one.slowestMs)).toFixed(0)
    console.log(
      `${kind.name.padEnd(9)} limit ${String(kind.fits).padStart(4)} calls: over ${over}, under ${under}, failed ` +
        `${total(one => one.failed)}, slowest refusal ${slowest} ms, round trips ${(trips / (rounds * calls)).toFixed(3)} a call`,
    )
  }
  for (const kind of ['derived', 'end user', 'tag', 'raise', 'provider']) {
    const parts: number[] = []
    const most = kind === 'provider' ? providers.length : Infinity
    for (let round = 0; round < Math.min(rounds, most); round++) parts.push(await spend(urls, upstream, kind))
    const [from, to] = [Math.min(...parts), Math.max(...parts)].map(part => (part * 100).toFixed(1))
    isExact &&= Math.max(...parts) <= 1 && Math.min(...parts) >= 0.95
    console.log(`budget    of ${kind.padEnd(9)} ${budgetCalls} calls: ${from} to ${to} % spent`)
  }
  const { calls: made, roundTrips: trips } = await steady(urls)
  console.log(
    `steady    ${made} calls in ${steadyMs / 1000} s: ${trips} round trips, ${(trips / made).toFixed(3)} a call`,
  )
  return isExact
}

// The runtime sends 256 requests at once unless its environment says otherwise at the start.
const many = 'BUN_CONFIG_MAX_HTTP_REQUESTS'
if (!process.env[many]) {
  const child = Bun.spawn(process.argv, {
    env: { ...process.env, [many]: String(calls * 2) },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  process.exit(await child.exited)
}
let isExact = false
try {
  isExact = await main()
} finally {
  for (const cleanup of cleanups.reverse()) await cleanup()
}
process.exit(isExact ? 0 : 1)
