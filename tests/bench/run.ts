/**
 * `npm run bench`: the gateway with everything on (virtual key, limits, ledger, metrics, log) against nginx
 * as a plain proxy, in one run, on one core each, in front of the same upstream. Ratios are what counts.
 *
 *   npm run bench -- [--rounds N] [--seconds N] [--peer URL --peer-key KEY] [--only calls,streams,translate,bodies]
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { answerBody, foreignAnswerBody, largeBody, model, requestBody } from './fixtures.ts'
import {
  coreOfLoad,
  coreUnderTest,
  cpuUs,
  familyOf,
  median,
  memoryMb,
  percentile,
  resetPeak,
  startPinned,
  stopAll,
  waitFor,
} from './machine.ts'

const usage = `npm run bench -- [flags]

  --rounds N           Rounds of each measurement (5)
  --seconds N          Seconds of each round (4)
  --only PARTS         Some of calls,streams,translate,bodies (all)
  --peer URL           Another gateway, in a column of its own
  --peer-key KEY       Its key
  --help               Show this`

function calledWrongly(why: string): never {
  console.error(`${why}\n\n${usage}`)
  process.exit(2)
}

function readFlags() {
  try {
    return parseArgs({
      options: {
        rounds: { type: 'string', default: '5' },
        seconds: { type: 'string', default: '4' },
        peer: { type: 'string' },
        'peer-key': { type: 'string', default: 'none' },
        only: { type: 'string', default: 'calls,streams,translate,bodies' },
        help: { type: 'boolean', short: 'h' },
      },
    }).values
  } catch (error) {
    return calledWrongly((error as Error).message.split(/[.\n]/)[0]!)
  }
}

function wholeNumber(name: string, text: string): number {
  return /^[1-9]\d{0,4}$/.test(text)
    ? Number(text)
    : calledWrongly(`--${name} must be a whole number from 1; got '${text}'`)
}

const values = readFlags()
if (values.help) {
  console.log(usage)
  process.exit(0)
}
const rounds = wholeNumber('rounds', values.rounds)
/** Memory is read this long after the load: garbage of its last moment is collected by then. */
const quietMs = 4000
/** The memory bar is checked this long after that. */
const restMs = 10_000
/** What the gateway may keep after the load (docs/decisions/0005); beyond it the bench fails. */
const memoryBarMb = 110
const seconds = wholeNumber('seconds', values.seconds)
const parts = values.only.split(',')
for (const part of parts)
  if (!['calls', 'streams', 'translate', 'bodies'].includes(part))
    calledWrongly(`--only takes calls, streams, translate, bodies; got '${part}'`)
if (values.peer !== undefined && !URL.canParse(values.peer)) calledWrongly(`--peer must be a URL; got '${values.peer}'`)
const root = join(import.meta.dir, '../..')
const folder = mkdtempSync(join(tmpdir(), 'modelgate-bench-'))
const ports = { upstream: 18301, streams: 18302, nginx: 18303, gateway: 18304, bodies: 18305, foreignStreams: 18306 }
const masterKey = `sk-${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64url')}`

interface Subject {
  readonly name: string
  readonly base: string
  readonly key: string
  readonly streamPath: string
  readonly bodyPath: string
  readonly pids: number[]
  readonly idleMb: number
}

function nginxConfig(name: string, body: string): string {
  const path = join(folder, `${name}.conf`)
  writeFileSync(
    path,
    `worker_processes 1; daemon off; pid ${folder}/${name}.pid; error_log ${folder}/${name}.log warn; user root;
events { worker_connections 4096; }
http {
  access_log off; keepalive_requests 1000000; client_max_body_size 64m; client_body_temp_path ${folder}/${name}-body;
  proxy_temp_path ${folder}/${name}-proxy; fastcgi_temp_path ${folder}/f; uwsgi_temp_path ${folder}/u; scgi_temp_path ${folder}/s;
  ${body}
}`,
  )
  return path
}

async function startNginx(): Promise<Subject> {
  const upstream = nginxConfig(
    'upstream',
    `server { listen 127.0.0.1:${ports.upstream} reuseport; location / { default_type application/json; client_body_buffer_size 16k; return 200 '${answerBody}'; }
    location /v1/messages { default_type application/json; client_body_buffer_size 16k; return 200 '${foreignAnswerBody}'; } }`,
  )
  const proxy = nginxConfig(
    'proxy',
    `upstream fixed { server 127.0.0.1:${ports.upstream}; keepalive 128; keepalive_requests 1000000; }
  upstream reading { server 127.0.0.1:${ports.bodies}; keepalive 64; }
  upstream paced { server 127.0.0.1:${ports.streams}; keepalive 600; keepalive_requests 1000000; }
  proxy_http_version 1.1; proxy_set_header Connection ""; proxy_request_buffering off; client_body_buffer_size 64k;
  server { listen 127.0.0.1:${ports.nginx};
    location / { proxy_pass http://fixed; }
    location /bodies { proxy_pass http://reading; }
    location /streams { proxy_buffering off; proxy_pass http://paced; } }`,
  )
  startPinned(coreOfLoad, ['nginx', '-c', upstream])
  const child = startPinned(coreUnderTest, ['nginx', '-c', proxy])
  await waitFor(`http://127.0.0.1:${ports.upstream}/`)
  await waitFor(`http://127.0.0.1:${ports.nginx}/`)
  const pids = familyOf(child.pid)
  return {
    name: 'nginx',
    base: `http://127.0.0.1:${ports.nginx}`,
    key: 'none',
    streamPath: '/streams/v1/chat/completions',
    bodyPath: '/bodies/v1/chat/completions',
    pids,
    idleMb: memoryMb(pids, 'now'),
  }
}

async function startGateway(): Promise<Subject> {
  const config = join(folder, 'config.yaml')
  const deployment = (name: string, port: number, provider = 'custom_openai') => `
  - model_name: ${name}
    proxy_params: { model: ${provider}/${model}, api_base: "http://127.0.0.1:${port}/v1", api_key: bench, input_cost_per_token: 0.000003, output_cost_per_token: 0.000015 }`
  writeFileSync(
    config,
    `model_list:${deployment(model, ports.upstream)}${deployment('bench-stream', ports.streams)}${deployment('bench-body', ports.bodies)}${deployment('bench-foreign', ports.upstream, 'anthropic')}${deployment('bench-foreign-stream', ports.foreignStreams, 'anthropic')}\n`,
  )
  const command = [
    'node',
    join(root, 'bin/modelgate.mjs'),
    'serve',
    '--config',
    config,
    '--port',
    String(ports.gateway),
    '--data-dir',
    join(folder, 'data'),
  ]
  // The log goes through a pipe that is read, as a container's log is.
  const child = startPinned(coreUnderTest, command, { MODELGATE_MASTER_KEY: masterKey })
  void drain(child.stdout)
  const base = `http://127.0.0.1:${ports.gateway}`
  await waitFor(`${base}/health/liveliness`)
  const made = await fetch(`${base}/key/generate`, {
    method: 'POST',
    headers: { authorization: `Bearer ${masterKey}` },
    body: JSON.stringify({ key_alias: 'bench', user_id: 'bench', rpm_limit: 1_000_000_000, tpm_limit: 1_000_000_000 }),
  })
  const { key } = (await made.json()) as { key: string }
  // The launcher is only a parent: what it costs is measured with the gateway, all the same.
  const pids = familyOf(child.pid)
  await Bun.sleep(quietMs)
  const gateway = pids.filter(pid => pid !== child.pid || pids.length === 1)
  return {
    name: 'modelgate',
    base,
    key,
    streamPath: '/engines/bench-stream/chat/completions',
    bodyPath: '/engines/bench-body/chat/completions',
    pids: gateway,
    idleMb: memoryMb(gateway, 'now'),
  }
}

async function drain(stream: ReadableStream<Uint8Array>): Promise<void> {
  for await (const piece of stream as unknown as AsyncIterable<Uint8Array>) void piece
}

/** Until the rows of the load are in the database: that work is the load's too. Returns how long it took. */
async function settled(gateway: Subject): Promise<number> {
  const from = performance.now()
  for (;;) {
    const text = await (
      await fetch(`${gateway.base}/metrics`, { headers: { authorization: `Bearer ${gateway.key}` } })
    ).text()
    const waiting = Number(/^modelgate_ledger_waiting_bytes (\d+)/m.exec(text)?.[1])
    if (waiting === 0) return performance.now() - from
    if (!(waiting > 0)) throw new Error(`the metrics do not say how much of the ledger waits:\n${text.slice(0, 300)}`)
    await Bun.sleep(250)
  }
}

interface CallFigures {
  requestsPerS: number
  cpuUs: number
  p50Ms: number
  p99Ms: number
}

async function measureCalls(subject: Subject, durationS: number, path = '/v1/chat/completions'): Promise<CallFigures> {
  const cpuBefore = subject.pids.length > 0 ? cpuUs(subject.pids) : 0
  const child = startPinned(
    coreOfLoad,
    [
      'wrk',
      '-t1',
      '-c64',
      `-d${durationS}s`,
      '--latency',
      '-s',
      join(import.meta.dir, 'chat.lua'),
      `${subject.base}${path}`,
    ],
    { BENCH_BODY: requestBody, BENCH_KEY: subject.key },
  )
  const text = await new Response(child.stdout).text()
  const cpu = subject.pids.length > 0 ? cpuUs(subject.pids) - cpuBefore : Number.NaN
  const requests = Number(/(\d+) requests in/.exec(text)?.[1])
  if (/Non-2xx|Socket errors/.test(text)) throw new Error(`${subject.name} failed under load:\n${text}`)
  return {
    requestsPerS: Number(/Requests\/sec:\s+([\d.]+)/.exec(text)?.[1]),
    cpuUs: cpu / requests,
    p50Ms: wrkMs(/50%\s+([\d.]+)(us|ms|s)/.exec(text)),
    p99Ms: wrkMs(/99%\s+([\d.]+)(us|ms|s)/.exec(text)),
  }
}

function wrkMs(found: RegExpExecArray | null): number {
  if (!found) return Number.NaN
  return Number(found[1]) * (found[2] === 'us' ? 0.001 : found[2] === 's' ? 1000 : 1)
}

interface StreamFigures {
  eventsPerS: number
  cpuUs: number
  failed: number
}

async function measureStreams(subject: Subject, path = subject.streamPath): Promise<StreamFigures> {
  const child = startPinned(coreOfLoad, [
    process.execPath,
    join(import.meta.dir, 'stream-client.ts'),
    subject.base,
    path,
    subject.key,
    '500',
    String(seconds),
  ])
  let cpuBefore = 0
  let text = ''
  for await (const piece of child.stdout as unknown as AsyncIterable<Uint8Array>) {
    text += Buffer.from(piece).toString()
    if (cpuBefore === 0 && text.includes('started')) cpuBefore = cpuUs(subject.pids)
  }
  const cpu = cpuUs(subject.pids) - cpuBefore
  const last = JSON.parse(text.trim().split('\n').at(-1)!) as { events: number; failed: number }
  return { eventsPerS: last.events / seconds, cpuUs: cpu / last.events, failed: last.failed }
}

interface BodyFigures {
  memoryPerBody: number
  smallP99Ms: number
  smallP99AloneMs: number
}

/** Ten large calls in flight all the time: memory per byte of them, and what small calls feel meanwhile. */
async function measureBodies(subject: Subject, bytes: number): Promise<BodyFigures> {
  const body = largeBody(bytes)
  const headers = { authorization: `Bearer ${subject.key}`, 'content-type': 'application/json' }
  const alone = await smallLatencies(subject, seconds * 1000)
  const before = memoryMb(subject.pids, 'now')
  resetPeak(subject.pids)
  let running = true
  const senders = Array.from({ length: 10 }, async () => {
    while (running) {
      const response = await fetch(`${subject.base}${subject.bodyPath}`, { method: 'POST', headers, body })
      if (response.status !== 200) throw new Error(`${subject.name}: ${response.status} ${await response.text()}`)
      await response.arrayBuffer()
    }
  })
  const beside = await smallLatencies(subject, seconds * 1000)
  running = false
  await Promise.all(senders)
  const peak = memoryMb(subject.pids, 'peak')
  return {
    memoryPerBody: ((peak - before) * 1024 * 1024) / (10 * bytes),
    smallP99Ms: percentile(beside, 0.99),
    smallP99AloneMs: percentile(alone, 0.99),
  }
}

/** One small call after another from this process, at a modest pace. */
async function smallLatencies(subject: Subject, durationMs: number): Promise<number[]> {
  const headers = { authorization: `Bearer ${subject.key}`, 'content-type': 'application/json' }
  const times: number[] = []
  const until = performance.now() + durationMs
  while (performance.now() < until) {
    const from = performance.now()
    const response = await fetch(`${subject.base}/v1/chat/completions`, { method: 'POST', headers, body: requestBody })
    await response.arrayBuffer()
    times.push(performance.now() - from)
    await Bun.sleep(2)
  }
  return times.sort((a, b) => a - b)
}

type Line = (label: string, figures: number[], ratio: number, digits?: number) => void

/** The gateway has to read and write every word here; nginx only hands on the answers of the other rows. */
async function measureTranslation(nginx: Subject, gateway: Subject, line: Line): Promise<void> {
  const path = '/engines/bench-foreign/chat/completions'
  await measureCalls(gateway, 2, path)
  const calls: CallFigures[][] = [[], []]
  for (let round = 0; round < rounds; round++) {
    calls[0]!.push(await measureCalls(nginx, seconds))
    calls[1]!.push(await measureCalls(gateway, seconds, path))
  }
  const perS = calls.map(list => median(list.map(one => one.requestsPerS)))
  line('translated calls: requests/s', perS, perS[1]! / perS[0]!, 0)
  const callCpu = calls.map(list => median(list.map(one => one.cpuUs)))
  line('translated calls: CPU us/request', callCpu, callCpu[1]! / callCpu[0]!, 1)
  const streams: StreamFigures[][] = [[], []]
  for (let round = 0; round < Math.min(rounds, 3); round++) {
    streams[0]!.push(await measureStreams(nginx))
    streams[1]!.push(await measureStreams(gateway, '/engines/bench-foreign-stream/chat/completions'))
  }
  const eventCpu = streams.map(list => median(list.map(one => one.cpuUs)))
  line('translated streams: CPU us/event', eventCpu, eventCpu[1]! / eventCpu[0]!, 1)
}

async function measureMemory(subjects: readonly Subject[], gateway: Subject, line: Line): Promise<void> {
  const print = (name: string, mb: number[]) => line(name, mb, mb[1]! / mb[0]!, 0)
  const measured = (which: 'now' | 'private') =>
    subjects.map(one => (one.pids.length > 0 ? memoryMb(one.pids, which) : Number.NaN))
  print(
    'memory idle, MB',
    subjects.map(one => one.idleMb),
  )
  print('memory at the end of the load, MB', measured('now'))
  const settledMs = await settled(gateway)
  line('the ledger is written after, s', [0, settledMs / 1000], Number.NaN)
  await Bun.sleep(quietMs)
  print(`memory ${quietMs / 1000} s after that, MB`, measured('now'))
  await Bun.sleep(restMs)
  const kept = measured('now')
  print(`memory ${restMs / 1000} s later, MB`, kept)
  if (kept[1]! > memoryBarMb) {
    console.log(`the gateway keeps ${kept[1]!.toFixed(0)} MB after the load: the bar is ${memoryBarMb} MB`)
    process.exitCode = 1
  }
  print('  of which private, MB', measured('private'))
}

function row(cells: (string | number)[]): string {
  return cells.map((cell, at) => (at === 0 ? String(cell).padEnd(44) : String(cell).padStart(14))).join('')
}

const fixed = (value: number, digits = 1) => (Number.isFinite(value) ? value.toFixed(digits) : '-')

async function main(): Promise<void> {
  startPinned(coreOfLoad, [
    process.execPath,
    join(import.meta.dir, 'stream-upstream.ts'),
    String(ports.streams),
    '100000',
    '20',
  ])
  startPinned(coreOfLoad, [
    process.execPath,
    join(import.meta.dir, 'stream-upstream.ts'),
    String(ports.foreignStreams),
    '100000',
    '20',
    'foreign',
  ])
  startPinned(coreOfLoad, [process.execPath, join(import.meta.dir, 'body-upstream.ts'), String(ports.bodies)])
  await waitFor(`http://127.0.0.1:${ports.bodies}/`)
  const nginx = await startNginx()
  const gateway = await startGateway()
  const subjects = [nginx, gateway]
  if (values.peer)
    subjects.push({
      name: 'peer',
      base: values.peer,
      key: values['peer-key'],
      streamPath: '/v1/chat/completions',
      bodyPath: '/v1/chat/completions',
      pids: [],
      idleMb: Number.NaN,
    })
  const report: Record<string, unknown> = { rounds, seconds, bun: Bun.version }
  console.log(row(['', ...subjects.map(one => one.name), 'ratio']))
  const line = (label: string, figures: number[], ratio: number, digits = 1) => {
    console.log(row([label, ...figures.map(value => fixed(value, digits)), fixed(ratio, 2)]))
    report[label] = { ...Object.fromEntries(subjects.map((one, at) => [one.name, figures[at]])), ratio }
  }
  if (parts.includes('calls')) {
    const all = subjects.map(() => [] as CallFigures[])
    for (const one of subjects) await measureCalls(one, 2)
    for (let round = 0; round < rounds; round++)
      for (const [at, one] of subjects.entries()) all[at]!.push(await measureCalls(one, seconds))
    const figure = (name: keyof CallFigures) => all.map(list => median(list.map(one => one[name])))
    for (const [label, name, digits] of [
      ['small calls: requests/s', 'requestsPerS', 0],
      ['small calls: CPU us/request', 'cpuUs', 1],
      ['small calls: p50 ms at 64 connections', 'p50Ms', 2],
      ['small calls: p99 ms at 64 connections', 'p99Ms', 2],
    ] as const) {
      const figures = figure(name)
      line(label, figures, figures[1]! / figures[0]!, digits)
    }
  }
  if (parts.includes('streams')) {
    const all = subjects.map(() => [] as StreamFigures[])
    for (let round = 0; round < Math.min(rounds, 3); round++)
      for (const [at, one] of subjects.entries()) if (one.pids.length > 0) all[at]!.push(await measureStreams(one))
    const events = all.map(list => median(list.map(one => one.eventsPerS)))
    line('500 streams: events/s', events, events[1]! / events[0]!, 0)
    const cpu = all.map(list => median(list.map(one => one.cpuUs)))
    line('500 streams: CPU us/event', cpu, cpu[1]! / cpu[0]!, 1)
  }
  if (parts.includes('translate')) await measureTranslation(nginx, gateway, line)
  await measureMemory(subjects, gateway, line)
  if (parts.includes('bodies'))
    for (const mib of [1, 10]) {
      const figures = []
      for (const one of subjects.filter(subject => subject.pids.length > 0))
        figures.push(await measureBodies(one, mib << 20))
      const memory = figures.map(one => one.memoryPerBody)
      line(`${mib} MiB bodies: memory / (size x in flight)`, memory, memory[1]! / memory[0]!, 2)
      const slow = figures.map(one => one.smallP99Ms / one.smallP99AloneMs)
      line(`${mib} MiB bodies: p99 of small calls, x alone`, slow, slow[1]! / slow[0]!, 2)
      line(
        `${mib} MiB bodies: p99 of small calls, ms`,
        figures.map(one => one.smallP99Ms),
        figures[1]!.smallP99Ms / figures[0]!.smallP99Ms,
        2,
      )
    }
  const results = join(import.meta.dir, 'results')
  mkdirSync(results, { recursive: true })
  const file = join(results, `${new Date().toISOString().replaceAll(':', '-')}.json`)
  writeFileSync(file, `${JSON.stringify(report, null, 2)}\n`)
  console.log(`written to ${file.slice(root.length + 1)}`)
}

async function cleanUp(): Promise<void> {
  await stopAll()
  rmSync(folder, { recursive: true, force: true })
}

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void cleanUp().then(() => process.exit(1)))
try {
  await main()
} finally {
  await cleanUp()
}
