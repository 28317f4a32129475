/** Hashes and verifies passwords by argon2id, in a short queue. */
import { availableParallelism } from 'node:os'
import { password as argon2 } from 'bun'
import { GatewayError } from '../core/errors.ts'
import type { PasswordHashing } from '../core/sign-in.ts'

/** OWASP's password storage cheat sheet, 2026-11: argon2id with 19 MiB and two passes. */
const cost = { algorithm: 'argon2id', memoryCost: 19_456, timeCost: 2 } as const
/** Each takes one core for some 50 ms; the others are left to calls. */
const runningMax = Math.max(1, Math.min(2, Math.floor(availableParallelism() / 2)))
const waitingMax = 100
const retryAfterMs = 5000

/** One for the process. */
export function createPasswordHashing(): PasswordHashing {
  const queue = new WorkQueue()
  // Verified in the place of a password that is not there: of the same cost.
  let decoy: Promise<string> | undefined
  const hash = (password: string) => queue.run(() => argon2.hash(password, cost), true)
  return {
    hash,
    async verify(password, stored, prefer = false) {
      const compared = stored ?? (await (decoy ??= argon2.hash(crypto.randomUUID(), cost)))
      const isRight = await queue.run(() => argon2.verify(password, compared), prefer)
      return isRight && stored !== undefined
    },
  }
}

interface Waiting {
  start(): void
}

/** Runs a few at a time; those that are preferred first, otherwise in order. */
class WorkQueue {
  #running = 0
  readonly #preferred: Waiting[] = []
  readonly #others: Waiting[] = []

  async run<T>(work: () => Promise<T>, prefer: boolean): Promise<T> {
    if (this.#running >= runningMax) await this.#turn(prefer ? this.#preferred : this.#others)
    else this.#running++
    try {
      return await work()
    } finally {
      const next = this.#preferred.shift() ?? this.#others.shift()
      // The next one takes the place over.
      if (next) next.start()
      else this.#running--
    }
  }

  #turn(waiting: Waiting[]): Promise<void> {
    if (waiting.length >= waitingMax)
      throw new GatewayError('overloaded', 'too many passwords are being checked; try again in a few seconds', {
        retryAfterMs,
      })
    return new Promise(start => waiting.push({ start }))
  }
}
