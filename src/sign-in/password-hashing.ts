/**
 * Hashes and verifies passwords by argon2id, behind two lines. Those of known browsers, and new ones, are hashed at
 * once, on as many processors as they leave to calls. Those of strangers, who may be a flood, wait for one process that
 * works when nothing else wants the processor.
 */
import { availableParallelism } from 'node:os'
import { password as argon2 } from 'bun'
import type { PasswordHashing, Turn } from '../core/sign-in/sign-in.ts'
import { normalPassword } from './password-strength.ts'
import { PasswordQueue } from './password-queue.ts'
import { PasswordProcess } from './password-process.ts'

/** OWASP's password storage cheat sheet, 2026-11: argon2id with 19 MiB and two passes. */
const cost = { algorithm: 'argon2id', memoryCost: 19_456, timeCost: 2 } as const
/** Each takes one core for some 50 ms; the others are left to calls. */
const runningMax = Math.max(1, Math.min(2, Math.floor(availableParallelism() / 2)))
/** In the place of a password that is not there: of the same cost, and of no password that is known. */
const decoy = `$argon2id$v=19$m=${cost.memoryCost},t=${cost.timeCost},p=1$${base64(16)}$${base64(32)}`

/** Waits only behind known browsers and other new passwords. */
const own = { turn: 'known', network: '' } as const

/** Hashes and checks passwords; one for the process, whose queues bound how many run at once. */
export function createPasswordHashing(): PasswordHashing {
  const known = new PasswordQueue({ runningMax, turns: ['known'], rest: 0 })
  const strangers = new PasswordQueue({ runningMax: 1, turns: ['returning', 'first-try', 'other'], rest: 1 })
  const apart = new PasswordProcess()
  const isKnown = (turn: Turn): boolean => turn === 'known'
  return {
    hash: password => known.run(own, () => argon2.hash(normalPassword(password), cost)),
    verify: (written, waiting, stored) =>
      (isKnown(waiting.turn) ? known : strangers).run(waiting, async () => {
        const password = normalPassword(written)
        const hash = await stored()
        const compared = hash ?? decoy
        const isRight = await (isKnown(waiting.turn)
          ? argon2.verify(password, compared)
          : apart.verify({ password, hash: compared }))
        return isRight && hash !== undefined
      }),
  }
}

function base64(zeros: number): string {
  return Buffer.alloc(zeros).toString('base64').replaceAll('=', '')
}
