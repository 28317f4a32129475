/**
 * `npm test`: types, then every test file in its own process, two at a time, so that no file can lean on
 * another's leftovers. Prints what was skipped and why; the last line is `N passed, N failed`.
 */
import { Glob } from 'bun'
import { availableParallelism } from 'node:os'

const root = new URL('..', import.meta.url).pathname
const fileTimeoutMs = 240_000
/** For the output to end when a test file has. */
const leftoversMs = 10_000
const only = process.argv.slice(2)

const files = [...new Glob('{src,simulator,tests}/**/*.test.ts').scanSync(root)].filter(
  file => only.length === 0 || only.some(part => file.includes(part)),
)
if (files.length === 0) {
  console.log(`no test file has ${only.map(part => `'${part}'`).join(' or ')} in its path`)
  process.exit(1)
}
// What measures itself runs alone, after everything else.
const alone = (file: string) => /\.(bench|load|timing)\.test\.ts$/.test(file)
const together = files.filter(file => !alone(file)).sort()
const last = files.filter(alone).sort()

interface FileResult {
  readonly file: string
  readonly passed: number
  readonly failed: number
  readonly seconds: number
}

const results: FileResult[] = []
const skipped = new Set<string>()

if (only.length === 0) results.push(await checkTypes())
await inTurn(together, Math.max(2, Math.min(availableParallelism(), 4)))
await inTurn(last, 1)

for (const line of skipped) console.log(line)
const slow = results.filter(result => result.seconds > 20)
for (const { file, seconds } of slow) console.log(`slow: ${file} took ${seconds.toFixed(0)} s`)
const failed = results.filter(result => result.failed > 0)
for (const { file, failed: count } of failed) console.log(`FAILED: ${file} (${count})`)
const total = (pick: (result: FileResult) => number) => results.reduce((sum, result) => sum + pick(result), 0)
console.log(`${total(result => result.passed)} passed, ${total(result => result.failed)} failed`)
process.exit(failed.length > 0 ? 1 : 0)

async function checkTypes(): Promise<FileResult> {
  const from = performance.now()
  const child = Bun.spawn([process.execPath, 'node_modules/typescript/bin/tsc', '-p', '.'], {
    cwd: root,
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const output = await new Response(child.stdout).text()
  const good = (await child.exited) === 0
  if (!good) console.log(output)
  return { file: 'types', passed: good ? 1 : 0, failed: good ? 0 : 1, seconds: (performance.now() - from) / 1000 }
}

async function inTurn(queue: string[], workers: number): Promise<void> {
  const waiting = [...queue]
  const work = async () => {
    for (let file = waiting.shift(); file; file = waiting.shift()) results.push(await runFile(file))
  }
  await Promise.all(Array.from({ length: workers }, work))
}

async function runFile(file: string): Promise<FileResult> {
  const from = performance.now()
  const child = Bun.spawn([process.execPath, 'test', `./${file}`], {
    cwd: root,
    stdout: 'pipe',
    stderr: 'pipe',
    env: { ...process.env, BUN_CONFIG_MAX_HTTP_REQUESTS: '5000' },
  })
  const timer = setTimeout(() => child.kill('SIGKILL'), fileTimeoutMs)
  const output = { text: '' }
  const errors = { text: '' }
  const read = Promise.all([collect(child.stdout, output), collect(child.stderr, errors)]).then(() => true)
  const code = await child.exited
  clearTimeout(timer)
  // A process that the file started and left behind keeps its output open.
  const left = !(await Promise.race([read, Bun.sleep(leftoversMs).then(() => false)]))
  if (left) errors.text += '\nerror: a process that this file started is still running\n'
  const text = output.text + errors.text
  for (const [line] of text.matchAll(/^skipped: .*$/gm)) skipped.add(line)
  const count = (word: string) => Number(new RegExp(`^\\s*(\\d+) ${word}$`, 'm').exec(text)?.[1] ?? 0)
  const passed = count('pass')
  const failed = count('fail')
  // A file that dies, hangs, or runs no test and does not say why, has failed, whatever it counted.
  const explained = passed + failed > 0 || (count('skip') > 0 && /^skipped: /m.test(text))
  const broken = code !== 0 || !explained || left
  if (broken) console.log(`--- ${file} (exit ${code})\n${text.slice(-20_000)}`)
  return { file, passed, failed: broken ? Math.max(failed, 1) : failed, seconds: (performance.now() - from) / 1000 }
}

async function collect(stream: ReadableStream<Uint8Array>, into: { text: string }): Promise<void> {
  const decoder = new TextDecoder()
  for await (const piece of stream) into.text += decoder.decode(piece, { stream: true })
}
