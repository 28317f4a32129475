/**
 * `npm test`: types and every test file; several processes at a time. Prints what was skipped and why; at the end, where a
 * log that is cut still has it, each failed file with the errors of its tests; the last line is `N passed, N failed`.
 *
 * Files of one room take turns in a process, a few in each: loading the program costs a file as much as its tests do. Files
 * that look at the process that they run in, or change it, have one of their own (tests/runner/test-groups.ts). `--alone` gives one
 * to every file.
 *
 * Upper bounds of wall-clock time stand only in `*.timing.test.ts`, written as `toBeLessThan` or `toBeWithin`. These
 * files begin when no other waits for its turn, the short ones of a room in one process; those that mostly wait run beside
 * all others. What runs beside them only makes a bound harder to keep. One that missed a bound so runs again, with nothing
 * beside it, and that counts. Those that judge one time by another, or by something else where the machine is busy, have
 * nothing beside them at all. A bound that is missed while other processes, disks or the host of a virtual machine take it
 * away counts neither as passed nor as failed (`timing: N missed on a loaded machine`); on a calm machine it fails, and
 * every other failure of such a file fails on both.
 */
import { Glob } from 'bun'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { programPath } from '../bin/program.mjs'
import { makeDatabaseTemplates } from './runner/database-templates.ts'
import { shortened } from './runner/failures.ts'
import { joinWorkers } from './runner/joined-workers.ts'
import { installTestPackages } from './runner/packages.ts'
import { groupsOf } from './runner/test-groups.ts'
import { runTestFiles } from './runner/test-process.ts'
import type { FileResult, ProcessResult } from './runner/test-process.ts'

const root = new URL('..', import.meta.url).pathname
/**
 * In one thread, and without collections as long as it fits: it needs 1.6 GB, and takes 10 in place of 20 s of
 * processors so. What it knows of files that did not change it takes from where `npm run check` keeps it: then it takes
 * 3 to 5 s.
 */
const compiler = ['node_modules/typescript-native/bin/tsc', '--singleThreaded']
const compilations = [
  ['--incremental', '--tsBuildInfoFile', 'node_modules/.cache/check.tsbuildinfo', '-p', '.'],
  ['-p', 'web'],
]
const compilerMemory = { GOGC: 'off', GOMEMLIMIT: '2GiB' }
/** Files that drive a browser keep most of a core busy each; the others wait three quarters of their time. */
const browsersAtOnce = Math.max(2, Math.min(availableParallelism(), 4))
const othersAtOnce = browsersAtOnce + 1
/**
 * Processes end before JavaScriptCore's best compiler has paid for itself, the long one of tests/fuzz/bodies too (25
 * instead of 35 s of processors), and mostly before the one below it has, which comes in after five times as many calls
 * (0 to 15 % less).
 * Collecting beside the program, in several threads, is for a machine with cores to spare: 5 % less without. So is what
 * is done for processes that idle: collecting by a timer, and giving memory back to the system (4 % less without).
 */
const runtime = {
  BUN_JSC_useFTLJIT: '0',
  BUN_JSC_thresholdForOptimizeAfterWarmUp: '5000',
  BUN_JSC_useConcurrentGC: '0',
  BUN_JSC_numberOfGCMarkers: '1',
  BUN_GC_TIMER_DISABLE: '1',
  MIMALLOC_PURGE_DELAY: '-1',
}
/** Of all failed files together, at the end of the output. */
const linesOfFailures = 28
/** `--profile` prints at the end what each process took of processors, and from when until when it ran, most first. */
const { values: options, positionals: only } = parseArgs({
  args: process.argv.slice(2),
  options: { profile: { type: 'boolean', default: false }, alone: { type: 'boolean', default: false } },
  allowPositionals: true,
})

const files = [...new Glob('{src,rules,simulator,tests}/**/*.test.ts').scanSync(root)]
  .filter(file => !file.includes('node_modules/'))
  .filter(file => only.length === 0 || only.some(part => file.includes(part)))
if (files.length === 0) {
  console.log(`no test file has ${only.map(part => `'${part}'`).join(' or ')} in its path`)
  process.exit(1)
}
// What measures time runs after everything else.
const measures = (file: string) => /\.timing\.test\.ts$/.test(file)
/** Of these, what others take of the machine might also hide something. */
const comparesTimes = (file: string) =>
  /^tests\/(e2e\/passwords|guardrails\/stream-delay)\.timing\.test\.ts$/.test(file)
/**
 * What mostly waits, for time to pass or for processes that it kills and starts, takes turns of its own beside the
 * others, and theirs when it is done. A load counts calls, rows and bytes, and holds on a machine that has other work.
 */
const waits = (file: string) =>
  /(\.load|outage|start-without-database|limiter-redis|shared-state|budgets-redis|ledger-idle)\.test\.ts$/.test(file) ||
  /(sqlite|sign-in-ends)\.timing\.test\.ts$/.test(file)
const drivesBrowser = (file: string) => file.startsWith('tests/web/')
/** Rooms whose files take longest, first, and in each the largest files: what is left for the end is short. */
const rooms = [/^tests\/e2e\//, /^tests\/(sdk|fuzz)\//, /^src\/store\//, /^tests\//]
const roomOf = (file: string) => (rooms.findIndex(room => room.test(file)) + rooms.length + 1) % (rooms.length + 1)
const bytesOf = (file: string) => Bun.file(join(root, file)).size
const together = files
  .filter(file => !measures(file) && !waits(file))
  .sort((one, other) => roomOf(one) - roomOf(other) || bytesOf(other) - bytesOf(one))
const eachAlone = (list: readonly string[]) => list.map(file => [file])
const grouped = (list: readonly string[]) =>
  options.alone ? eachAlone(list) : groupsOf(list, file => readFileSync(join(root, file), 'utf8'))
const browsers = grouped(together.filter(drivesBrowser))
const others = grouped(together.filter(file => !drivesBrowser(file)))
const waiting = eachAlone(files.filter(waits).sort())
// The longest, those of whole gateways, come first.
const timing = files.filter(file => measures(file) && !waits(file)).toSorted((one, other) => (one < other ? 1 : -1))
const bounds = grouped(timing.filter(file => !comparesTimes(file)))
/** With nothing beside it. */
const last = grouped(timing.filter(comparesTimes))

await installTestPackages()

let isLast = false
const results: FileResult[] = []
/** `untilS`: when it ended, in seconds of the run. */
const processes: (ProcessResult & { files: readonly string[]; untilS: number })[] = []

const [templates, workers] = await Promise.all([
  makeDatabaseTemplates(process.env.TEST_DATABASE_URL),
  joinWorkers(root),
])
/** For gateways in processes of their own: tests/support/gateway-process.ts. */
const gatewayProgram = programPath(process.execPath)
await Promise.all([
  only.length === 0 && checkTypes(),
  inTurn(browsersAtOnce, browsers, others),
  inTurn(othersAtOnce, others),
  inTurn(2, waiting, others, bounds),
])
isLast = true
await inTurn(1, last)
await templates.remove()
workers.remove()

if (options.profile) printProfile()
for (const line of new Set(processes.flatMap(one => one.skipped))) console.log(line)
const slow = results.filter(result => result.seconds > 20)
for (const { file, seconds } of slow) console.log(`slow: ${file} took ${seconds.toFixed(0)} s`)
const failed = results.filter(result => result.failed > 0)
for (const { file, failed: count, failures } of failed) {
  console.log(`FAILED: ${file} (${count})`)
  for (const line of shortened(failures, Math.max(1, Math.floor(linesOfFailures / failed.length) - 1)))
    console.log(line)
}
const total = (pick: (result: FileResult) => number) => results.reduce((sum, result) => sum + pick(result), 0)
const missed = results.filter(result => result.missed > 0)
for (const { file, missed: count } of missed) console.log(`missed: ${file} (${count})`)
if (missed.length > 0) console.log(`timing: ${total(result => result.missed)} missed on a loaded machine`)
console.log(`${total(result => result.passed)} passed, ${total(result => result.failed)} failed`)
process.exit(failed.length > 0 ? 1 : 0)

async function checkTypes(): Promise<void> {
  const from = performance.now()
  const failures: string[] = []
  // The pages are checked against the API of the gateway as it is now.
  for (const words of [['scripts/api-types.ts'], ...compilations.map(words => [...compiler, ...words])]) {
    const child = Bun.spawn([process.execPath, ...words], {
      cwd: root,
      stdout: 'pipe',
      stderr: 'inherit',
      env: { ...process.env, ...compilerMemory },
    })
    const output = await new Response(child.stdout).text()
    if ((await child.exited) === 0) continue
    failures.push(`${words.at(-1)}: ${output.slice(0, 200).split('\n', 1)[0]}`)
    console.log(output)
  }
  const seconds = (performance.now() - from) / 1000
  const passed = failures.length > 0 ? 0 : 1
  results.push({ file: 'types', passed, failed: failures.length, failures, missed: 0, seconds })
}

function printProfile(): void {
  const columns = (...figures: number[]) => figures.map(figure => figure.toFixed(1).padStart(7))
  for (const one of processes.toSorted((a, b) => b.processorSeconds - a.processorSeconds)) {
    const [processors, from, until] = columns(one.processorSeconds, one.untilS - one.seconds, one.untilS)
    console.log(`${processors} s of processors ${from} to ${until} s ${one.files.join(' ')}`)
  }
  const sum = processes.reduce((seconds, one) => seconds + one.processorSeconds, 0)
  console.log(`${columns(sum)} s of processors in ${processes.length} processes`)
}

/** Runs and removes the groups of `queues`, those of the first before those of the next. */
async function inTurn(workers: number, ...queues: string[][][]): Promise<void> {
  const next = () => queues.find(queue => queue.length > 0)?.shift()
  const work = async () => {
    for (let group = next(); group; group = next()) await run(group)
  }
  await Promise.all(Array.from({ length: workers }, work))
}

/** What measures keeps all compilers, and collects as the gateway does. */
async function run(group: readonly string[]): Promise<void> {
  const result = await runTestFiles(group, root, {
    ...templates.environment,
    TEST_GATEWAY_PROGRAM: gatewayProgram,
    TEST_JOINED_WORKERS: workers.folder,
    BUN_CONFIG_MAX_HTTP_REQUESTS: '5000',
    ...(!group.some(measures) && runtime),
  })
  processes.push({ ...result, files: group, untilS: performance.now() / 1000 })
  const again = isLast && group.length === 1 ? [] : result.overBounds
  for (const file of again) console.log(`${file} missed a bound and runs again alone`)
  last.push(...eachAlone(again))
  results.push(...result.results.filter(({ file }) => !again.includes(file)))
  for (const file of result.unreached) await run([file])
}
