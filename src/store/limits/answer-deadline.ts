/**
 * Deadlines of answers on one connection that do not count this process's own work. A burst of calls can keep the event
 * loop busy for longer than an answer may take: what arrived meanwhile is unread, and what was asked in the same turn
 * has not been sent. So time counts from the end of the turn that asked, and the loop turns once more before a wait is
 * over. Answers come in order: while those before it arrive, a question is queued, and the server is not silent.
 */
import { atEndOfTick } from '../../lib/end-of-tick.ts'
import type { TickTask } from '../../lib/end-of-tick.ts'

/** How long an answer is waited for. The first of the two that passes ends the wait. */
export interface AnswerTimeouts {
  /** Without any answer on the connection. */
  readonly silenceMs: number
  /** While answers to earlier questions arrive. */
  readonly queueMs: number
}

interface Waiting {
  readonly timeouts: AnswerTimeouts
  readonly giveUp: () => void
  sentMs: number
}

/**
 * The waits on one connection, all on one timer. An answer after its deadline is dropped, but counts as a sign that the
 * server answers.
 */
export class AnswerWatch implements TickTask {
  readonly #late: () => Error
  #asked: Waiting[] = []
  readonly #sent = new Set<Waiting>()
  #answeredMs = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  /** When the timer fires; Infinity = there is none. */
  #timerMs = Infinity

  /** `late` = what `inTime` rejects with. */
  constructor(late: () => Error) {
    this.#late = late
  }

  /** Rejects when `answer` is not there in time. To be called in the turn in which the question was asked. */
  inTime<T>(answer: Promise<T>, timeouts: AnswerTimeouts): Promise<T> {
    return new Promise((resolve, reject) => {
      const waiting: Waiting = { timeouts, giveUp: () => reject(this.#late()), sentMs: Infinity }
      if (this.#asked.push(waiting) === 1) atEndOfTick(this)
      this.#sent.add(waiting)
      answer.then(
        value => {
          this.#sent.delete(waiting)
          this.#answeredMs = performance.now()
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

  /** Sets the one timer to the first moment at which a wait may be over. */
  #arm(nextMs: number, nowMs: number): void {
    if (nextMs >= this.#timerMs) return
    clearTimeout(this.#timer)
    this.#timerMs = nextMs
    this.#timer = setTimeout(
      () => {
        this.#timerMs = -Infinity
        // Two ends of turns, so that the sockets were read in between.
        setImmediate(() => setImmediate(() => this.#endWaits()))
      },
      Math.max(nextMs - nowMs, 1),
    )
  }

  #endWaits(): void {
    this.#timerMs = Infinity
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

  #endMs({ sentMs, timeouts }: Waiting): number {
    return Math.min(Math.max(sentMs, this.#answeredMs) + timeouts.silenceMs, sentMs + timeouts.queueMs)
  }
}
