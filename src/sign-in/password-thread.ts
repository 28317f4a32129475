/** Verifies passwords in a thread of the lowest priority, which costs nothing while there are none. */
import { password as argon2 } from 'bun'
import { siblingModule } from '../lib/sibling-module.ts'

/** To the thread, which gets the next one only after its reply. */
export interface PasswordQuestion {
  readonly password: string
  /** As argon2 writes it. */
  readonly hash: string
}

/** `problem` = the hash is none. */
export type PasswordReply = { readonly isRight: boolean } | { readonly problem: string }

interface Asked {
  readonly question: PasswordQuestion
  /** It was given to the thread, whose next reply is to it. */
  isPosted: boolean
  readonly timer: ReturnType<typeof setTimeout>
  answer(isRight: boolean | Promise<boolean>): void
  fail(problem: Error): void
}

interface ThreadTimes {
  /** How long the thread waits for more before it ends. */
  readonly idleMs?: number
  /**
   * A machine that is busy through and through leaves nothing to the lowest priority. What the thread has not done in
   * this time is done with the usual one: some 50 ms of a processor, once in this time at most.
   */
  readonly patienceMs?: number
}

/** The thread starts with the first password and ends after a while without one; idle, it keeps no process alive. */
export class PasswordThread {
  readonly #idleMs: number
  readonly #patienceMs: number
  #worker: Worker | undefined
  #isBusy = false
  #asked: Asked | undefined
  #idle: ReturnType<typeof setTimeout> | undefined

  constructor({ idleMs = 60_000, patienceMs = 1000 }: ThreadTimes = {}) {
    this.#idleMs = idleMs
    this.#patienceMs = patienceMs
  }

  /** One at a time. Rejects where the hash is none. */
  verify(question: PasswordQuestion): Promise<boolean> {
    if (this.#asked) throw new Error('the thread that verifies passwords takes one at a time')
    clearTimeout(this.#idle)
    return new Promise((answer, fail) => {
      const timer = setTimeout(() => this.#doWithout(), this.#patienceMs)
      this.#asked = { question, isPosted: false, timer, answer, fail }
      this.#post()
    })
  }

  #post(): void {
    if (!this.#asked || this.#isBusy) return
    this.#asked.isPosted = true
    this.#isBusy = true
    this.#worker ??= this.#start()
    this.#worker.postMessage(this.#asked.question)
  }

  #start(): Worker {
    const worker = new Worker(siblingModule('password-worker', import.meta.url), { smol: true })
    worker.onmessage = ({ data }: MessageEvent<PasswordReply>) => {
      if (worker === this.#worker) this.#replied(data)
    }
    const ended = () => {
      if (worker !== this.#worker) return
      this.#end()
      this.#doWithout()
    }
    worker.onerror = ended
    worker.addEventListener('close', ended)
    // The DOM's type of Worker, which the checker takes, does not know Bun's `unref`.
    ;(worker as Worker & { unref(): void }).unref()
    return worker
  }

  #replied(reply: PasswordReply): void {
    this.#isBusy = false
    const asked = this.#asked
    if (!asked) return this.#idles()
    // To one before, which was done meanwhile.
    if (!asked.isPosted) return this.#post()
    this.#take()
    if ('problem' in reply) asked.fail(new Error(reply.problem))
    else asked.answer(reply.isRight)
  }

  #doWithout(): void {
    const asked = this.#take()
    asked?.answer(argon2.verify(asked.question.password, asked.question.hash))
  }

  #take(): Asked | undefined {
    const asked = this.#asked
    this.#asked = undefined
    clearTimeout(asked?.timer)
    this.#idles()
    return asked
  }

  #idles(): void {
    clearTimeout(this.#idle)
    this.#idle = setTimeout(() => this.#end(), this.#idleMs)
    this.#idle.unref()
  }

  #end(): void {
    clearTimeout(this.#idle)
    const worker = this.#worker
    this.#worker = undefined
    this.#isBusy = false
    worker?.terminate()
  }
}
