/** `npm run dev`: restarts on a change, and short log lines. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { appendFileSync, cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { prettyLine } from '../scripts/pretty-log.ts'

const root = join(import.meta.dir, '..')
const masterKey = 'sk-master-4fT9qL2vX8mB6nR1cW7yK3pZ5dH0gJ'
/** Copying and starting twice, on a loaded machine. */
const runMsMax = 60_000

let project: string
beforeAll(() => {
  project = mkdtempSync(join(tmpdir(), 'modelgate-dev-'))
  for (const name of ['bin', 'src', 'rules', 'simulator', 'scripts', 'package.json'])
    cpSync(join(root, name), join(project, name), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(project, 'node_modules'))
})
afterAll(() => rmSync(project, { recursive: true, force: true }))

test(
  'a saved source starts the gateway again, and a call is one short line',
  async () => {
    const child = Bun.spawn(
      ['node', 'bin/bun.mjs', 'scripts/dev.ts', '--port', '0', '--data-dir', join(project, 'data')],
      {
        cwd: project,
        env: { PATH: process.env.PATH, MODELGATE_MASTER_KEY: masterKey, MODELGATE_DISCOVER: '0' },
        stdout: 'pipe',
        stderr: 'pipe',
      },
    )
    const [log, messages] = [new Output(child.stdout), new Output(child.stderr)]
    try {
      await chat(await messages.next(/http:\/\/127\.0\.0\.1:\d+/))
      await log.next(/INFO +200 success \/v1\/chat\/completions local\/simulated-chat -> \w+ [\d.]+ ms/)
      appendFileSync(join(project, 'src/main.ts'), '// changed\n')
      await messages.next(/main\.ts changed, starting again/)
      await log.next(/the gateway has stopped/)
      await chat(await messages.next(/http:\/\/127\.0\.0\.1:\d+/))
    } finally {
      child.kill('SIGTERM')
      expect(await child.exited).toBe(0)
    }
  },
  runMsMax,
)

async function chat(url: string): Promise<void> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${masterKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'local/simulated-chat', messages: [{ role: 'user', content: 'Hello' }] }),
  })
  expect(response.status).toBe(200)
}

/** A stream of text that is waited for piece by piece. */
class Output {
  readonly #reader: { read(): Promise<{ done: boolean; value?: Uint8Array }> }
  #text = ''

  constructor(stream: ReadableStream<Uint8Array>) {
    this.#reader = stream.getReader()
  }

  /** The next text that fits; what stands before it is used up. */
  async next(pattern: RegExp): Promise<string> {
    for (;;) {
      const found = pattern.exec(this.#text)
      if (found) {
        this.#text = this.#text.slice(found.index + found[0].length)
        return found[0]
      }
      const { done, value } = await this.#reader.read()
      if (done) throw new Error(`${pattern} never came; the end was: ${this.#text.slice(-2000)}`)
      this.#text += new TextDecoder().decode(value)
    }
  }
}

const call = {
  time: '2026-11-22T10:20:30.123Z',
  level: 'info',
  message: 'call',
  request_id: 'id',
  route: '/v1/chat/completions',
  model: 'a-model',
  deployment: 'a-deployment',
  provider: 'openai',
  status: 200,
  outcome: 'success',
  stream: true,
  attempts: 2,
  duration_ms: 12.5,
  first_byte_ms: 3,
  input_tokens: 4,
  output_tokens: null,
  usage_source: 'upstream',
  cost_nano_usd: 1,
  key: 'k',
  user: null,
  client: '127.0.0.1',
  user_agent: 'x',
}
const lines: [what: string, line: string, shown: string][] = [
  [
    'a call',
    JSON.stringify(call),
    '10:20:30.123 INFO  200 success /v1/chat/completions a-model -> a-deployment 12.5 ms 4+? tokens 2 attempts stream=true',
  ],
  [
    'an error of a call',
    JSON.stringify({ ...call, level: 'error', deployment: null, status: 500, outcome: 'error', error: 'internal' }),
    '10:20:30.123 ERROR 500 error /v1/chat/completions a-model -> none 12.5 ms 4+? tokens 2 attempts stream=true error=internal',
  ],
  [
    'another message',
    JSON.stringify({ time: call.time, level: 'warn', message: 'a warning', count: 3, list: ['a'], none: null }),
    '10:20:30.123 WARN  a warning count=3 list=["a"]',
  ],
  ['no JSON', 'a plain line', 'a plain line'],
  ['broken JSON', '{"time":', '{"time":'],
]

test.each(lines)('%s in short', (_, line, shown) => expect(prettyLine(line, false)).toBe(shown))
