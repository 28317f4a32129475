/** Those who wait for their password to be checked. */
import { GatewayError } from '../core/errors.ts'
import type { Turn, WaitingForPassword } from '../core/sign-in/sign-in.ts'
import { FairQueue } from '../lib/fair-queue.ts'

/** Of one kind of turn. */
const waitingMax = 64
/** Whom it took longer has most likely gone, or tries again. */
const waitMaxMs = 15_000
const retryAfterMs = 5000
/** A check that took longer had to wait for the processor itself. */
const restMsMax = 250

interface QueuedCheck {
  readonly isLeft: (() => boolean) | undefined
  readonly sinceMs: number
  start(): void
  refuse(refusal: GatewayError): void
}

const refusal = (): GatewayError =>
  new GatewayError('rate-limited', 'too many passwords are being checked; try again in a few seconds', { retryAfterMs })

interface LineOptions {
  /** Checked at once. */
  readonly runningMax: number
  /** In their order. */
  readonly turns: readonly Turn[]
  /**
   * After a check its place stays empty for so many times as long. A priority counts within a container alone: what
   * its threads take from others there, and from its quota of the processor, is bounded by this.
   */
  readonly rest: number
}

/** Some at a time, by their turn; of one turn each part of the net by turns. */
export class PasswordQueue {
  readonly #options: LineOptions
  readonly #lines: ReadonlyMap<Turn, FairQueue<QueuedCheck>>
  #running = 0

  constructor(options: LineOptions) {
    this.#options = options
    this.#lines = new Map(options.turns.map(turn => [turn, new FairQueue<QueuedCheck>(waitingMax)]))
  }

  /** Throws `rate-limited` where too many wait, or after a long wait. */
  async run<T>(waiting: WaitingForPassword, work: () => Promise<T>): Promise<T> {
    if (this.#running < this.#options.runningMax) this.#running++
    else await this.#wait(waiting)
    const startedMs = performance.now()
    try {
      return await work()
    } finally {
      const restMs = Math.min(restMsMax, (performance.now() - startedMs) * this.#options.rest)
      if (restMs < 1) this.#next()
      else setTimeout(() => this.#next(), restMs).unref()
    }
  }

  #wait({ turn, network, isLeft }: WaitingForPassword): Promise<void> {
    return new Promise((start, refuse) => {
      const waiting = { isLeft, sinceMs: performance.now(), start, refuse }
      if (!this.#lines.get(turn)!.add(partOfNet(network), waiting)) refuse(refusal())
    })
  }

  /** The next one takes the place over. */
  #next(): void {
    for (const line of this.#lines.values())
      for (let one = line.take(); one; one = line.take()) {
        if (one.isLeft?.() !== true && performance.now() - one.sinceMs < waitMaxMs) return one.start()
        one.refuse(refusal())
      }
    this.#running--
  }
}

/** The first 16 bits of an IPv4 address, 32 of an IPv6 network: what one provider rents out has few of them. */
function partOfNet(network: string): string {
  const separator = network.includes(':') ? ':' : '.'
  return network.split(separator, 2).join(separator)
}
