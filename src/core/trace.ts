/** Where a call stands in a distributed trace (W3C Trace Context), and when its parts began and ended. */
import type { GatewayError } from './errors.ts'
import type { Deployment } from './deployment.ts'

/** A policy that a call waited for, or that answered it. Times are those of the monotonic clock. */
export interface TracedWait {
  readonly policy: string
  readonly fromMs: number
  readonly toMs: number
}

/** A request to an upstream that has failed or has begun an answer. Times are those of the monotonic clock. */
export interface TracedAttempt {
  readonly deployment: Deployment
  /** The span that the upstream was told of; empty = it was told of none. */
  readonly spanId: string
  readonly fromMs: number
  readonly toMs: number
  /** The HTTP status of its answer; 0 = none has begun. */
  readonly status: number
  readonly error: GatewayError | undefined
}

/** What is noted of a call while it runs, for its spans: they are made when it has ended. */
export interface CallTrace {
  /** 32 hexadecimal digits: of the client's trace, else of the call's own id. */
  readonly traceId: string
  /** 16 hexadecimal digits: of the call's own span. */
  readonly spanId: string
  /** The client's span; empty = the client named none. */
  readonly parentSpanId: string
  /** false = its spans are kept only where it fails or is slow. */
  readonly isSampled: boolean
  /** When it had passed all policies, on the monotonic clock; 0 = it has not. */
  admittedMs: number
  readonly waits: TracedWait[]
  readonly attempts: TracedAttempt[]
  /** The monotonic clock. */
  nowMs(): number
}
