/**
 * `npm test`: types and every test file, by `bun test --parallel`: each file has a global of its own. Prints what was
 * skipped and why; at the end, where a log that is cut still has it, each failed file with the errors of its tests; the
 * last line is `N passed, N failed`.
 *
 * Upper bounds of wall-clock time stand only in `*.timing.test.ts`, written as `toBeLessThan` or `toBeWithin`. These
 * files run one by one after all others. One in which only bounds were missed runs once more, and that counts. A bound
 * that is missed again while other processes, disks or the host of a virtual machine take the machine away counts
 * neither as passed nor as failed (`timing: N missed on a loaded machine`); on a calm machine it fails, and every other
 * failure of such a file fails on both.
 */
import { Glob } from 'bun'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { programPath } from '../bin/program.mjs'
import { runTestFiles } from './runner/bun-test.ts'
import type { FileResult, RunResult } from './runner/bun-test.ts'
import { makeDatabaseTemplates } from './runner/database-templates.ts'
import { MachineLoad } from './runner/machine-load.ts'
import { installTestPackages } from './runner/packages.ts'
import { changesOfTree } from './runner/tree.ts'
import { hideServers, namesServers } from './runner/without-servers.ts'

const root = new URL('..', import.meta.url).pathname
/** Many files wait half of their time. */
const atOnce = Math.max(2, availableParallelism()) + 1
/** Part of the machine's time that others took while a file ran, from which on the machine counts as loaded. */
const loadedShare = 0.2
/** Of all failed files together, at the end of the output. */
const linesOfFailures = 28

/**
 * Words name parts of paths. `--without-servers` runs the files that name Postgres, Redis or a browser, in an
 * environment that has none of them.
 */
const { values: options, positionals: only } = parseArgs({
  args: process.argv.slice(2),
  options: { 'without-servers': { type: 'boolean', default: false } },
  allowPositionals: true,
})
const isWanted = (file: string): boolean =>
  options['without-servers']
    ? namesServers(file, readFileSync(join(root, file), 'utf8'))
    : only.length === 0 || only.some(part => file.includes(part))
const files = [...new Glob('{src,rules,simulator,tests}/**/*.test.ts').scanSync(root)]
  .filter(file => !file.includes('node_modules/') && isWanted(file))
  .sort()
if (files.length === 0) {
  console.log(`no test file has ${only.map(part => `'${part}'`).join(' or ')} in its path`)
  process.exit(1)
}

const before = changesOfTree(root)
await installTestPackages()
const servers = options['without-servers'] ? hideServers() : undefined
const outside = servers?.environment ?? process.env
const templates = await makeDatabaseTemplates(outside.TEST_DATABASE_URL)
const environment = {
  ...outside,
  ...templates.environment,
  // For gateways in processes of their own: tests/support/gateway-process.ts.
  TEST_GATEWAY_PROGRAM: programPath(process.execPath),
  BUN_CONFIG_MAX_HTTP_REQUESTS: '5000',
}
const runs: RunResult[] = []
const results: FileResult[] = []
let missed = 0

const isTiming = (file: string): boolean => file.endsWith('.timing.test.ts')
const together = files.filter(file => !isTiming(file))
await Promise.all([
  only.length === 0 && !servers && checkTypes(),
  together.length > 0 && run(together, atOnce).then(all => results.push(...all)),
])
const timing = files.filter(isTiming)
for (const result of timing.length > 0 ? await run(timing, 1) : [])
  results.push(result.isOverBounds ? await measuredAgain(result) : result)
await templates.remove()
servers?.remove()
const left = [...changesOfTree(root)].filter(line => !before.has(line))
if (left.length > 0)
  results.push(
    failure(
      'the work tree',
      left.map(line => `changed by the tests: ${line}`),
    ),
  )
report()

async function run(list: readonly string[], processes: number, began?: (pid: number) => void): Promise<FileResult[]> {
  console.log(`${list.length} test files, ${processes} at a time; what fails is told when all have run`)
  const ran = await runTestFiles(list, { root, environment, atOnce: processes, ...(began && { began }) })
  runs.push(ran)
  if (ran.results.some(({ failed }) => failed > 0)) console.log(ran.output)
  return [...ran.results]
}

/** With nothing beside it. */
async function measuredAgain({ file }: FileResult): Promise<FileResult> {
  console.log(`${file} missed a bound and runs again`)
  let load: MachineLoad | undefined
  const [result] = await run([file], 1, pid => (load = new MachineLoad(pid)))
  const others = load!.end(runs.at(-1)!.processorMs)
  if (!result!.isOverBounds || others <= loadedShare) return result!
  console.log(`missed: ${file} (${result!.failed}); others took ${(others * 100).toFixed(0)} % of the machine`)
  missed += result!.failed
  return { ...result!, failed: 0, failures: [] }
}

/** The pages are checked against the API of the gateway as it is now. */
async function checkTypes(): Promise<void> {
  const compiler = join('node_modules', 'typescript-native', 'bin', 'tsc')
  const failures: string[] = []
  for (const words of [['scripts/api-types.ts'], [compiler, '-p', '.'], [compiler, '-p', 'web']]) {
    const child = Bun.spawn([process.execPath, ...words], { cwd: root, stdout: 'pipe', stderr: 'inherit' })
    const output = await new Response(child.stdout).text()
    if ((await child.exited) === 0) continue
    failures.push(`${words.join(' ')}: ${output.slice(0, 200).split('\n', 1)[0]}`)
    console.log(output)
  }
  results.push(failures.length > 0 ? failure('types', failures) : { ...failure('types', []), passed: 1 })
}

function failure(file: string, failures: readonly string[]): FileResult {
  return { file, passed: 0, failed: failures.length, failures, isOverBounds: false, seconds: 0 }
}

function report(): never {
  for (const line of new Set(runs.flatMap(one => one.skipped))) console.log(line)
  for (const { file, seconds } of results) if (seconds > 20) console.log(`slow: ${file} took ${seconds.toFixed(0)} s`)
  const failed = results.filter(result => result.failed > 0)
  const linesEach = Math.max(1, Math.floor(linesOfFailures / failed.length) - 1)
  for (const { file, failed: count, failures } of failed) {
    console.log(`FAILED: ${file} (${count})`)
    for (const line of failures.slice(0, linesEach)) console.log(`  ${line}`)
    if (failures.length > linesEach) console.log(`  and ${failures.length - linesEach} more`)
  }
  if (missed > 0) console.log(`timing: ${missed} missed on a loaded machine`)
  const total = (pick: (result: FileResult) => number) => results.reduce((sum, result) => sum + pick(result), 0)
  console.log(`${total(result => result.passed)} passed, ${total(result => result.failed)} failed`)
  process.exit(failed.length > 0 ? 1 : 0)
}
