/** Notes of a call what its spans need while it runs, and hands it over when it has ended. */
import type { Settlement } from '../../core/call.ts'
import type { TraceSampling } from '../../core/open-telemetry.ts'
import type { Policy } from '../../core/policy.ts'
import type { CallTrace, TracedAttempt, TracedWait } from '../../core/trace.ts'
import type { Clock } from '../../lib/clock.ts'
import { isInRatio, newSpanId, parentSpan } from '../../lib/trace-context.ts'

/** A class, so that all share one hidden class. */
class TraceOfCall implements CallTrace {
  readonly traceId: string
  readonly spanId = newSpanId()
  readonly parentSpanId: string
  readonly isSampled: boolean
  admittedMs = 0
  readonly waits: TracedWait[] = []
  readonly attempts: TracedAttempt[] = []
  readonly #clock: Pick<Clock, 'monotonicMs'>

  constructor(clock: Pick<Clock, 'monotonicMs'>, of: Pick<CallTrace, 'traceId' | 'parentSpanId' | 'isSampled'>) {
    this.#clock = clock
    this.traceId = of.traceId
    this.parentSpanId = of.parentSpanId
    this.isSampled = of.isSampled
  }

  nowMs(): number {
    return this.#clock.monotonicMs()
  }
}

/** Policies around those of a call. */
export interface TracePolicies {
  /** Before all others of a call. */
  readonly first: readonly Policy[]
  /** Behind all that may refuse it. */
  readonly last: readonly Policy[]
}

/** Where no collector is configured. */
export const noTracePolicies: TracePolicies = { first: [], last: [] }

/**
 * A call without a trace of its client's has its own id as the id of its trace. `ended` is called with every call;
 * `isKept` = its spans are to be sent: it was sampled at its beginning, has failed, or was slow.
 */
export function tracePolicies(
  { ratio, followsParent, slowMs }: TraceSampling,
  clock: Pick<Clock, 'monotonicMs'>,
  ended: (settlement: Settlement, isKept: boolean) => void,
): TracePolicies {
  const begin: Policy = {
    name: 'trace-begin',
    stage: 'head',
    dryRun: false,
    admit(call) {
      const parent = parentSpan(call.headers?.get('traceparent'))
      const traceId = parent?.traceId ?? call.id.replaceAll('-', '')
      call.trace = new TraceOfCall(clock, {
        traceId,
        parentSpanId: parent?.spanId ?? '',
        isSampled: parent && followsParent ? parent.isSampled : isInRatio(traceId, ratio),
      })
    },
  }
  const end: Policy = {
    name: 'trace-end',
    stage: 'body',
    dryRun: false,
    admit(call) {
      if (call.trace) call.trace.admittedMs = call.trace.nowMs()
    },
    attempted({ trace }, { deployment, attempt, error }) {
      if (!trace) return
      const { sentMs, answeredMs, status, spanId } = attempt
      // What was planned and not sent has no times.
      const toMs = answeredMs || trace.nowMs()
      trace.attempts.push({ deployment, error, status, spanId, fromMs: sentMs || toMs, toMs })
    },
    settled(settlement) {
      const { call, outcome, durationMs } = settlement
      const isKept = call.trace !== undefined && (call.trace.isSampled || outcome !== 'success' || durationMs >= slowMs)
      ended(settlement, isKept)
    },
  }
  return { first: [begin], last: [end] }
}
