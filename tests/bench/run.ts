/**
 * `npm run bench`: the gateway with everything on (virtual key, limits, ledger, metrics, log) against nginx
 * as a plain proxy, in one run, on one core each, in front of the same upstream. Ratios are what counts.
 *
 *   npm run bench -- [--rounds N] [--seconds N] [--peer URL --peer-key KEY --peer-pid PID]
 *     [--only calls,alone,streams,translate,bodies,cache,guardrails,budgets]
 */
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { measureBodyMemory } from './body-load.ts'
import { measureBudgets } from './budgets.ts'
import { requestOf } from './fixtures.ts'
import { PacedTokens, windowedRules } from './guarded-stream.ts'
import { measureAlone, measureCalls, measureStreams } from './loads.ts'
import type { CallFigures, StreamFigures } from './loads.ts'
import { median, memoryMb, runIn } from './machine.ts'
import { ports, quietMs, runningPeer, settled, startGateway, startNginx, startUpstreams } from './subjects.ts'
import type { Subject } from './subjects.ts'

const usage = `npm run bench -- [flags]

  --rounds N           Rounds of each measurement (5)
  --seconds N          Seconds of each round (4)
  --only PARTS         Some of calls,streams,translate,bodies (all these), alone, cache, guardrails, budgets
  --streams N          Streams at once (500)
  --peer URL           Another gateway, in a column of its own
  --peer-key KEY       Its key
  --peer-pid PID       Its process on this machine, started with \`taskset -c 0\`: CPU time, memory and streams count, too
  --peer-header LINE   A further header of its calls, \`name: value\`; again for more
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
        streams: { type: 'string', default: '500' },
        peer: { type: 'string' },
        'peer-key': { type: 'string', default: 'none' },
        'peer-pid': { type: 'string' },
        'peer-header': { type: 'string', multiple: true, default: [] },
        only: { type: 'string', default: 'calls,streams,translate,bodies' },
        help: { type: 'boolean', short: 'h' },
      },
    }).values
  } catch (error) {
    return calledWrongly((error as Error).message.split(/[.\n]/)[0]!)
  }
}

function wholeNumber(name: string, text: string, digitsMax = 5): number {
  return /^[1-9]\d*$/.test(text) && text.length <= digitsMax
    ? Number(text)
    : calledWrongly(`--${name} must be a whole number from 1; got '${text}'`)
}

const values = readFlags()
if (values.help) {
  console.log(usage)
  process.exit(0)
}
const rounds = wholeNumber('rounds', values.rounds)
/** The memory bar is checked this long after that. */
const restMs = 10_000
/** What the gateway may keep after the load (docs/decisions/0005); beyond it the bench fails. */
const memoryBarMb = 110
const seconds = wholeNumber('seconds', values.seconds)
const partNames = ['calls', 'alone', 'streams', 'translate', 'bodies', 'cache', 'guardrails', 'budgets']
const streams = wholeNumber('streams', values.streams)
const parts = values.only.split(',')
for (const part of parts)
  if (!partNames.includes(part)) calledWrongly(`--only takes ${partNames.join(', ')}; got '${part}'`)
if (values.peer !== undefined && !URL.canParse(values.peer)) calledWrongly(`--peer must be a URL; got '${values.peer}'`)
const peerPid = values['peer-pid'] === undefined ? undefined : wholeNumber('peer-pid', values['peer-pid'], 7)
const root = join(import.meta.dir, '../..')
const folder = mkdtempSync(join(tmpdir(), 'modelgate-bench-'))

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
    streams[0]!.push(await measureStreams(nginx, seconds))
    streams[1]!.push(await measureStreams(gateway, seconds, '/engines/bench-foreign-stream/chat/completions'))
  }
  const eventCpu = streams.map(list => median(list.map(one => one.cpuUs)))
  line('translated streams: CPU us/event', eventCpu, eventCpu[1]! / eventCpu[0]!, 1)
}

/** A gateway that answers from its cache, beside one that sends every call upstream: the ratio has to reach 0.8. */
async function measureHits(forward: Subject): Promise<Record<string, number>> {
  const more = 'litellm_settings: { cache: true, cache_params: { ttl: 86400 } }\n'
  const cached = await startGateway({ root, folder, port: ports.other, name: 'cached', more })
  const perS: number[][] = [[], []]
  for (const one of [forward, cached]) await measureCalls(one, 2)
  for (let round = 0; round < rounds; round++)
    for (const [at, one] of [forward, cached].entries()) perS[at]!.push((await measureCalls(one, seconds)).requestsPerS)
  const [sent, hits] = perS.map(median) as [number, number]
  console.log(row(['kept answers: sent, hits, requests/s', fixed(sent, 0), fixed(hits, 0), fixed(hits / sent, 2)]))
  return { sent, hits, ratio: hits / sent }
}

/**
 * What guardrails cost: calls with 2 KB where one pattern holds (at most 15 us each), and where guardrails are there
 * and none holds; then how much later a stream of 50 tokens a second arrives (at most 40 ms at the median).
 */
async function measureGuardrails(bare: Subject): Promise<Record<string, number>> {
  const pattern = `guardrails:
  - guardrail_name: tickets
    litellm_params: { guardrail: regex, mode: pre_call, default_on: true, patterns: [{ name: A, pattern: "TCK-[0-9]{6}" }] }
`
  const [idle, one] = [
    await startGateway({ root, folder, port: ports.guarded, name: 'idle', more: windowedRules }),
    await startGateway({ root, folder, port: ports.pattern, name: 'guarded', more: pattern }),
  ]
  const body = requestOf(2048)
  const subjects = [bare, idle, one]
  const cpu: number[][] = [[], [], []]
  for (const subject of subjects) await measureCalls(subject, 2, undefined, body)
  for (let round = 0; round < rounds; round++)
    for (const [at, subject] of subjects.entries())
      cpu[at]!.push((await measureCalls(subject, seconds, undefined, body)).cpuUs)
  const [none, off, held] = cpu.map(median) as [number, number, number]
  console.log(row(['2 KB calls, us: none, none holds, a pattern', fixed(none), fixed(off), fixed(held)]))
  const delays = await measureDelays(idle)
  return { none, off, held, added: held - none, ...delays }
}

async function measureDelays(gateway: Subject): Promise<Record<string, number>> {
  const tokens = new PacedTokens({ count: 250, gapMs: 20, port: ports.paced })
  const ask = (guardrails: string[]) => () =>
    fetch(`${gateway.base}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'bench-paced',
        stream: true,
        guardrails,
        messages: [{ role: 'user', content: 'a' }],
      }),
    })
  const free = await tokens.measure(ask([]), 20)
  const guarded = await tokens.measure(ask(['pii', 'names', 'tickets']), 20)
  await tokens.stop()
  const [p50, p99] = [guarded.p50Ms - free.p50Ms, guarded.p99Ms - free.p99Ms]
  console.log(row(['guarded streams, added ms: p50, p99', fixed(p50), fixed(p99)]))
  return { addedP50Ms: p50, addedP99Ms: p99 }
}

async function measureSmallCalls(subjects: readonly Subject[], line: Line): Promise<void> {
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

/** How long one call takes while there is no other: beyond nginx's is what a gateway adds. */
async function measureLatency(subjects: readonly Subject[], line: Line): Promise<void> {
  const all = subjects.map(() => [] as CallFigures[])
  for (let round = 0; round < rounds; round++)
    for (const [at, one] of subjects.entries()) all[at]!.push(await measureAlone(one, seconds))
  for (const [label, name] of [
    ['one call at a time: p50 ms', 'p50Ms'],
    ['one call at a time: p99 ms', 'p99Ms'],
  ] as const) {
    const figures = all.map(list => median(list.map(one => one[name])))
    line(label, figures, figures[1]! / figures[0]!, 2)
  }
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
  await startUpstreams(folder)
  const nginx = await startNginx(folder)
  const gateway = await startGateway({ root, folder, port: ports.gateway, name: 'modelgate' })
  const subjects = [nginx, gateway]
  if (values.peer)
    subjects.push(
      runningPeer({
        base: values.peer,
        key: values['peer-key'],
        pid: peerPid,
        headers: values['peer-header'],
      }),
    )
  const report: Record<string, unknown> = { rounds, seconds, bun: Bun.version }
  console.log(row(['', ...subjects.map(one => one.name), 'ratio']))
  const line = (label: string, figures: number[], ratio: number, digits = 1) => {
    console.log(row([label, ...figures.map(value => fixed(value, digits)), fixed(ratio, 2)]))
    report[label] = { ...Object.fromEntries(subjects.map((one, at) => [one.name, figures[at]])), ratio }
  }
  if (parts.includes('calls')) await measureSmallCalls(subjects, line)
  if (parts.includes('alone')) await measureLatency(subjects, line)
  if (parts.includes('streams')) {
    const all = subjects.map(() => [] as StreamFigures[])
    for (let round = 0; round < Math.min(rounds, 3); round++)
      for (const [at, one] of subjects.entries())
        if (one.pids.length > 0) all[at]!.push(await measureStreams(one, seconds, one.streamPath, streams))
    const events = all.map(list => median(list.map(one => one.eventsPerS)))
    line(`${streams} streams: events/s`, events, events[1]! / events[0]!, 0)
    const cpu = all.map(list => median(list.map(one => one.cpuUs)))
    line(`${streams} streams: CPU us/event`, cpu, cpu[1]! / cpu[0]!, 1)
  }
  if (parts.includes('guardrails')) report.guardrails = await measureGuardrails(gateway)
  if (parts.includes('budgets')) {
    const figures = await measureBudgets(gateway, rounds, seconds)
    const { bareUs, ownedUs, barePerS, ownedPerS } = figures
    console.log(
      row(['tenancy and budgets: us bare, with, added', ...[bareUs, ownedUs, ownedUs - bareUs].map(us => fixed(us))]),
    )
    console.log(
      row(['  requests/s bare, with, ratio', fixed(barePerS, 0), fixed(ownedPerS, 0), fixed(ownedPerS / barePerS, 2)]),
    )
    report.budgets = figures
  }
  if (parts.includes('cache')) report['kept answers'] = await measureHits(gateway)
  if (parts.includes('translate')) await measureTranslation(nginx, gateway, line)
  await measureMemory(subjects, gateway, line)
  if (parts.includes('bodies'))
    for (const mib of [1, 10]) {
      const figures = []
      for (const one of subjects.filter(subject => subject.pids.length > 0))
        figures.push(await measureBodyMemory(one, mib << 20, seconds))
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

await runIn(folder, main)
