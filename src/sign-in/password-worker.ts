/** The thread of `PasswordThread`: verifies a password when nothing else wants the processor. */
import { password as argon2 } from 'bun'
import { lowestPriority } from '../platform/thread-priority.ts'
import type { PasswordQuestion, PasswordReply } from './password-thread.ts'

declare const self: Worker

lowestPriority()

self.onmessage = ({ data: { password, hash } }: MessageEvent<PasswordQuestion>) => {
  postMessage(replyOf(password, hash))
}

function replyOf(password: string, hash: string): PasswordReply {
  try {
    // In this thread: the asynchronous form would take one of the pool, with the usual priority.
    return { isRight: argon2.verifySync(password, hash) }
  } catch (thrown) {
    return { problem: String(thrown) }
  }
}
