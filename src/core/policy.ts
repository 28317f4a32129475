/** One rule that every call passes. The order stands in `policies/index.ts`. */
import type { AnswerStream } from './answer.ts'
import type { Call, Settlement } from './call.ts'
import type { GatewayError } from './errors.ts'

/** An answer on its way out: headers are final, the body is whole or comes in pieces. */
export interface Reply {
  readonly status: number
  readonly contentType: string
  readonly body: Uint8Array | string | AnswerStream
}

/** One rule that every call passes through. */
export interface Policy {
  readonly name: string
  /** Asked in order before the call is routed: refuses by throwing a GatewayError, notes on the call what later steps need. */
  admit?(call: Call): void | Promise<void>
  /** Runs exactly once a call, also for calls that never reached `admit`. Must not throw or wait. */
  settled?(settlement: Settlement): void
}

/** A request that took its share of a limit before anybody looked at what it asks. */
export interface CountedRequest {
  /** For the answer, whatever it is. */
  readonly headers: Record<string, string>
  /** Over the limit: this is the answer. */
  readonly refusal?: GatewayError
}
