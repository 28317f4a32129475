/** Requests to a vendor at paths that the gateway does not know: passed on as they are, with its credentials. */
import type { Answer } from './answer.ts'
import type { Call } from './call.ts'
import type { Deployment } from './deployment.ts'
import type { Outcome } from './hub/operation.ts'
import type { UpstreamRequest } from './transport.ts'

/** What is passed on. */
export interface PassedRequest {
  readonly method: UpstreamRequest['method']
  /** Whose address and credentials are used. */
  readonly deployment: Deployment
  /** Behind the vendor's address, with the query, as the client wrote it. */
  readonly path: string
  /** Of the client: those that a vendor may read, by lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

/**
 * Passes a request on for an admitted call, and its answer back untouched; `settleAfter` gets the end of a streamed
 * body. What the answer says of its usage is recorded, where its shape is known. Rejects where no answer came.
 */
export type PassThrough = (
  call: Call,
  request: PassedRequest,
  settleAfter: (ended: Promise<Outcome>) => void,
) => Promise<Answer>
