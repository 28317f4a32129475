/** A response as a dialect writes it, before any fault. */

/** One event of a stream; `tokens` counts what its delta is billed for. */
export interface StreamEvent {
  readonly text: string
  readonly tokens: number
  readonly kind: 'start' | 'delta' | 'finish' | 'usage' | 'end' | 'error'
  /** What a binary framing calls it. */
  readonly name?: string
}

/** An answer before any fault. */
export interface SimulatedResponse {
  readonly status: number
  readonly headers: readonly (readonly [string, string])[]
  readonly content: string | Uint8Array | Iterable<StreamEvent>
  /** What a vendor would put on the bill for all of it. */
  readonly billable: Billable
  /** The bytes of an event where they are more than its text. */
  readonly encode?: (payload: Uint8Array, event: StreamEvent) => Uint8Array
  /** What a stream of this kind says when it fails after so many events. */
  readonly failure?: (eventsSent: number) => StreamEvent
}

/** Tokens, all kinds of input and of output together. */
interface Billable {
  readonly inputTokens: number
  readonly outputTokens: number
}

/** For answers that cost nothing: errors, lists, files. */
export const unbilled: Billable = { inputTokens: 0, outputTokens: 0 }

/** A whole answer of JSON. */
export function jsonResponse(value: unknown, billable: Billable = unbilled): SimulatedResponse {
  return { status: 200, headers: [], content: JSON.stringify(value), billable }
}

/** A request that a vendor would refuse; becomes an error in the dialect of the path. */
export class ApiError extends Error {
  readonly status: number
  readonly param: string | null
  readonly code: string | null
  constructor(message: string, more: { status?: number; param?: string; code?: string } = {}) {
    super(message)
    this.status = more.status ?? 400
    this.param = more.param ?? null
    this.code = more.code ?? null
  }
}
