/**
 * `npm run bench:compare -- DIR`: this checkout against another one (before a change and after it), both running at
 * once and loaded in turns of a second, so that both see the same machine. What counts is the median of the ratios of
 * neighbouring turns; the quartiles beside it say how far it can be trusted. The last column compares the best tenths of
 * the turns: on a machine with other guests, who only ever add time, it is the steadier figure. Processor time is that of the calls and of
 * their rows, until the last of them is in the database, by thread: it holds on a loaded machine, too. Ends with 1 where
 * a row other than memory is worse by more than 3 %.
 *
 * Two processes of the same checkout differ by up to 4 %, and the last compiler is at work for the first 15 seconds of
 * load: differences below that need `--starts 3 --warm-up 15`.
 *
 *   npm run bench:compare -- DIR [--rounds N] [--seconds N] [--starts N] [--warm-up N] [--only calls,streams,translate,bodies]
 */
import { existsSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { measureBodies } from './body-load.ts'
import { measureCalls, measureStreams } from './loads.ts'
import { memoryMb, percentile, runIn, threadCpuUs } from './machine.ts'
import type { ThreadKind } from './machine.ts'
import { ports, settled, startGateway, startUpstreams } from './subjects.ts'
import type { Subject } from './subjects.ts'

const usage = `npm run bench:compare -- DIR [flags]

  DIR                  Another checkout of the gateway, after \`npm ci\`
  --rounds N           Turns of each (20)
  --seconds N          Seconds of a turn (1)
  --starts N           Processes of each checkout, whose turns count together (1)
  --warm-up N          Seconds of load on each before its turns (3)
  --only PARTS         Some of calls,translate,streams,bodies (all)
  --help               Show this`

/** Memory is read this long after the load. */
const restMs = 14_000
const root = join(import.meta.dir, '../..')
const foreignPath = '/engines/bench-foreign/chat/completions'
const foreignStreamPath = '/engines/bench-foreign-stream/chat/completions'

type Figures = Readonly<Record<string, number>>
/** By how much a figure may be worse. */
const worseMax = 0.03
/** Figures of which more is better. */
const gains: ReadonlySet<string> = new Set(['requestsPerS', 'eventsPerS', 'bodiesPerS'])
/** Label -> the load of one turn. */
const loads: Readonly<Record<string, readonly [string, (subject: Subject, seconds: number) => Promise<Figures>][]>> = {
  calls: [['small calls', async (one, seconds) => callFigures(one, seconds)]],
  translate: [
    ['translated calls', async (one, seconds) => callFigures(one, seconds, foreignPath)],
    ['translated streams', async (one, seconds) => streamFigures(one, seconds, foreignStreamPath)],
  ],
  streams: [['500 streams', async (one, seconds) => streamFigures(one, seconds)]],
  bodies: [1, 10].map(mib => [
    `${mib} MiB bodies`,
    async (one, seconds) => ({ ...(await measureBodies(one, mib << 20, seconds)) }),
  ]),
}

async function callFigures(one: Subject, seconds: number, path?: string): Promise<Figures> {
  const before = threadCpuUs(one.pids)
  const { requests, requestsPerS, p50Ms, p99Ms } = await measureCalls(one, seconds, path)
  await settled(one)
  const after = threadCpuUs(one.pids)
  const usOf = (kind: ThreadKind) => (after[kind] - before[kind]) / requests
  const [servingUs, ledgerUs, otherUs] = [usOf('serving'), usOf('ledger'), usOf('other')]
  const cpuUs = servingUs + ledgerUs + otherUs
  return { cpuUs, servingUs, ledgerUs, requestsPerS, p50Ms, p99Ms }
}

async function streamFigures(one: Subject, seconds: number, path?: string): Promise<Figures> {
  const { cpuUs, eventsPerS } = await measureStreams(one, seconds, path)
  return { cpuUs, eventsPerS }
}

function calledWrongly(why: string): never {
  console.error(`${why}\n\n${usage}`)
  process.exit(2)
}

function readFlags() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      rounds: { type: 'string', default: '20' },
      seconds: { type: 'string', default: '1' },
      starts: { type: 'string', default: '1' },
      'warm-up': { type: 'string', default: '3' },
      only: { type: 'string', default: Object.keys(loads).join(',') },
      help: { type: 'boolean', short: 'h' },
    },
  })
  if (values.help) {
    console.log(usage)
    process.exit(0)
  }
  const [directory] = positionals
  if (directory === undefined || !existsSync(join(directory, 'bin/modelgate.mjs')))
    calledWrongly('DIR must be a checkout of the gateway')
  const numbers = [values.rounds, values.seconds, values.starts, values['warm-up']].map(Number)
  if (!numbers.every(one => Number.isInteger(one) && one > 0))
    calledWrongly('--rounds, --seconds, --starts and --warm-up must be whole numbers from 1')
  const [rounds, seconds, starts, warmUpSeconds] = numbers as [number, number, number, number]
  const parts = values.only.split(',')
  for (const part of parts) if (!Object.hasOwn(loads, part)) calledWrongly(`--only knows no '${part}'`)
  return { directory: resolve(directory), rounds, seconds, starts, warmUpSeconds, parts }
}

const row = (cells: readonly string[]) =>
  cells.map((cell, at) => (at === 0 ? cell.padEnd(34) : cell.padStart(12))).join('')

/** Returns the median of the ratios. `bestShare` = where the best tenth of the sorted values ends. */
function print(label: string, before: readonly number[], after: readonly number[], bestShare = 0.1): number {
  const ratios = before.map((value, at) => after[at]! / value).sort((a, b) => a - b)
  const middle = (values: readonly number[]) =>
    percentile(
      [...values].sort((a, b) => a - b),
      0.5,
    )
  const cells = [middle(before), middle(after)].map(value => value.toFixed(value > 999 ? 0 : 2))
  const best = (values: readonly number[]) =>
    percentile(
      [...values].sort((a, b) => a - b),
      bestShare,
    )
  const shares = [0.5, 0.25, 0.75].map(share => percentile(ratios, share))
  console.log(row([label, ...cells, ...[...shares, best(after) / best(before)].map(ratio => ratio.toFixed(3))]))
  return percentile(ratios, 0.5)
}

/** One process of each checkout: before, after. */
type Pair = readonly [Subject, Subject]

async function startPair(directory: string, at: number): Promise<Pair> {
  const start = (from: string, name: string, port: number) =>
    startGateway({ root: from, folder, port: port + 20 * at, name: `${name}-${at}` })
  return [await start(directory, 'before', ports.other), await start(root, 'after', ports.gateway)]
}

async function main(): Promise<void> {
  const { directory, rounds, seconds, starts, warmUpSeconds, parts } = readFlags()
  await startUpstreams(folder)
  const pairs: Pair[] = []
  for (let at = 0; at < starts; at++) pairs.push(await startPair(directory, at))
  const worse: string[] = []
  console.log(row(['', 'before', 'after', 'ratio', 'quartile', 'quartile', 'best tenth']))
  for (const part of parts)
    for (const [label, load] of loads[part]!) {
      for (const one of pairs.flat()) await load(one, warmUpSeconds)
      const figures: Figures[][] = [[], []]
      for (let round = 0; round < rounds; round++)
        // The first place changes hands: what one leaves to be done falls on the other as often.
        for (const pair of pairs)
          for (const at of round % 2 === 0 ? [0, 1] : [1, 0]) figures[at]!.push(await load(pair[at]!, seconds))
      for (const name of Object.keys(figures[0]![0]!)) {
        const [before, after] = figures.map(list => list.map(one => one[name]!))
        const isGain = gains.has(name)
        const ratio = print(`${label}: ${name}`, before!, after!, isGain ? 0.9 : 0.1)
        if ((isGain ? 1 / ratio : ratio) > 1 + worseMax) worse.push(`${label}: ${name}`)
      }
    }
  await Bun.sleep(restMs)
  const memoryOf = (at: 0 | 1) => pairs.map(pair => memoryMb(pair[at].pids, 'now'))
  print(`memory ${restMs / 1000} s later: MB`, memoryOf(0), memoryOf(1))
  if (worse.length === 0) return
  console.log(`worse by more than ${worseMax * 100} %: ${worse.join('; ')}`)
  process.exitCode = 1
}

const folder = mkdtempSync(join(tmpdir(), 'modelgate-compare-'))
await runIn(folder, main)
