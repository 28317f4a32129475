/** What is called with the end of a call, or of its first attempt. */
import type { Reply } from '../core/answer.ts'
import type { Deployment } from '../core/deployment.ts'
import type { CallControl } from './call-control.ts'

/** Receives the result of a call: exactly one method is called, once. They must not throw. */
export interface ReplyReceiver {
  answered(reply: Reply): void
  failed(thrown: unknown): void
}

/** Of a call's first attempt. An object, because every call has one: two closures and what they capture are four. */
export class FirstAttempt implements ReplyReceiver {
  readonly control: CallControl
  readonly deployment: Deployment
  /** Of the call. */
  readonly receiver: ReplyReceiver
  readonly #recover: (first: FirstAttempt, thrown: unknown) => void

  constructor(
    control: CallControl,
    deployment: Deployment,
    receiver: ReplyReceiver,
    recover: (first: FirstAttempt, thrown: unknown) => void,
  ) {
    this.control = control
    this.deployment = deployment
    this.receiver = receiver
    this.#recover = recover
  }

  answered(reply: Reply): void {
    this.receiver.answered(reply)
  }

  failed(thrown: unknown): void {
    this.#recover(this, thrown)
  }
}
