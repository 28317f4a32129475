/**
 * `npm test`: types, then every test file in its own process, so that no file can lean on another's
 * leftovers; several at a time. Prints what was skipped and why; at the end, where a log that is
 * cut still has it, each failed file with the errors of its tests; the last line is `N passed, N failed`.
 *
 * Upper bounds of wall-clock time stand only in `*.timing.test.ts`, written as `toBeLessThan` or `toBeWithin`. These
 * files run alone, after everything else. A bound that is missed while other processes, disks or the host of a virtual
 * machine take it away counts neither as passed nor as failed (`timing: N missed on a loaded machine`); on a calm machine it fails, and every
 * other failure of such a file fails on both.
 */
import { Glob } from 'bun'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { failuresIn, shortened } from './failures.ts'
import { MachineLoad } from './machine-load.ts'

const root = new URL('..', import.meta.url).pathname
const compiler = 'node_modules/typescript-native/bin/tsc'
const fileTimeoutMs = 400_000
/** Of one test, where it sets none: only what hangs takes so long, also on a loaded machine. */
const testTimeoutMs = 60_000
/** For the output to end when a test file has. */
const leftoversMs = 10_000
/** Part of the machine's time that was not there for a file while it ran, from which on the machine counts as loaded. */
const loadedShare = 0.2
/** Files that drive a browser keep most of a core busy each; the others wait three quarters of their time. */
const browsersAtOnce = Math.max(2, Math.min(availableParallelism(), 4))
const filesAtOnce = browsersAtOnce + 1
/** Of all failed files together, at the end of the output. */
const linesOfFailures = 28
/** `--profile` prints at the end what each file took of processors and of time, most first. */
const { values: options, positionals: only } = parseArgs({
  args: process.argv.slice(2),
  options: { profile: { type: 'boolean', default: false } },
  allowPositionals: true,
})

const files = [...new Glob('{src,rules,simulator,tests}/**/*.test.ts').scanSync(root)].filter(
  file => only.length === 0 || only.some(part => file.includes(part)),
)
if (files.length === 0) {
  console.log(`no test file has ${only.map(part => `'${part}'`).join(' or ')} in its path`)
  process.exit(1)
}
// What measures itself runs alone, after everything else.
const alone = (file: string) => /\.(bench|load|timing)\.test\.ts$/.test(file)
/** What mostly waits for time to pass takes turns of its own beside the others. */
const waits = (file: string) =>
  /(outage|start-without-database|limiter-redis|shared-state|budgets-redis)\.test\.ts$/.test(file)
/**
 * Most end before JavaScriptCore's best compiler has paid for itself: without it seven files of tests/e2e, tests/sdk and
 * src/store took 8.7 instead of 10.3 s of processors. What measures or repeats itself a million times keeps it.
 */
const isLong = (file: string) => alone(file) || /^tests\/(fuzz|property)\//.test(file)
const drivesBrowser = (file: string) => file.startsWith('tests/web/')
/** Rooms whose files take longest, first, and in each the largest files: what is left for the end is short. */
const rooms = [/^tests\/(sdk|fuzz)\//, /^tests\/(?!e2e)/, /^tests\//]
const roomOf = (file: string) => (rooms.findIndex(room => room.test(file)) + rooms.length + 1) % (rooms.length + 1)
const bytesOf = (file: string) => Bun.file(join(root, file)).size
const together = files
  .filter(file => !alone(file) && !waits(file))
  .sort((one, other) => roomOf(one) - roomOf(other) || bytesOf(other) - bytesOf(one))
const browsers = together.filter(drivesBrowser)
const others = together.filter(file => !drivesBrowser(file))
const waiting = files.filter(waits).sort()
const last = files.filter(alone).sort()

interface FileResult {
  readonly file: string
  readonly passed: number
  readonly failed: number
  /** One line each. */
  readonly failures: readonly string[]
  /** Wall-clock bounds that were missed on a loaded machine. */
  readonly missed: number
  readonly seconds: number
  /** Of processors, with the processes that it started and waited for. */
  readonly processorSeconds: number
}

const results: FileResult[] = []
const skipped = new Set<string>()

if (only.length === 0) results.push(await checkTypes())
await Promise.all([inTurn(browsersAtOnce, browsers, others), inTurn(filesAtOnce, others), inTurn(2, waiting)])
await inTurn(1, last)

if (options.profile) printProfile()
for (const line of skipped) console.log(line)
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

async function checkTypes(): Promise<FileResult> {
  const from = performance.now()
  const failures: string[] = []
  // The pages are checked against the API of the gateway as it is now.
  for (const words of [['scripts/api-types.ts'], [compiler, '-p', '.'], [compiler, '-p', 'web']]) {
    const child = Bun.spawn([process.execPath, ...words], { cwd: root, stdout: 'pipe', stderr: 'inherit' })
    const output = await new Response(child.stdout).text()
    if ((await child.exited) === 0) continue
    failures.push(`${words.at(-1)}: ${output.slice(0, 200).split('\n', 1)[0]}`)
    console.log(output)
  }
  const seconds = (performance.now() - from) / 1000
  return {
    file: 'types',
    passed: failures.length > 0 ? 0 : 1,
    failed: failures.length,
    failures,
    missed: 0,
    seconds,
    processorSeconds: 0,
  }
}

function printProfile(): void {
  const byCost = [...results].sort((one, other) => other.processorSeconds - one.processorSeconds)
  for (const { file, seconds, processorSeconds } of byCost)
    console.log(
      `${processorSeconds.toFixed(1).padStart(7)} s of processors ${seconds.toFixed(1).padStart(7)} s ${file}`,
    )
}

/** Runs and removes the files of `queues`, those of the first before those of the next. */
async function inTurn(workers: number, ...queues: string[][]): Promise<void> {
  const next = () => queues.find(queue => queue.length > 0)?.shift()
  const work = async () => {
    for (let file = next(); file; file = next()) results.push(await runFile(file))
  }
  await Promise.all(Array.from({ length: workers }, work))
}

async function runFile(file: string): Promise<FileResult> {
  const from = performance.now()
  const child = Bun.spawn([process.execPath, 'test', '--timeout', String(testTimeoutMs), `./${file}`], {
    cwd: root,
    stdout: 'pipe',
    stderr: 'pipe',
    env: { ...process.env, BUN_CONFIG_MAX_HTTP_REQUESTS: '5000', ...(!isLong(file) && { BUN_JSC_useFTLJIT: '0' }) },
  })
  const isTiming = file.endsWith('.timing.test.ts')
  const load = isTiming ? new MachineLoad(child.pid) : undefined
  const timer = setTimeout(() => child.kill('SIGKILL'), fileTimeoutMs)
  const output = { text: '' }
  const errors = { text: '' }
  const read = Promise.all([collect(child.stdout, output), collect(child.stderr, errors)]).then(() => true)
  const code = await child.exited
  clearTimeout(timer)
  const processorMs = Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1000
  const othersShare = load?.end(processorMs) ?? 0
  // A process that the file started and left behind keeps its output open.
  const left = !(await Promise.race([read, Bun.sleep(leftoversMs).then(() => false)]))
  if (left) errors.text += '\nerror: a process that this file started is still running\n'
  const text = output.text + errors.text
  for (const [line] of text.matchAll(/^skipped: .*$/gm)) skipped.add(line)
  const count = (word: string) => Number(new RegExp(`^\\s*(\\d+) ${word}$`, 'm').exec(text)?.[1] ?? 0)
  const passed = count('pass')
  const failed = count('fail')
  const seconds = (performance.now() - from) / 1000
  // A file that dies, hangs, or runs no test and does not say why, has failed, also where it counted passes.
  const explained = passed + failed > 0 || (count('skip') > 0 && /^skipped: /m.test(text))
  const broken = code !== 0 || !explained || left
  if (broken) console.log(`--- ${file} (exit ${code})\n${text.slice(-20_000)}`)
  const isTimingOnly = code === 1 && !left && failed > 0 && errorsOf(text).every(isMissedBound)
  if (isTiming && isTimingOnly && othersShare > loadedShare) {
    console.log(`others took ${(othersShare * 100).toFixed(0)} % of the machine during ${file}`)
    return { file, passed, failed: 0, failures: [], missed: failed, seconds, processorSeconds: processorMs / 1000 }
  }
  const failures = failuresIn(errors.text)
  if (child.signalCode) failures.push(`ended by ${child.signalCode} after ${seconds.toFixed(0)} s, ${lastTest(text)}`)
  return {
    file,
    passed,
    failed: broken ? Math.max(failed, 1) : failed,
    failures,
    missed: 0,
    seconds,
    processorSeconds: processorMs / 1000,
  }
}

function lastTest(text: string): string {
  const names = [...text.matchAll(/^\(\w+\) (.*)$/gm)].map(([, name]) => name)
  return names.length > 0 ? `after ${names.at(-1)}` : 'in its first test'
}

function errorsOf(text: string): string[] {
  return [...text.matchAll(/^(?:[\w.]*[eE]rror\b|\(fail\)|.*timed out after).*$/gm)].map(([line]) => line)
}

function isMissedBound(line: string): boolean {
  return line.startsWith('(fail)') || /^error: expect\(received\)\.(toBeLessThan|toBeWithin)\(/.test(line)
}

async function collect(stream: ReadableStream<Uint8Array>, into: { text: string }): Promise<void> {
  const decoder = new TextDecoder()
  for await (const piece of stream) into.text += decoder.decode(piece, { stream: true })
}
