/**
 * Verifies passwords in a process of its own that gets the time that nothing else wants. Not in a thread: the 19 MiB
 * of each check come and go under the lock that all threads of a process have for their memory (docs/decisions/0058).
 */
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { password as argon2 } from 'bun'
import { workerUrl } from '../lib/program-files.ts'
import { idleCommand } from '../platform/thread-priority.ts'

/** To the process, which gets the next one only after its reply. */
export interface PasswordQuestion {
  readonly password: string
  /** As argon2 writes it. */
  readonly hash: string
}

/** `problem` = the hash is none. `ready` comes once, first. */
export type PasswordReply = 'ready' | { readonly isRight: boolean } | { readonly problem: string }

interface PendingQuestion {
  readonly question: PasswordQuestion
  /** It was given to the process, whose next reply is to it. */
  isSent: boolean
  timer: ReturnType<typeof setTimeout>
  answer(isRight: boolean | Promise<boolean>): void
  fail(problem: Error): void
}

interface ProcessOptions {
  /** How long the process waits for more before it ends. */
  readonly idleMs?: number
  /**
   * A machine that is busy through and through leaves it nothing. What it has not done in this time is done in this
   * process' pool: some 50 ms of a processor, once in this time at most.
   */
  readonly poolAfterMs?: number
  /** From its unexpected end to the start of another; meanwhile passwords are checked in the pool, as above. */
  readonly restartMs?: number
  /** What it is started through. */
  readonly idleCommand?: readonly string[]
}

interface Child {
  readonly process: Bun.Subprocess
  /** What it was started through; empty = nothing. */
  readonly through: readonly string[]
  isReady: boolean
}

const module = fileURLToPath(workerUrl('password-worker', import.meta.url))
/** What the working directory of the gateway holds does not change the program. */
const command = [process.execPath, '--smol', '--no-install', '--no-env-file', module]

/** It starts with the first password, ends after a while without one or with this process, and keeps none alive. */
export class PasswordProcess {
  readonly #options: Required<ProcessOptions>
  #child: Child | undefined
  #isBusy = false
  #pending: PendingQuestion | undefined
  #idle: ReturnType<typeof setTimeout> | undefined
  /** When the pool checked one last, and until when no process is started: by `performance.now`. */
  #pooledMs = -Infinity
  #noStartUntilMs = -Infinity

  constructor(options: ProcessOptions = {}) {
    this.#options = { idleMs: 60_000, poolAfterMs: 1000, restartMs: 10_000, idleCommand: idleCommand(), ...options }
  }

  /** One at a time. Rejects where the hash is none. */
  verify(question: PasswordQuestion): Promise<boolean> {
    if (this.#pending) throw new Error('the process that verifies passwords takes one at a time')
    clearTimeout(this.#idle)
    return new Promise((answer, fail) => {
      const timer = setTimeout(() => this.#doWithout(), this.#options.poolAfterMs)
      this.#pending = { question, isSent: false, timer, answer, fail }
      this.#send()
    })
  }

  #send(): void {
    const pending = this.#pending
    if (!pending || this.#isBusy) return
    this.#child ??= this.#start(this.#options.idleCommand)
    if (!this.#child) return this.#doWithoutSoon(pending)
    pending.isSent = true
    this.#isBusy = true
    const child = this.#child
    try {
      child.process.send(pending.question)
    } catch {
      // Its channel has closed; that it has ended is reported in a moment.
      this.#ended(child)
    }
  }

  #start(through: readonly string[]): Child | undefined {
    if (performance.now() < this.#noStartUntilMs) return undefined
    try {
      const child: Child = {
        through,
        isReady: false,
        process: Bun.spawn([...through, ...command], {
          // No secret of the gateway, and no setting of it.
          env: {},
          cwd: dirname(module),
          stdio: ['ignore', 'ignore', 'ignore'],
          ipc: (reply: PasswordReply) => this.#replied(child, reply),
          onExit: () => this.#ended(child),
        }),
      }
      child.process.unref()
      return child
    } catch {
      this.#noStartUntilMs = performance.now() + this.#options.restartMs
      return undefined
    }
  }

  #replied(child: Child, reply: PasswordReply): void {
    child.isReady = true
    if (child !== this.#child || reply === 'ready') return
    this.#isBusy = false
    const pending = this.#pending
    if (!pending) return this.#idles()
    // The reply belongs to the request before, which was given up meanwhile.
    if (!pending.isSent) return this.#send()
    this.#take()
    if ('problem' in reply) pending.fail(new Error(reply.problem))
    else pending.answer(reply.isRight)
  }

  #ended(child: Child): void {
    if (child !== this.#child) return
    this.#child = undefined
    this.#isBusy = false
    // A container may forbid that priority; the process lowers its own one.
    if (!child.isReady && child.through.length > 0) this.#child = this.#start([])
    else this.#noStartUntilMs = performance.now() + this.#options.restartMs
    this.#send()
  }

  #doWithoutSoon(pending: PendingQuestion): void {
    clearTimeout(pending.timer)
    const waitMs = this.#pooledMs + this.#options.poolAfterMs - performance.now()
    pending.timer = setTimeout(() => this.#doWithout(), Math.max(0, waitMs))
  }

  #doWithout(): void {
    const pending = this.#take()
    if (!pending) return
    this.#pooledMs = performance.now()
    pending.answer(argon2.verify(pending.question.password, pending.question.hash))
  }

  #take(): PendingQuestion | undefined {
    const pending = this.#pending
    this.#pending = undefined
    clearTimeout(pending?.timer)
    this.#idles()
    return pending
  }

  #idles(): void {
    clearTimeout(this.#idle)
    this.#idle = setTimeout(() => this.#end(), this.#options.idleMs)
    this.#idle.unref()
  }

  /** Its channel is closed with it. */
  #end(): void {
    const child = this.#child
    this.#child = undefined
    this.#isBusy = false
    child?.process.kill('SIGKILL')
  }
}
