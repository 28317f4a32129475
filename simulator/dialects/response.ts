/** Responses as the dialects produce them, before transport faults. */
import type { JsonObject } from '../lib/json.ts'

/** One event of a stream. `tokens` = billed tokens of its delta. */
export interface StreamEvent {
  readonly text: string
  readonly tokens: number
  readonly kind: 'start' | 'delta' | 'finish' | 'usage' | 'end' | 'error'
  /** Event name in a binary framing. */
  readonly name?: string
}

/** A response before transport faults. */
export interface SimulatedResponse {
  readonly status: number
  readonly headers: readonly (readonly [string, string])[]
  readonly content: string | Uint8Array | Iterable<StreamEvent>
  /** What the vendor would bill for the complete response. */
  readonly billable: Billable
  /** Frames an event, for streams that are not text. */
  readonly encode?: (payload: Uint8Array, event: StreamEvent) => Uint8Array
  /** The error event of this kind of stream, after the given number of events. */
  readonly failure?: (eventsSent: number) => StreamEvent
}

/** Tokens of all kinds of input and of output. */
interface Billable {
  readonly inputTokens: number
  readonly outputTokens: number
}

/** For responses that are not billed: errors, lists, files. */
export const unbilled: Billable = { inputTokens: 0, outputTokens: 0 }

/** A non-streamed JSON response with status 200. */
export function jsonResponse(value: unknown, billable: Billable = unbilled): SimulatedResponse {
  return { status: 200, headers: [], content: JSON.stringify(value), billable }
}

/** A request that the vendor would refuse; becomes an error in the dialect of the path. */
export class ApiError extends Error {
  readonly status: number
  readonly param: string | null
  readonly code: string | null
  /** The whole body, where a host has a form of its own. */
  readonly body: JsonObject | undefined
  constructor(message: string, more: { status?: number; param?: string; code?: string; body?: JsonObject } = {}) {
    super(message)
    this.status = more.status ?? 400
    this.param = more.param ?? null
    this.code = more.code ?? null
    this.body = more.body
  }
}
