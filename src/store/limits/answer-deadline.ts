/**
 * Gives up on answers that do not come, and blames nobody for this process's own work. A burst of calls keeps the loop
 * busy for longer than an answer may take: what arrived meanwhile lies unread, and what was asked in the same turn was
 * not even sent. So time counts from the end of the turn that asked, and the loop turns once before a wait is over. On
 * one connection answers come in order: while those before it come, a question is only in a queue.
 */
import { atEndOfTick } from '../../lib/end-of-tick.ts'
import type { TickTask } from '../../lib/end-of-tick.ts'

/** How long an answer is waited for. The first of the two to pass ends the wait. */
export interface Patience {
  /** Without any answer on the connection. */
  readonly silenceMs: number
  /** With answers to others. */
  readonly queueMs: number
}

interface Waiting {
  readonly patience: Patience
  readonly giveUp: () => void
  sentMs: number
}

/**
 * The waits on one connection, all on one timer. An answer that comes after its wait is dropped, but shows that the
 * connection lives.
 */
export class AnswerWatch implements TickTask {
  readonly #late: () => Error
  #asked: Waiting[] = []
  readonly #sent = new Set<Waiting>()
  #heardMs = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  /** When the timer comes; Infinity = there is none. */
  #lookMs = Infinity

  /** `late` = what `inTime` rejects with. */
  constructor(late: () => Error) {
    this.#late = late
  }

  /** Passes the answer on while somebody waits for it. To be called in the turn in which the question was asked. */
  inTime<T>(answer: Promise<T>, patience: Patience): Promise<T> {
    return new Promise((resolve, reject) => {
      const waiting: Waiting = { patience, giveUp: () => reject(this.#late()), sentMs: Infinity }
      if (this.#asked.push(waiting) === 1) atEndOfTick(this)
      this.#sent.add(waiting)
      answer.then(
        value => {
          this.#sent.delete(waiting)
          this.#heardMs = performance.now()
          resolve(value)
        },
        (error: unknown) => {
          this.#sent.delete(waiting)
          reject(error)
        },
      )
    })
  }

  endOfTick(): void {
    const nowMs = performance.now()
    let nextMs = Infinity
    for (const waiting of this.#asked) {
      waiting.sentMs = nowMs
      nextMs = Math.min(nextMs, this.#endMs(waiting))
    }
    this.#asked = []
    this.#arm(nextMs, nowMs)
  }

  /** One timer for all: to the first moment at which a wait may be over. */
  #arm(nextMs: number, nowMs: number): void {
    if (nextMs >= this.#lookMs) return
    clearTimeout(this.#timer)
    this.#lookMs = nextMs
    this.#timer = setTimeout(
      () => {
        this.#lookMs = -Infinity
        // Two ends of turns, so that the sockets were read in between.
        setImmediate(() => setImmediate(() => this.#look()))
      },
      Math.max(nextMs - nowMs, 1),
    )
  }

  #look(): void {
    this.#lookMs = Infinity
    const nowMs = performance.now()
    let nextMs = Infinity
    for (const waiting of this.#sent) {
      const endMs = this.#endMs(waiting)
      if (endMs > nowMs) nextMs = Math.min(nextMs, endMs)
      else {
        this.#sent.delete(waiting)
        waiting.giveUp()
      }
    }
    this.#arm(nextMs, nowMs)
  }

  #endMs({ sentMs, patience }: Waiting): number {
    return Math.min(Math.max(sentMs, this.#heardMs) + patience.silenceMs, sentMs + patience.queueMs)
  }
}
