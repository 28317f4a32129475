/** Asks the policies of a call, in order. Synchronous unless a policy returns a promise. */
import type { Reply } from '../../core/answer.ts'
import type { Call } from '../../core/call.ts'
import { GatewayError } from '../../core/errors.ts'
import type { AttemptEnd, Policy } from '../../core/policy.ts'
import type { CallTrace } from '../../core/trace.ts'

type Hook = 'admit' | 'admitAttempt' | 'admitModel' | 'answer' | 'answerTexts' | 'failed' | 'attempted' | 'settled'
/** Policies that have this method. Called as a method: a bound function costs three times as much. */
type PoliciesWith<H extends Hook> = readonly (Policy & Required<Pick<Policy, H>>)[]

/** The policies grouped by their methods: made once, so that calls skip policies without the method. */
export interface CallPolicies {
  readonly head: PoliciesWith<'admit'>
  readonly body: PoliciesWith<'admit'>
  /** Those of `body` that apply to the lines of a batch's input file, of which nothing is sent. */
  readonly line: PoliciesWith<'admit'>
  /** Those of `body` that apply to previews, of which nothing is sent. */
  readonly preview: PoliciesWith<'admit'>
  readonly admitAttempt: PoliciesWith<'admitAttempt'>
  readonly admitModel: PoliciesWith<'admitModel'>
  readonly answer: PoliciesWith<'answer'>
  readonly answerTexts: PoliciesWith<'answerTexts'>
  readonly failed: PoliciesWith<'failed'>
  readonly attempted: PoliciesWith<'attempted'>
  /** In reverse order: the last policy records the call. */
  readonly settled: PoliciesWith<'settled'>
}

/** In the order of the list; see `policies/index.ts`. */
export function callPolicies(policies: readonly Policy[]): CallPolicies {
  const having = <H extends Hook>(hook: H, which: (policy: Policy) => boolean = () => true): PoliciesWith<H> =>
    policies.filter((policy): policy is PoliciesWith<H>[number] => policy[hook] !== undefined && which(policy))
  return {
    head: having('admit', ({ stage }) => stage === 'head'),
    body: having('admit', ({ stage }) => stage === 'body'),
    line: having('admit', ({ stage, dryRun }) => stage === 'body' && dryRun === undefined),
    preview: having('admit', ({ stage, dryRun }) => stage === 'body' && dryRun !== false),
    admitAttempt: having('admitAttempt'),
    admitModel: having('admitModel'),
    answer: having('answer'),
    answerTexts: having('answerTexts'),
    failed: having('failed'),
    attempted: having('attempted'),
    settled: having('settled').toReversed(),
  }
}

/** Notifies the policies of an attempt that has failed or has begun an answer. */
export function reportAttempt({ attempted }: CallPolicies, call: Call, end: AttemptEnd): void {
  for (const policy of attempted) policy.attempted(call, end)
}

/** Continues a call; exactly one method is called, synchronously unless a policy had to wait. */
export interface AdmissionReceiver {
  /** The call is settled, as its client has left: no further policy is asked. */
  readonly ended: boolean
  admitted(): void
  /** A policy has answered the call. */
  answered(reply: Reply): void
  failed(thrown: unknown): void
}

/**
 * Asks `policies` from number `from` on. Throws what a policy throws synchronously; a rejection is passed to
 * `receiver`.
 */
export function admitCall(call: Call, policies: PoliciesWith<'admit'>, receiver: AdmissionReceiver, from = 0): void {
  for (let at = from; at < policies.length; at++) {
    const outcome = policies[at]!.admit(call)
    if (outcome === undefined) continue
    if (outcome instanceof Promise) return admitLater(call, policies, receiver, { outcome, next: at + 1 })
    if (call.trace) noteWait(call.trace, policies[at]!.name, call.trace.nowMs())
    return receiver.answered(outcome)
  }
  receiver.admitted()
}

type PendingAdmission = { readonly outcome: Promise<void | Reply>; readonly next: number }

/** A separate function, so that calls without a promise allocate no closures. */
function admitLater(
  call: Call,
  policies: PoliciesWith<'admit'>,
  receiver: AdmissionReceiver,
  { outcome, next }: PendingAdmission,
): void {
  const { trace } = call
  const fromMs = trace?.nowMs() ?? 0
  outcome
    .then(reply => {
      if (trace) noteWait(trace, policies[next - 1]!.name, fromMs)
      if (receiver.ended) return cancelLate(reply)
      if (reply) receiver.answered(reply)
      else admitCall(call, policies, receiver, next)
    })
    .catch(thrown => receiver.failed(thrown))
}

function noteWait(trace: CallTrace, policy: string, fromMs: number): void {
  trace.waits.push({ policy, fromMs, toMs: trace.nowMs() })
}

/** The stream of a reply that no client waits for any more. */
function cancelLate(reply: void | Reply): void {
  if (reply && typeof reply.body === 'object' && 'cancel' in reply.body) reply.body.cancel()
}

/**
 * As a promise: the Reply of the policy that answered, or undefined when all have let the call pass. Rejects with
 * `client-closed` when the client leaves meanwhile.
 */
export async function admitted(call: Call, policies: PoliciesWith<'admit'>): Promise<Reply | undefined> {
  for (const policy of policies) {
    const reply = await policy.admit(call)
    if (call.client.left) {
      cancelLate(reply)
      throw new GatewayError('client-closed', 'the client left before its call was admitted')
    }
    if (reply) return reply
  }
  return undefined
}

/** Where nothing is sent: asks all policies, also those after one that would answer. Rejects with a refusal. */
export async function admitDryRun(call: Call, policies: PoliciesWith<'admit'>): Promise<void> {
  for (const policy of policies) await policy.admit(call)
}
