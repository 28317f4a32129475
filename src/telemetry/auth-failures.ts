/** Refused requests and sign-ins in the log: the first at once, further ones together, one line every ten seconds. */
import type { AuthFailure } from '../core/sign-in/auth-failure.ts'
import { TimerEntry } from '../lib/timer-wheel.ts'
import type { TimerWheel } from '../lib/timer-wheel.ts'
import type { LogFields, Logger } from './log.ts'

const windowMs = 10_000

interface RefusalMessages {
  readonly one: string
  readonly further: string
}

const keyMessages: RefusalMessages = {
  one: 'a request was refused for its API key',
  further: 'further requests were refused for their API keys; the last of them',
}
/** What the log says of refused sign-ins, where `AuthFailureLog` says it of refused keys by default. */
export const signInMessages: RefusalMessages = {
  one: 'a sign-in was refused',
  further: 'further sign-ins were refused; the last of them',
}

/** One of each kind for the process. What clients sent as a key is never written. */
export class AuthFailureLog extends TimerEntry {
  readonly #timers: TimerWheel
  readonly #logger: Pick<Logger, 'warn'>
  readonly #messages: RefusalMessages
  /** Refused since the last line. */
  #refused = 0
  #last: AuthFailure | undefined
  #isOpen = false

  /** `what` = which requests are refused, and for what. */
  constructor(timers: TimerWheel, logger: Pick<Logger, 'warn'>, messages: RefusalMessages = keyMessages) {
    super()
    this.#messages = messages
    this.#timers = timers
    this.#logger = logger
  }

  add(failure: AuthFailure): void {
    if (this.#isOpen) {
      this.#refused++
      this.#last = failure
      return
    }
    this.#logger.warn(this.#messages.one, fieldsOf(failure))
    this.#wait()
  }

  override expired(): void {
    this.#isOpen = false
    if (!this.#last) return
    const fields = { refused: this.#refused, ...fieldsOf(this.#last) }
    this.#logger.warn(this.#messages.further, fields)
    this.#refused = 0
    this.#last = undefined
    this.#wait()
  }

  #wait(): void {
    this.#isOpen = true
    this.#timers.touch(this, this.#timers.nowMs() + windowMs)
  }
}

function fieldsOf({ reason, clientAddress, keyId }: AuthFailure): LogFields {
  return { reason, client: clientAddress, key: keyId }
}
