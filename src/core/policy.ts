/** One rule that every call passes. The order stands in `policies/index.ts`. */
import type { Call, Settlement } from './call.ts'

/** An answer on its way out: headers are final, the body is whole or comes in pieces. */
export interface Reply {
  readonly status: number
  readonly contentType: string
  readonly body: Uint8Array | string | ReadableStream<Uint8Array>
}

export type Next = (call: Call) => Promise<Reply>

export interface Policy {
  readonly name: string
  /** Wraps the call: refuse by throwing a GatewayError, or change what passes. */
  handle?(call: Call, next: Next): Promise<Reply>
  /** Runs exactly once a call, also for calls that never reached `handle`. Must not throw or wait. */
  settled?(settlement: Settlement): void
}
