/**
 * Must show: a fresh clone, `npm ci --ignore-scripts && npm start`, and the first call is answered within seconds. Only
 * what belongs to the repository is there; the packages are linked, because tests use no network.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { Glob } from 'bun'
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

const root = join(import.meta.dir, '../..')
const startMsMax = 5000
const readyMsMax = 1000

let clone: string
let home: string
const running = new Set<ChildProcess>()

/**
 * What git would put into a clone, files not yet added included; of an unpacked archive everything but the packages.
 */
function repositoryFiles(): string[] {
  if (!existsSync(join(root, '.git')))
    return [...new Glob('**/*').scanSync({ cwd: root, dot: true })].filter(
      file => !/(^|\/)node_modules\/|^(dist|\.modelgate|data)\//.test(file),
    )
  const listed = Bun.spawnSync(['git', 'ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root })
  if (listed.exitCode !== 0) throw new Error(`git ls-files: ${listed.stderr.toString()}`)
  return listed.stdout
    .toString()
    .split('\0')
    .filter(file => file !== '' && existsSync(join(root, file)))
}

beforeAll(() => {
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-clone-'))
  clone = join(folder, 'modelgate')
  home = join(folder, 'home')
  mkdirSync(home)
  for (const file of repositoryFiles()) {
    mkdirSync(dirname(join(clone, file)), { recursive: true })
    cpSync(join(root, file), join(clone, file))
  }
  symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'))
})
afterAll(() => {
  for (const child of running) child.kill('SIGKILL')
  if (clone) rmSync(dirname(clone), { recursive: true, force: true })
})

interface Started {
  readonly url: string
  readonly masterKey: string | undefined
  /** From the start of the process until its address was printed, answered and ready. */
  readonly readyMs: number
  readonly fromMs: number
  output(): string
  /** As Ctrl-C does: to every process of the group at once. The exit code, or the signal it died by. */
  interrupt(): Promise<number | string | null>
  /** As a process manager does: only the process that it started. Resolves when all of the group have ended. */
  terminate(): Promise<number | string | null>
}

/** Only what a new user has: no provider key, no configuration, an empty home. */
const environment = () => ({
  PATH: process.env.PATH,
  HOME: home,
  TMPDIR: dirname(clone),
  MODELGATE_DISCOVER: '0',
  npm_config_update_notifier: 'false',
})

async function start(command: string, words: readonly string[]): Promise<Started> {
  const fromMs = performance.now()
  const child = spawn(command, words, {
    cwd: clone,
    env: environment() as NodeJS.ProcessEnv,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.add(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece: Buffer) => (output += piece.toString()))
  const exited = new Promise<number | string | null>(resolve =>
    // Not before the pipes are closed: then every process of the group has ended.
    child.on('close', (code, signal) => {
      running.delete(child)
      resolve(code ?? signal)
    }),
  )
  const url = await untilReady(() => output, fromMs)
  return {
    url,
    masterKey: /^ {2}(sk-\S+)$/m.exec(output)?.[1],
    readyMs: performance.now() - fromMs,
    fromMs,
    output: () => output,
    interrupt() {
      process.kill(-child.pid!, 'SIGINT')
      return exited
    },
    terminate() {
      child.kill('SIGTERM')
      return exited
    },
  }
}

async function untilReady(output: () => string, fromMs: number): Promise<string> {
  for (;;) {
    const url = /serves \d+ models on (http:\S+)/.exec(output())?.[1]
    if (url && (await fetch(`${url}/health/readiness`).catch(() => undefined))?.status === 200) return url
    if (performance.now() - fromMs > 20_000) throw new Error(`not ready within 20 s:\n${output()}`)
    await Bun.sleep(5)
  }
}

const chat = (url: string, key: string, stream: boolean) =>
  fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'local/simulated-chat', stream, messages: [{ role: 'user', content: 'Hello' }] }),
  })

test('npm start: the first call and the first stream are answered within 5 s; Ctrl-C ends it well', async () => {
  const started = await start('npm', ['start', '--', '--port', '0'])
  expect(started.masterKey).toMatch(/^sk-[A-Za-z0-9_-]{43}$/)
  const whole = await chat(started.url, started.masterKey!, false)
  expect(whole.status).toBe(200)
  const answer = (await whole.json()) as { choices: { message: { content: string }; finish_reason: string }[] }
  expect(answer.choices[0]!.message.content).not.toBe('')
  const firstMs = performance.now() - started.fromMs
  const streamed = await (await chat(started.url, started.masterKey!, true)).text()
  expect(streamed).toEndWith('data: [DONE]\n\n')
  const streamMs = performance.now() - started.fromMs
  // What the greeting tells a new user to paste.
  const pasted = /^ {2}(curl .*)$/m.exec(started.output())![1]!
  const shell = Bun.spawnSync(['sh', '-c', pasted], {
    env: environment() as Record<string, string>,
    stdout: 'pipe',
    stderr: 'ignore',
  })
  expect(shell.stdout.toString()).toContain('"chat.completion"')
  expect(started.output().split(started.masterKey!).length - 1).toBe(2)
  console.log(
    `npm start: ready after ${started.readyMs.toFixed(0)} ms, first call ${firstMs.toFixed(0)} ms, first stream ${streamMs.toFixed(0)} ms`,
  )
  expect(firstMs).toBeLessThan(startMsMax)
  expect(streamMs).toBeLessThan(startMsMax)
  // With some shells npm ends itself by the signal, not with the code of its script; the test below sees the gateway's
  // own code.
  expect([0, 'SIGINT']).toContain((await started.interrupt())!)
  expect(existsSync(join(clone, '.modelgate/modelgate.sqlite'))).toBe(true)

  const again = await start('npm', ['start', '--', '--port', '0'])
  expect([again.masterKey, again.output().includes('sk-')]).toEqual([undefined, false])
  expect((await chat(again.url, started.masterKey!, false)).status).toBe(200)
  expect([0, 'SIGINT']).toContain((await again.interrupt())!)
}, 60_000)

test('npm start that is told to end takes the gateway with it', async () => {
  const started = await start('npm', ['start', '--', '--port', '0'])
  await started.terminate()
  expect(
    await fetch(started.url).then(
      () => 'still there',
      () => 'gone',
    ),
  ).toBe('gone')
}, 30_000)

test('the gateway itself is ready within a second of its process', async () => {
  const times: number[] = []
  while (times.length < 4 && !(Math.min(...times) < readyMsMax)) {
    const started = await start('node', ['bin/modelgate.mjs', 'serve', '--port', '0'])
    times.push(started.readyMs)
    expect(await started.interrupt()).toBe(0)
  }
  console.log(`ready: ${times.map(ms => ms.toFixed(0)).join(', ')} ms after the start of the process`)
  // The best of a few: other programs share the machine.
  expect(Math.min(...times)).toBeLessThan(readyMsMax)
}, 60_000)
