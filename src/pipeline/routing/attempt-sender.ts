/** Sends an attempt to its upstream: checked, authorized, or answered by the program itself. */
import type { CloudCredentials } from '../../clouds/cloud-credentials.ts'
import type { Call, RunningCall } from '../../core/call.ts'
import { credentialFor, withCredential } from '../../core/client-credential.ts'
import type { Deployment, Timeouts } from '../../core/deployment.ts'
import type { CallHead, Transport, UpstreamExchange, UpstreamRequest } from '../../core/transport.ts'
import type { Clock } from '../../lib/clock.ts'
import type { TimerWheel } from '../../lib/timer-wheel.ts'
import { newSpanId, parentSpan, traceparentOf } from '../../lib/trace-context.ts'
import type { CallPolicies } from '../admission/admission.ts'
import { admitRepeat } from '../admission/attempt-admission.ts'
import type { PlannedAttempt } from '../lanes/attempt-parts.ts'
import { checkedExchange } from '../lanes/checked-exchange.ts'
import type { AnswerCheck } from '../lanes/checked-exchange.ts'
import { answerInProcess, inProcessExchange } from '../upstream/in-process.ts'
import { authorized, deferredExchange } from '../upstream/upstream-authorization.ts'
import { readFault } from '../upstream/upstream-fault.ts'

interface SenderParts {
  readonly transport: Transport
  readonly timers: TimerWheel
  readonly clock: Clock
  readonly policies: CallPolicies
  readonly credentials: CloudCredentials
}

/** Sends attempts of all calls. */
export class AttemptSender {
  readonly #parts: SenderParts

  constructor(parts: SenderParts) {
    this.#parts = parts
  }

  /** Within the timeouts of the deployment, or that of the client where it is shorter. */
  send(call: Call, attempt: PlannedAttempt, deployment: Deployment): UpstreamExchange {
    const { timeoutMs } = call.overrides
    const limited =
      timeoutMs === undefined
        ? deployment
        : { ...deployment, timeouts: shortened(deployment.timeouts, call.stream, timeoutMs) }
    return attempt.check ? this.#sendChecked(call, attempt, attempt.check, limited) : this.#send(call, attempt, limited)
  }

  /** Appears as one exchange, also when the answer is requested again. */
  #sendChecked(
    call: RunningCall,
    attempt: PlannedAttempt,
    check: AnswerCheck,
    deployment: Deployment,
  ): UpstreamExchange {
    const { timeouts } = deployment
    const { clock, timers, policies } = this.#parts
    return checkedExchange(this.#send(call, attempt, deployment), {
      check,
      clock,
      timers,
      totalMs: timeouts.totalMs,
      send: (next, totalMs) =>
        this.#send(call, { ...attempt, ...next }, { ...deployment, timeouts: { ...timeouts, totalMs } }),
      admit: () => admitRepeat(policies, call, check.isSeries),
      answered: status => (call.attempt!.status = status),
      fault: response => readFault(deployment, response, clock.epochMs(), attempt.body),
    })
  }

  #send(call: RunningCall, attempt: PlannedAttempt, deployment: Deployment): UpstreamExchange {
    const { timeouts, target } = deployment
    const { provider } = target
    call.attempt!.body = attempt.body
    if (provider.answer) return inProcessExchange(answerInProcess(provider.answer, attempt, call))
    const own = credentialFor(call, deployment)
    const traced = deployment.forwardsTrace ? withTrace(attempt.head, call) : attempt.head
    const request: UpstreamRequest = {
      method: 'POST',
      head: own ? withCredential(traced, own) : traced,
      body: attempt.body,
      timeouts: call.stream ? { ...timeouts, firstByteMs: timeouts.firstEventMs } : timeouts,
      proxies: deployment.proxies,
    }
    if (own || !provider.authorize) return this.#parts.transport.send(request)
    return deferredExchange(
      authorized(request, deployment, provider.authorize, this.#parts).then(proven =>
        this.#parts.transport.send(proven),
      ),
    )
  }
}

/** Of a client; longer values are not passed on. */
const baggageLengthMax = 8192

/** The upstream's span is a child of the attempt's; without spans of our own it is a child of the client's. */
function withTrace(head: CallHead, { trace, headers, attempt }: RunningCall): CallHead {
  const more: Record<string, string> = {}
  for (const name of ['tracestate', 'baggage']) {
    const value = headers?.get(name)
    if (value && value.length <= baggageLengthMax) more[name] = value
  }
  if (trace) {
    attempt!.spanId = newSpanId()
    more.traceparent = traceparentOf({ ...trace, spanId: attempt!.spanId })
  } else {
    const given = headers?.get('traceparent')
    if (given && parentSpan(given)) more.traceparent = given
  }
  return { url: head.url, headers: { ...head.headers, ...more } }
}

/**
 * The timeouts of an attempt whose client has set one of its own; 0 = no limit. The total time of a stream is limited
 * by the operator alone.
 */
function shortened(timeouts: Timeouts, isStream: boolean, mostMs: number): Timeouts {
  const least = (ms: number): number => (ms === 0 ? mostMs : Math.min(ms, mostMs))
  const { firstByteMs, firstEventMs, totalMs } = timeouts
  return {
    ...timeouts,
    firstByteMs: least(firstByteMs),
    firstEventMs: least(firstEventMs),
    totalMs: isStream ? totalMs : least(totalMs),
  }
}
