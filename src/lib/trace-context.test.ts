import { expect, test } from 'bun:test'
import { TraceIdRatioBasedSampler } from '@opentelemetry/sdk-trace'
import { ROOT_CONTEXT } from '@opentelemetry/api'
import { isInRatio, newSpanId, parentSpan, traceparentOf } from './trace-context.ts'

const traceId = '0af7651916cd43dd8448eb211c80319c'
const spanId = 'b7ad6b7169203331'

test('traceparent is read as W3C Trace Context says, and what is broken begins a trace', () => {
  expect(parentSpan(`00-${traceId}-${spanId}-01`)).toEqual({ traceId, spanId, isSampled: true })
  expect(parentSpan(`00-${traceId}-${spanId}-02`)).toEqual({ traceId, spanId, isSampled: false })
  // A later version may have more fields.
  expect(parentSpan(`cc-${traceId}-${spanId}-01-more`)).toEqual({ traceId, spanId, isSampled: true })
  for (const broken of [
    null,
    undefined,
    '',
    `ff-${traceId}-${spanId}-01`,
    `00-${traceId}-${spanId}-01-more`,
    `00-${traceId.toUpperCase()}-${spanId}-01`,
    `00-${'0'.repeat(32)}-${spanId}-01`,
    `00-${traceId}-${'0'.repeat(16)}-01`,
    `00-${traceId}-${spanId}-01x`,
    `00-${traceId}-${spanId}`,
  ])
    expect(parentSpan(broken)).toBeUndefined()
  expect(traceparentOf({ traceId, spanId, isSampled: false })).toBe(`00-${traceId}-${spanId}-00`)
})

test('ids of spans are 16 hexadecimal digits and do not repeat', () => {
  const ids = Array.from({ length: 2000 }, () => newSpanId())
  expect(new Set(ids).size).toBe(2000)
  expect(ids.every(id => /^[0-9a-f]{16}$/.test(id))).toBe(true)
})

test("a part of the traces is the same as by OpenTelemetry's own sampler, for ids of calls too", () => {
  for (const ratio of [0, 0.1, 0.5, 0.999, 1]) {
    const sampler = new TraceIdRatioBasedSampler(ratio)
    let kept = 0
    for (let at = 0; at < 2000; at++) {
      const id = Bun.randomUUIDv7().replaceAll('-', '')
      expect(isInRatio(id, ratio)).toBe(sampler.shouldSample(ROOT_CONTEXT, id).decision === 2)
      if (isInRatio(id, ratio)) kept++
    }
    expect(Math.abs(kept / 2000 - ratio)).toBeLessThan(0.06)
  }
})
