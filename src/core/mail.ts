/** Mail that the gateway sends to people. */

/** One mail. */
export interface Mail {
  /** Addresses; at least one. */
  readonly to: readonly string[]
  readonly subject: string
  /** Plain text. */
  readonly text: string
}

/** Sends mail by the server that the operator named. */
export interface Mailer {
  /** Resolves when the server has taken the mail; rejects with a reason that holds no secret. */
  send(mail: Mail): Promise<void>
}
