/** One rule that every call passes. The order stands in `policies/index.ts`. */
import type { AnswerStream } from './answer.ts'
import type { Call, Settlement } from './call.ts'

/** An answer on its way out: headers are final, the body is whole or comes in pieces. */
export interface Reply {
  readonly status: number
  readonly contentType: string
  readonly body: Uint8Array | string | AnswerStream
}

export interface Policy {
  readonly name: string
  /** Asked in order before the call is routed: refuses by throwing a GatewayError, notes on the call what later steps need. */
  admit?(call: Call): void | Promise<void>
  /** Runs exactly once a call, also for calls that never reached `admit`. Must not throw or wait. */
  settled?(settlement: Settlement): void
}
