/** Runs test files by turns in one process of `bun test`, and reads from its output what each of them did. */
import { failuresIn } from './failures.ts'
import { MachineLoad } from './machine-load.ts'

/** Of one file, from its first line on. */
const fileTimeoutMs = 400_000
/** Of one test, where it sets none: only what hangs takes so long, also on a loaded machine. */
const testTimeoutMs = 60_000
/** For the output to end when the process has. */
const leftoversMs = 10_000
/**
 * Part of the machine's time that was not there for a file while it ran, from which on the machine counts as loaded.
 */
const loadedShare = 0.2
/** Of what is printed of a file that failed, in characters. */
const printedLength = 20_000

export interface FileResult {
  readonly file: string
  readonly passed: number
  readonly failed: number
  /** One line each. */
  readonly failures: readonly string[]
  /** Wall-clock bounds that were missed on a loaded machine. */
  readonly missed: number
  readonly seconds: number
}

export interface ProcessResult {
  readonly results: readonly FileResult[]
  /** Files that the process did not come to, because it ended in one before. */
  readonly unreached: readonly string[]
  /** Timing files in which nothing failed but bounds of wall-clock time, on a loaded machine or not. */
  readonly overBounds: readonly string[]
  /** What the files say that they skip, a line each. */
  readonly skipped: readonly string[]
  /** Of processors, with the processes that it started and waited for. */
  readonly processorSeconds: number
  readonly seconds: number
}

/** `root`: the folder of the project, which the files are named from. Prints the output of files that fail. */
export async function runTestFiles(
  files: readonly string[],
  root: string,
  environment: Readonly<Record<string, string>>,
): Promise<ProcessResult> {
  const fromMs = performance.now()
  const preload = ['--preload', `${import.meta.dir}/preload.ts`]
  const words = ['test', ...preload, '--timeout', String(testTimeoutMs), ...files.map(file => `./${file}`)]
  const child = Bun.spawn([process.execPath, ...words], {
    cwd: root,
    stdout: 'pipe',
    stderr: 'pipe',
    env: { ...process.env, ...environment },
  })
  const load = files.every(isTiming) ? new MachineLoad(child.pid) : undefined
  const sections = new FileSections(files, () => child.kill('SIGKILL'))
  let output = ''
  const read = Promise.all([
    collect(child.stdout, piece => (output += piece)),
    collect(child.stderr, piece => sections.add(piece)),
  ]).then(() => true)
  const code = await child.exited
  const processorMs = Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1000
  const othersShare = load?.end(processorMs) ?? 0
  // A process that a file started and left behind keeps the output open.
  const isLeft = !(await Promise.race([read, Bun.sleep(leftoversMs).then(() => false)]))
  const ended = sections.end()
  const text = [output, ...ended.map(section => section.text)].join('\n')
  const skipped = [...text.matchAll(/^skipped: .*$/gm)].map(([line]) => line)
  const results = ended.map(section =>
    resultOf(section, {
      saysSkipped: skipped.length > 0,
      isCut: child.signalCode !== null && section === ended.at(-1),
    }),
  )
  const isTold = code === 1 && !isLeft && results.some(({ failed }) => failed > 0)
  // What no test says happened in the last file that ran.
  if ((code !== 0 || isLeft) && !isTold) {
    const last = results.pop() ?? { file: files[0]!, passed: 0, failed: 0, failures: [], missed: 0, seconds: 0 }
    const afterS = `after ${last.seconds.toFixed(0)} s, ${lastTest(ended.at(-1)?.text)}`
    const trouble = isLeft
      ? 'a process that this file, or one before it in its process, started is still running'
      : `ended by ${child.signalCode ?? `exit ${code}`} ${afterS}`
    results.push({ ...last, failed: last.failed + 1, failures: [...last.failures, trouble] })
  }
  const isLoaded = code === 1 && !isLeft && othersShare > loadedShare
  if (isLoaded) console.log(`others took ${(othersShare * 100).toFixed(0)} % of the machine during ${files.join(' ')}`)
  for (const { file, failed } of results) {
    if (failed === 0) continue
    const errors = ended.find(section => section.file === file)?.text ?? ''
    console.log(`--- ${file} (exit ${code})\n${output.slice(-printedLength)}${errors.slice(-printedLength)}`)
  }
  const isOverBounds = ({ failed }: FileResult, at: number) =>
    load !== undefined && failed > 0 && code === 1 && !isLeft && onlyBoundsFailed(ended[at]?.text ?? '')
  const overBounds = results.filter(isOverBounds).map(({ file }) => file)
  return {
    results: results.map(result => (isLoaded && overBounds.includes(result.file) ? withoutBounds(result) : result)),
    unreached: files.filter(file => !results.some(result => result.file === file)),
    overBounds,
    skipped,
    processorSeconds: processorMs / 1000,
    seconds: (performance.now() - fromMs) / 1000,
  }
}

const isTiming = (file: string): boolean => file.endsWith('.timing.test.ts')

/** What `bun test` writes about one file. */
interface Section {
  readonly file: string
  readonly text: string
  readonly seconds: number
}

/** Cuts what a process writes where it comes to the next file, and ends a file that takes too long. */
class FileSections {
  readonly #files: ReadonlySet<string>
  readonly #onTimeout: () => void
  readonly #sections: { file: string; text: string; fromMs: number }[] = []
  #line = ''
  #isOver = false
  #timer: Timer

  constructor(files: readonly string[], onTimeout: () => void) {
    this.#files = new Set(files)
    this.#onTimeout = onTimeout
    this.#timer = setTimeout(onTimeout, fileTimeoutMs)
  }

  add(piece: string): void {
    const lines = (this.#line + piece).split('\n')
    this.#line = lines.pop()!
    for (const line of lines) this.#addLine(line)
  }

  end(): Section[] {
    clearTimeout(this.#timer)
    this.#addLine(this.#line)
    const untilMs = performance.now()
    return this.#sections.map(({ file, text, fromMs }, at) => ({
      file,
      text,
      seconds: ((this.#sections[at + 1]?.fromMs ?? untilMs) - fromMs) / 1000,
    }))
  }

  #addLine(line: string): void {
    // In GitHub's workflows each file is a group that can be folded.
    const file = line.replace(/^::group::/, '').replace(/:$/, '')
    // Of several files it tells at the end once more what failed.
    if (/^\d+ tests? failed:$/.test(line)) this.#isOver = true
    if (this.#isOver) return
    if (line.endsWith(':') && this.#files.has(file)) {
      this.#sections.push({ file, text: '', fromMs: performance.now() })
      clearTimeout(this.#timer)
      this.#timer = setTimeout(this.#onTimeout, fileTimeoutMs)
    } else {
      const last = this.#sections.at(-1)
      if (last) last.text += `${line}\n`
    }
  }
}

/** `saysSkipped`: the process told of something that it skips. `isCut`: the process ended in this file. */
function resultOf(
  { file, text, seconds }: Section,
  { saysSkipped, isCut }: { saysSkipped: boolean; isCut: boolean },
): FileResult {
  const count = (word: string) => text.match(new RegExp(`^\\(${word}\\) `, 'gm'))?.length ?? 0
  const passed = count('pass')
  const failures = failuresIn(text)
  const failed = count('fail') + (text.match(/^# Unhandled error between tests$/gm)?.length ?? 0)
  // A file that runs no test and does not say why has failed.
  const isExplained = passed + failed > 0 || (count('skip') > 0 && saysSkipped) || isCut
  if (isExplained) return { file, passed, failed, failures, missed: 0, seconds }
  return { file, passed, failed: 1, failures: ['it runs no test and does not say why'], missed: 0, seconds }
}

function lastTest(text = ''): string {
  const names = [...text.matchAll(/^\(\w+\) (.*?)(?: \[[\d.]+m?s\])?$/gm)].map(([, name]) => name)
  return names.length > 0 ? `after ${names.at(-1)}` : 'in its first test'
}

function onlyBoundsFailed(text: string): boolean {
  const errors = text.match(/^(?:[\w.]*[eE]rror\b|\(fail\)|.*timed out after).*$/gm) ?? []
  return errors.every(
    line => line.startsWith('(fail)') || /^error: expect\(received\)\.(toBeLessThan|toBeWithin)\(/.test(line),
  )
}

const withoutBounds = (result: FileResult): FileResult => ({
  ...result,
  failed: 0,
  failures: [],
  missed: result.failed,
})

async function collect(stream: ReadableStream<Uint8Array>, take: (piece: string) => void): Promise<void> {
  const decoder = new TextDecoder()
  for await (const piece of stream) take(decoder.decode(piece, { stream: true }))
}
