/** Hashes and verifies passwords by argon2id, in a short queue. */
import { availableParallelism } from 'node:os'
import { password as argon2 } from 'bun'
import { GatewayError } from '../core/errors.ts'
import type { PasswordHashing, Turn } from '../core/sign-in.ts'

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
  const hash = (password: string) => queue.run(() => argon2.hash(password, cost), 'known-browser')
  return {
    hash,
    async verify(password, stored, turn = 'other') {
      const compared = stored ?? (await (decoy ??= argon2.hash(crypto.randomUUID(), cost)))
      const isRight = await queue.run(() => argon2.verify(password, compared), turn)
      return isRight && stored !== undefined
    },
  }
}

interface Waiting {
  start(): void
}

/** Runs a few at a time, by their turn, otherwise in order; each kind of turn has a line of its own. */
class WorkQueue {
  #running = 0
  readonly #lines: Readonly<Record<Turn, Waiting[]>> = { 'known-browser': [], 'first-try': [], other: [] }

  async run<T>(work: () => Promise<T>, turn: Turn): Promise<T> {
    if (this.#running >= runningMax) await this.#wait(this.#lines[turn])
    else this.#running++
    try {
      return await work()
    } finally {
      const { 'known-browser': known, 'first-try': first, other } = this.#lines
      const next = known.shift() ?? first.shift() ?? other.shift()
      // The next one takes the place over.
      if (next) next.start()
      else this.#running--
    }
  }

  #wait(line: Waiting[]): Promise<void> {
    if (line.length >= waitingMax)
      throw new GatewayError('overloaded', 'too many passwords are being checked; try again in a few seconds', {
        retryAfterMs,
      })
    return new Promise(start => line.push({ start }))
  }
}
