/**
 * `npm run dev [-- FLAGS of modelgate serve]`: serves from the sources, starts again when one of them changes, and
 * writes each log line as a short line for people. Ctrl-C ends it.
 */
import { existsSync, watch } from 'node:fs'
import { join } from 'node:path'
import { prettyLine } from './pretty-log.ts'

const root = join(import.meta.dir, '..')
/** Editors and version control write many files at once. */
const settleMs = 150

let gateway = start()
/** The user ended it, or a restart is under way: an end of the gateway is expected. */
let isExpected = false
/** One after another. */
let restarts = Promise.resolve()
let isEnded = false
let timer: ReturnType<typeof setTimeout> | undefined

for (const folder of ['src', 'rules', 'simulator'])
  watch(join(root, folder), { recursive: true }, (_event, file) => {
    if (file === null || !/\.(ts|json)$/.test(file) || file.endsWith('.test.ts')) return
    clearTimeout(timer)
    timer = setTimeout(() => {
      restarts = restarts.then(() => restart(file))
    }, settleMs)
  })

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    isEnded = isExpected = true
    gateway.kill('SIGTERM')
    void gateway.exited.then(code => process.exit(code))
  })

function start() {
  const envFile = join(root, '.env')
  const child = Bun.spawn(
    [
      process.execPath,
      existsSync(envFile) ? `--env-file=${envFile}` : '--no-env-file',
      join(root, 'src/main.ts'),
      'serve',
      ...process.argv.slice(2),
    ],
    {
      cwd: process.cwd(),
      // Open streams would hold a restart up for as long as a drain may take.
      env: { MODELGATE_DRAIN_MS: '500', ...process.env },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'inherit',
    },
  )
  void show(child.stdout)
  void child.exited.then(code => {
    if (!isExpected) console.error(`dev: the gateway ended with ${code}; save a file to start it again`)
  })
  return child
}

async function restart(changed: string): Promise<void> {
  if (isEnded) return
  console.error(`dev: ${changed} changed, starting again`)
  isExpected = true
  gateway.kill('SIGTERM')
  // Its data directory and port are free only then.
  await gateway.exited
  if (isEnded) return
  isExpected = false
  gateway = start()
}

async function show(output: ReadableStream<Uint8Array>): Promise<void> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const piece of output) {
    const lines = (rest + decoder.decode(piece, { stream: true })).split('\n')
    rest = lines.pop()!
    for (const line of lines) console.log(prettyLine(line))
  }
}
