/** The process of `PasswordProcess`: verifies a password when nothing else wants the processor. */
import { password as argon2 } from 'bun'
import { lowestPriority } from '../platform/thread-priority.ts'
import type { PasswordQuestion, PasswordReply } from './password-process.ts'

// Where it was not started with a priority below all others.
lowestPriority()

const send = (reply: PasswordReply): void => void process.send?.(reply)

process.on('message', ({ password, hash }: PasswordQuestion) => send(replyOf(password, hash)))
// The gateway has ended, also by SIGKILL.
process.on('disconnect', () => process.exit())
send('ready')

function replyOf(password: string, hash: string): PasswordReply {
  try {
    // In this thread: those of the pool began before its priority was lowered.
    return { isRight: argon2.verifySync(password, hash) }
  } catch (thrown) {
    return { problem: String(thrown) }
  }
}
