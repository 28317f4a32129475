/**
 * `npm run trace-call [-- --list --pairs --root FOLDER KIND...]`: which functions of `src` one call enters, from the
 * client's socket to the client's socket. Prints for each kind of call how many distinct files and functions are
 * entered, and the room changes: two entries in a row in different folders right under `src`. The first three figures
 * leave `lib` out, as the table of imports does (any room may use it); the last three count it. `--list` prints the
 * entries, `--pairs` where the room changes come from, `--root` traces another checkout.
 *
 * The gateway is a process of its own with probes in its sources (`trace-call-probes.ts`); the simulator and the client
 * are in this one. A call of the same kind goes ahead, so that nothing is traced that happens only once. Work that a
 * timer begins is not traced. Of `repeats` calls the shortest trace counts: what others have more is not theirs.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { startSimulator } from '../simulator/index.ts'
import type { TracedFunction } from './trace-call-probes.ts'

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    root: { type: 'string', default: resolve(import.meta.dir, '..') },
    list: { type: 'boolean', default: false },
    pairs: { type: 'boolean', default: false },
  },
})
const root = resolve(flags.root)
const masterKey = 'sk-master-4fT9qL2vX8mB6nR1cW7yK3pZ5dH0gJ'
const repeats = 3
/** Functions; a stay in a room that is longer has a reason to be there. */
const shortVisit = 2
const startMsMax = 30_000

/** Sends one call with this key and reads the whole answer. */
type SendCall = (url: string, key: string) => Promise<void>

const kinds: Record<string, SendCall> = {
  forward: (url, key) => chat(url, key, { model: 'forwarded', stream: false }),
  'forward-stream': (url, key) => chat(url, key, { model: 'forwarded', stream: true }),
  translate: (url, key) => chat(url, key, { model: 'translated', stream: false }),
  'translate-stream': (url, key) => chat(url, key, { model: 'translated', stream: true }),
  file(url, key) {
    const form = new FormData()
    form.set('purpose', 'user_data')
    form.set('file', new File(['some notes'], 'notes.txt'))
    return send(`${url}/v1/files`, key, form).then(() => {})
  },
  async run(url, key) {
    const answer = await send(`${url}/v1/threads/runs`, key, {
      assistant_id: assistantId,
      thread: { messages: [{ role: 'user', content: 'Hello' }] },
      stream: true,
    })
    if (!answer.includes('thread.run.completed')) throw new Error(`the run did not complete: ${answer}`)
  },
}

let assistantId = ''

const simulator = await startSimulator()
const folder = mkdtempSync(join(tmpdir(), 'modelgate-trace-'))
const gateway = await startGateway()
try {
  const { key } = JSON.parse(await send(`${gateway.url}/key/generate`, masterKey, {})) as { key: string }
  const assistant = await send(`${gateway.url}/v1/assistants`, key, { model: 'forwarded' })
  assistantId = (JSON.parse(assistant) as { id: string }).id
  const columns = ['files', 'functions', 'changes']
  console.log(' '.repeat(18) + [...columns, ...columns].map(name => name.padStart(10)).join('') + '   (lib counted)')
  for (const kind of positionals.length > 0 ? positionals : Object.keys(kinds)) {
    const sendCall = kinds[kind]
    if (!sendCall) throw new Error(`there is no kind '${kind}'; there are ${Object.keys(kinds).join(', ')}`)
    show(kind, await traced(() => sendCall(gateway.url, key)))
  }
} finally {
  gateway.child.kill()
  await gateway.child.exited
  await simulator.stop()
  rmSync(folder, { recursive: true, force: true })
}

async function traced(call: () => Promise<void>): Promise<TracedFunction[]> {
  await call()
  let shortest: TracedFunction[] | undefined
  for (let repeat = 0; repeat < repeats; repeat++) {
    await gateway.ask('start')
    await call()
    const trace = (await gateway.ask('stop')) as TracedFunction[]
    if (!shortest || trace.length < shortest.length) shortest = trace
  }
  return shortest!
}

function show(kind: string, trace: readonly TracedFunction[]): void {
  const counted = trace.filter(one => roomOf(one) !== 'lib')
  const figures = [counted, trace].flatMap(list => [filesOf(list), list.length, changesOf(list)])
  console.log(kind.padEnd(18) + figures.map(figure => String(figure).padStart(10)).join(''))
  if (flags.list) showList(trace)
  if (flags.pairs) showPairs(counted)
}

function filesOf(trace: readonly TracedFunction[]): number {
  return new Set(trace.map(({ file }) => file)).size
}

function changesOf(trace: readonly TracedFunction[]): number {
  return trace.filter((one, at) => at > 0 && roomOf(one) !== roomOf(trace[at - 1]!)).length
}

/** In the order of entry; `>` = another room than the entry before, where that is not `lib`. */
function showList(trace: readonly TracedFunction[]): void {
  let room: string | undefined
  for (const one of trace) {
    const isChange = room !== undefined && roomOf(one) !== 'lib' && roomOf(one) !== room
    if (roomOf(one) !== 'lib') room = roomOf(one)
    console.log(`${isChange ? '>' : ' '} ${one.file}:${one.line} ${one.name}`)
  }
}

/** How often which room follows which, and which short visits cause it: all entries from one change to the next. */
function showPairs(trace: readonly TracedFunction[]): void {
  const pairs = new Map<string, number>()
  const visits = new Map<string, number>()
  const count = (map: Map<string, number>, name: string) => map.set(name, (map.get(name) ?? 0) + 1)
  let from = 0
  for (let at = 1; at <= trace.length; at++) {
    if (at < trace.length && roomOf(trace[at]!) === roomOf(trace[at - 1]!)) continue
    if (at < trace.length) count(pairs, `${roomOf(trace[at - 1]!)} -> ${roomOf(trace[at]!)}`)
    const visit = trace.slice(from, at)
    if (from > 0 && at < trace.length && visit.length <= shortVisit) {
      const inside = visit.map(({ file, line, name }) => `${file}:${line} ${name}`).join(', ')
      count(visits, `${roomOf(trace[from - 1]!)} -> ${inside} -> ${roomOf(trace[at]!)}`)
    }
    from = at
  }
  for (const [title, map] of [
    ['room changes by pair', pairs],
    ['short visits: one room, a few functions of another, and on', visits],
  ] as const) {
    console.log(`  ${title}`)
    for (const [name, times] of [...map].sort(([, one], [, other]) => other - one))
      console.log(`  ${String(times).padStart(4)}  ${name}`)
  }
}

function roomOf({ file }: TracedFunction): string {
  return file.split('/')[0]!
}

function chat(url: string, key: string, { model, stream }: { model: string; stream: boolean }): Promise<void> {
  const messages = [{ role: 'user', content: 'tokens: 3' }]
  return send(`${url}/v1/chat/completions`, key, { model, stream, messages }).then(() => {})
}

/** The text of the answer. Rejects when it is an error. */
async function send(url: string, key: string, body: object): Promise<string> {
  const isForm = body instanceof FormData
  const headers = { authorization: `Bearer ${key}`, ...(isForm ? {} : { 'content-type': 'application/json' }) }
  const response = await fetch(url, { method: 'POST', headers, body: isForm ? body : JSON.stringify(body) })
  const text = await response.text()
  if (!response.ok) throw new Error(`${url}: ${response.status} ${text}`)
  return text
}

async function startGateway() {
  const address = simulator.url.replace(/\/$/, '')
  const prices = 'input_cost_per_token: 0.000003, output_cost_per_token: 0.000015'
  const entry = (name: string, model: string, base: string) =>
    `  - { model_name: ${name}, proxy_params: { model: ${model}, api_base: "${base}", api_key: k, ${prices} } }\n`
  const config = join(folder, 'config.yaml')
  writeFileSync(
    config,
    `model_list:\n${entry('forwarded', 'custom_openai/chat', `${address}/v1`)}` +
      entry('translated', 'anthropic/claude', address),
  )
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  let answered: (value: unknown) => void = () => {}
  const child = Bun.spawn(
    [
      process.execPath,
      `--preload=${join(import.meta.dir, 'trace-call-probes.ts')}`,
      join(root, 'src/main.ts'),
      'serve',
      `--config=${config}`,
      `--port=${port}`,
      `--data-dir=${join(folder, 'data')}`,
    ],
    {
      cwd: root,
      stdout: 'ignore',
      stderr: 'inherit',
      env: { PATH: process.env.PATH, TRACE_SOURCES: join(root, 'src'), MODELGATE_MASTER_KEY: masterKey },
      ipc: message => answered(message),
    },
  )
  const endMs = performance.now() + startMsMax
  while (
    !(await fetch(`${url}/health/liveliness`).then(
      response => response.ok,
      () => false,
    ))
  ) {
    if (performance.now() > endMs) {
      child.kill()
      throw new Error('the gateway did not start')
    }
    await Bun.sleep(100)
  }
  return {
    url,
    child,
    /** Notifies the probes, and waits for their answer. */
    ask: (message: 'start' | 'stop') =>
      new Promise<unknown>(resolve => {
        answered = resolve
        child.send(message)
      }),
  }
}

function freePort(): Promise<number> {
  const { promise, resolve: found } = Promise.withResolvers<number>()
  const server = createServer().listen(0, '127.0.0.1', () => {
    const { port } = server.address() as AddressInfo
    server.close(() => found(port))
  })
  return promise
}
