/** Sends an attempt to its upstream: checked, authorized, or answered by the program itself. */
import type { Call } from '../../core/call.ts'
import type { Deployment } from '../../core/deployment.ts'
import type { Transport, UpstreamExchange, UpstreamRequest } from '../../core/transport.ts'
import type { Clock } from '../../lib/clock.ts'
import type { TimerWheel } from '../../lib/timer-wheel.ts'
import type { CallPolicies } from '../admission/admission.ts'
import { admitRepeat } from '../admission/attempt-admission.ts'
import type { Attempt } from '../lanes/attempt-parts.ts'
import { checkedExchange } from '../lanes/checked-exchange.ts'
import type { AnswerCheck } from '../lanes/checked-exchange.ts'
import { deferredExchange } from '../lanes/deferred-exchange.ts'
import { answerInProcess, inProcessExchange } from '../lanes/in-process.ts'
import { Authorizer } from '../upstream-authorization.ts'
import { readFault } from './upstream-fault.ts'

interface SenderParts {
  readonly transport: Transport
  readonly timers: TimerWheel
  readonly clock: Clock
  readonly policies: CallPolicies
}

/** One for all calls: they share the upstreams' tokens. */
export class AttemptSender {
  readonly #parts: SenderParts
  readonly #authorizer: Authorizer

  constructor(parts: SenderParts) {
    this.#parts = parts
    this.#authorizer = new Authorizer(parts.transport, parts.clock)
  }

  send(call: Call, attempt: Attempt, deployment: Deployment): UpstreamExchange {
    return attempt.check
      ? this.#sendChecked(call, attempt, attempt.check, deployment)
      : this.#send(call, attempt, deployment)
  }

  /** Appears as one exchange, also when the answer is requested again. */
  #sendChecked(call: Call, attempt: Attempt, check: AnswerCheck, deployment: Deployment): UpstreamExchange {
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
      answered: status => (call.upstreamStatus = status),
      fault: response => readFault(deployment, response, clock.epochMs(), attempt.body),
    })
  }

  #send(call: Call, attempt: Attempt, deployment: Deployment): UpstreamExchange {
    const { timeouts, target } = deployment
    const { provider } = target
    call.sentBody = attempt.body
    if (provider.answer) return inProcessExchange(answerInProcess(provider.answer, attempt, call))
    const request: UpstreamRequest = {
      method: 'POST',
      head: attempt.head,
      body: attempt.body,
      timeouts: call.stream ? { ...timeouts, firstByteMs: timeouts.firstEventMs } : timeouts,
      proxies: deployment.proxies,
    }
    if (!provider.authorization) return this.#parts.transport.send(request)
    return deferredExchange(
      this.#authorizer
        .authorize(request, target, provider.authorization)
        .then(proven => this.#parts.transport.send(proven)),
    )
  }
}
