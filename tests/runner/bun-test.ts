/** Runs test files by `bun test`, each with a global of its own, and reads what each of them did. */
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** One test that sets no bound of its own hangs when it takes so long, also on a loaded machine. */
const testTimeoutMs = 60_000
/** A run whose processes write nothing for so long hangs where no bound of a test reaches it. */
const silenceMsMax = 400_000
/** How often it is told how far the run has come. */
const progressMs = 60_000
/** As `bun test` heads what a file has printed. */
const fileNames = /^(?:::group::)?\S+\.test\.ts:$/gm
/** A failure is told in so many characters. */
const failureLength = 260

export interface FileResult {
  readonly file: string
  readonly passed: number
  readonly failed: number
  /** One line for each failed test. */
  readonly failures: readonly string[]
  /** Whether nothing failed but upper bounds, written as `toBeLessThan` or `toBeWithin`. */
  readonly isOverBounds: boolean
  readonly seconds: number
}

export interface RunResult {
  readonly results: readonly FileResult[]
  /** What the files say that they skip, a line each. */
  readonly skipped: readonly string[]
  /** Everything that the run has printed. */
  readonly output: string
  /** Time of processors, with the processes that it started and waited for. */
  readonly processorMs: number
}

interface RunOptions {
  /** The folder that the files are named from. */
  readonly root: string
  readonly environment: Readonly<Record<string, string | undefined>>
  /** How many files run at the same time. */
  readonly atOnce: number
  /** Hears of the process when it has begun. */
  began?(pid: number): void
}

/** Every file has a result: one that cannot be loaded, ends its process or runs no test without a reason has failed. */
export async function runTestFiles(files: readonly string[], options: RunOptions): Promise<RunResult> {
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-tests-'))
  try {
    const [log, report] = [join(folder, 'log'), join(folder, 'report.xml')]
    const words = ['--preload', join(import.meta.dir, 'preload.ts'), '--timeout', String(testTimeoutMs)]
    words.push(`--parallel=${options.atOnce}`, '--reporter=junit', `--reporter-outfile=${report}`)
    const descriptor = openSync(log, 'w')
    const child = Bun.spawn([process.execPath, 'test', ...words, ...files.map(file => `./${file}`)], {
      cwd: options.root,
      stdout: descriptor,
      stderr: descriptor,
      env: options.environment,
    })
    closeSync(descriptor)
    options.began?.(child.pid)
    const timer = setInterval(() => {
      if (Date.now() - statSync(log).mtimeMs > silenceMsMax) child.kill('SIGKILL')
    }, 1000)
    const progress = setInterval(() => {
      const begun = new Set(readFileSync(log, 'utf8').match(fileNames))
      console.log(`${begun.size} of ${files.length} files have run`)
    }, progressMs)
    const code = await child.exited
    clearInterval(timer)
    clearInterval(progress)
    const output = Bun.stripANSI(readFileSync(log, 'utf8'))
    const results = resultsOf(files, existsSync(report) ? readFileSync(report, 'utf8') : '', output)
    if (code !== 0 && results.every(({ failed }) => failed === 0)) results.push(untold(code, output))
    return {
      results,
      skipped: [...new Set(output.match(/^skipped: .*$/gm))],
      output,
      processorMs: Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1000,
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** `report`: in the format of JUnit; files that could not be loaded are not in it. */
function resultsOf(files: readonly string[], report: string, output: string): FileResult[] {
  const cases = Map.groupBy(
    report.matchAll(/<testcase ([^>]*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g).map(([, words, inside = '']) => ({
      file: attribute(words!, 'file'),
      name: [attribute(words!, 'classname'), attribute(words!, 'name')].filter(Boolean).join(' > '),
      seconds: Number(attribute(words!, 'time')),
      failure: /<failure ([^>]*)>/.exec(inside)?.[1],
      isSkipped: /<skipped\b/.test(inside),
    })),
    one => one.file,
  )
  const sections = sectionsOf(output)
  return files.map(file => {
    const all = cases.get(file) ?? []
    const ran = all.filter(one => !one.isSkipped)
    const failures = ran.flatMap(({ name, failure }) =>
      failure === undefined ? [] : [`${name}: ${shortened(attribute(failure, 'message') || 'it failed')}`],
    )
    const isExplained = ran.length > 0 || (all.length > 0 && /^skipped: /m.test(sections.get(file) ?? ''))
    if (!isExplained) failures.push(all.length > 0 ? 'it skips all tests and does not say why' : notRun(file, output))
    return {
      file,
      passed: ran.filter(one => one.failure === undefined).length,
      failed: failures.length,
      failures,
      isOverBounds: failures.length > 0 && failures.every(one => overBound.test(one)),
      seconds: all.reduce((sum, one) => sum + one.seconds, 0),
    }
  })
}

const overBound = /: expect\(received\)\.(toBeLessThan|toBeWithin)/

/** A file without a test in the report: the errors between tests are told with the names of the files. */
function notRun(file: string, output: string): string {
  const between = output.split('\n').find(line => /[eE]rror: /.test(line) && line.includes(file))
  return between === undefined ? 'it runs no test and does not say why' : shortened(between)
}

/** The run failed, and no file says why: an error outside of all tests. */
function untold(code: number, output: string): FileResult {
  const at = output.indexOf('# Unhandled error')
  const reason = shortened(at < 0 ? output.slice(-failureLength) : output.slice(at))
  return {
    file: 'bun test',
    passed: 0,
    failed: 1,
    failures: [`exit ${code}: ${reason}`],
    isOverBounds: false,
    seconds: 0,
  }
}

/** What was printed below the name of each file, which comes again when another one has printed meanwhile. */
function sectionsOf(output: string): Map<string, string> {
  const sections = new Map<string, string>()
  let file = ''
  for (const line of output.split('\n')) {
    const [, named] = /^(?:::group::)?(\S+\.test\.ts):$/.exec(line) ?? []
    if (named) file = named
    else sections.set(file, `${sections.get(file) ?? ''}${line}\n`)
  }
  return sections
}

function attribute(words: string, name: string): string {
  const [, text = ''] = new RegExp(`(?:^|\\s)${name}="([^"]*)"`).exec(words) ?? []
  return text.replace(/&(?:#(\d+)|(\w+));/g, (whole, code: string | undefined, named: string | undefined) =>
    code === undefined ? (entities[named!] ?? whole) : String.fromCodePoint(Number(code)),
  )
}

const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" }

function shortened(text: string): string {
  const line = text
    .trim()
    .replace(/\s*\n\s*/g, ' | ')
    .replace(/\s+/g, ' ')
  return line.length > failureLength ? `${line.slice(0, failureLength)}...` : line
}
