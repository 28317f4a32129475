/** W3C Trace Context (https://www.w3.org/TR/trace-context/): who the caller's span is, and ids of spans. */

/** Where the caller stands in its trace. */
export interface ParentSpan {
  readonly traceId: string
  readonly spanId: string
  readonly isSampled: boolean
}

const form = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?=$|-)/

/** Reads `traceparent`; undefined = there is none, or it is broken, so that a trace begins here. */
export function parentSpan(traceparent: string | null | undefined): ParentSpan | undefined {
  if (!traceparent || traceparent.length > 512) return undefined
  const found = form.exec(traceparent)
  // Version 00 has four fields and no more.
  if (!found || (traceparent.startsWith('00') && traceparent.length !== 55)) return undefined
  return { traceId: found[1]!, spanId: found[2]!, isSampled: (Number.parseInt(found[3]!, 16) & 1) === 1 }
}

/** `traceparent` for a request that is made within this span. */
export const traceparentOf = ({ traceId, spanId, isSampled }: ParentSpan): string =>
  `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`

const pool = Buffer.alloc(4096)
let used = pool.length

/** A random id of a span; 8 bytes of a pool, because asking the system for each costs a microsecond. */
export function newSpanId(): string {
  if (used === pool.length) {
    crypto.getRandomValues(pool)
    used = 0
  }
  const id = pool.toString('hex', used, used + 8)
  used += 8
  return id === '0000000000000000' ? newSpanId() : id
}

/**
 * Whether a trace belongs to this part of all traces: the same answer in every program that asks for the same part as
 * the SDKs of OpenTelemetry do (`TraceIdRatioBased`).
 */
export function isInRatio(traceId: string, ratio: number): boolean {
  if (ratio >= 1) return true
  if (ratio <= 0) return false
  let accumulated = 0
  for (let at = 0; at < 32; at += 8) accumulated = (accumulated ^ Number.parseInt(traceId.slice(at, at + 8), 16)) >>> 0
  return accumulated < Math.floor(ratio * 0xffffffff)
}
