/**
 * A tool server that is a program of this machine, spoken with over its standard input and output. It is started
 * without a shell, in a process group of its own, which is ended as a whole; of the environment it sees what is listed.
 */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import type { ToolServerSettings } from '../core/tool-servers.ts'

type Sdk = Pick<typeof import('@modelcontextprotocol/client'), 'ReadBuffer' | 'serializeMessage'>

/** What programs need to run at all. */
const inheritedNames = ['PATH', 'HOME', 'USER', 'LANG', 'TMPDIR']
/** Between asking a program to end and ending it. */
const graceMs = 2000
const memoryCheckMs = 2000
const lineLengthMax = 2000

/** Programs that are running, for the end of this process. */
const running = new Set<ProgramTransport>()
process.on('exit', () => {
  for (const one of running) one.kill('SIGKILL')
})

/** Starts once; a new one is made to start again. */
export class ProgramTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: Transport['onmessage']
  readonly #server: ToolServerSettings
  readonly #says: (line: string) => void
  readonly #sdk: Sdk
  readonly #buffer: InstanceType<Sdk['ReadBuffer']>
  #child: ChildProcess | undefined
  #memory: ReturnType<typeof setInterval> | undefined
  #ended: Promise<void> = Promise.resolve()

  constructor(sdk: Sdk, server: ToolServerSettings, says: (line: string) => void) {
    this.#sdk = sdk
    this.#server = server
    this.#says = says
    this.#buffer = new sdk.ReadBuffer()
  }

  start(): Promise<void> {
    const [program, ...args] = this.#server.command!
    const inherited = inheritedNames.flatMap(name =>
      process.env[name] === undefined ? [] : [[name, process.env[name]]],
    )
    const own = Object.entries(this.#server.environment).map(([name, value]) => [name, value.reveal()])
    return new Promise((resolve, reject) => {
      const child = spawn(program!, args, {
        env: Object.fromEntries([...inherited, ...own]) as Record<string, string>,
        stdio: ['pipe', 'pipe', 'pipe'],
        shell: false,
        detached: true,
      })
      this.#child = child
      running.add(this)
      child.on('spawn', () => resolve())
      this.#ended = new Promise(ended => {
        const over = () => {
          clearInterval(this.#memory)
          running.delete(this)
          // What it has started and left behind goes with it.
          this.kill('SIGKILL')
          ended()
          this.onclose?.()
        }
        child.once('exit', over)
        child.once('error', (error: Error) => {
          reject(error)
          over()
        })
      })
      child.stdin.on('error', (error: Error) => this.onerror?.(error))
      child.stdout.on('data', (chunk: Buffer) => this.#read(chunk))
      child.stderr.on('data', (chunk: Buffer) => this.#says(chunk.toString('utf8').slice(0, lineLengthMax).trimEnd()))
      this.#memory = setInterval(() => this.#watchMemory(), memoryCheckMs)
      this.#memory.unref()
    })
  }

  send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin
    if (!stdin?.writable) return Promise.reject(new Error('the program has ended'))
    return new Promise((resolve, reject) =>
      stdin.write(this.#sdk.serializeMessage(message), error => (error ? reject(error) : resolve())),
    )
  }

  async close(): Promise<void> {
    const child = this.#child
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    child.stdin?.end()
    const wait = (ms: number) =>
      Promise.race([this.#ended, new Promise<void>(resolve => void setTimeout(resolve, ms).unref())])
    await wait(graceMs / 4)
    this.kill('SIGTERM')
    await wait(graceMs)
    this.kill('SIGKILL')
    await this.#ended
  }

  /** The whole group. */
  kill(signal: 'SIGTERM' | 'SIGKILL'): void {
    const { pid } = this.#child ?? {}
    if (pid === undefined) return
    try {
      process.kill(-pid, signal)
    } catch (error) {
      // The group is gone, or was never made.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') this.onerror?.(error as Error)
    }
  }

  #read(chunk: Buffer): void {
    try {
      this.#buffer.append(chunk)
      for (let message = this.#next(); message !== null; message = this.#next())
        if (message !== undefined) this.onmessage?.(message)
    } catch (error) {
      this.onerror?.(error as Error)
      this.kill('SIGTERM')
    }
  }

  /** null = no whole line is left; undefined = one that is no message. */
  #next(): JSONRPCMessage | null | undefined {
    try {
      return this.#buffer.readMessage()
    } catch (error) {
      this.onerror?.(error as Error)
      return undefined
    }
  }

  #watchMemory(): void {
    const { pid } = this.#child ?? {}
    const bytes = pid === undefined ? 0 : memoryOfGroup(pid)
    if (bytes <= this.#server.memoryMbMax * 1024 * 1024) return
    this.#says(`it holds ${Math.round(bytes / 1048576)} MB, more than its limit of ${this.#server.memoryMbMax}: ended`)
    this.kill('SIGKILL')
  }
}

const pageBytes = 4096

/** Resident bytes of all processes of a group, by Linux's /proc; 0 where there is none. */
function memoryOfGroup(group: number): number {
  let bytes = 0
  let names: string[]
  try {
    names = readdirSync('/proc')
  } catch {
    return 0
  }
  for (const name of names) {
    if (!/^\d+$/.test(name)) continue
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'latin1')
      // The name in brackets may hold blanks and brackets itself.
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      if (Number(fields[2]) === group) bytes += Number(fields[21]) * pageBytes
    } catch {
      // It has ended meanwhile.
    }
  }
  return bytes
}
