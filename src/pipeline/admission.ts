/** Asks the policies of a call, in order. Synchronous unless a policy returns a promise. */
import type { Reply } from '../core/answer.ts'
import type { Call } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import type { AttemptEnd, Policy } from '../core/policy.ts'

type Admit = NonNullable<Policy['admit']>

/** The policies grouped by their methods: made once, so that calls skip policies without the method. */
export interface CallPolicies {
  readonly head: readonly Admit[]
  readonly body: readonly Admit[]
  /** Those of `body` that also apply where nothing is sent: to the lines of a batch's input file, and to previews. */
  readonly dryRun: readonly Admit[]
  readonly answer: readonly (Policy & Required<Pick<Policy, 'answer'>>)[]
  readonly failed: readonly NonNullable<Policy['failed']>[]
  attempted(call: Call, attempt: AttemptEnd): void
  /** In reverse order: the last policy records the call. */
  readonly settled: readonly NonNullable<Policy['settled']>[]
}

/** In the order of the list; see `policies/index.ts`. */
export function callPolicies(policies: readonly Policy[]): CallPolicies {
  const admitting = (which: (policy: Policy) => boolean): Admit[] =>
    policies.filter(which).flatMap(policy => (policy.admit ? [policy.admit.bind(policy)] : []))
  const attempted = policies.flatMap(policy => (policy.attempted ? [policy.attempted.bind(policy)] : []))
  return {
    head: admitting(({ stage }) => stage === 'head'),
    body: admitting(({ stage }) => stage === 'body'),
    dryRun: admitting(({ stage, dryRun }) => stage === 'body' && dryRun !== false),
    answer: policies.flatMap(policy => (policy.answer ? [{ ...policy, answer: policy.answer.bind(policy) }] : [])),
    failed: policies.flatMap(policy => (policy.failed ? [policy.failed.bind(policy)] : [])),
    attempted(call, attempt) {
      for (const report of attempted) report(call, attempt)
    },
    settled: policies.flatMap(policy => (policy.settled ? [policy.settled.bind(policy)] : [])).reverse(),
  }
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
export function admitCall(call: Call, policies: readonly Admit[], receiver: AdmissionReceiver, from = 0): void {
  for (let at = from; at < policies.length; at++) {
    const asked = policies[at]!(call)
    if (asked === undefined) continue
    if (asked instanceof Promise) return admitLater(call, policies, receiver, { asked, next: at + 1 })
    return receiver.answered(asked)
  }
  receiver.admitted()
}

type Waiting = { readonly asked: Promise<void | Reply>; readonly next: number }

/** A separate function, so that calls without a promise allocate no closures. */
function admitLater(
  call: Call,
  policies: readonly Admit[],
  receiver: AdmissionReceiver,
  { asked, next }: Waiting,
): void {
  asked
    .then(reply => {
      if (receiver.ended) return cancelLate(reply)
      if (reply) receiver.answered(reply)
      else admitCall(call, policies, receiver, next)
    })
    .catch(thrown => receiver.failed(thrown))
}

/** The stream of a reply that no client waits for any more. */
function cancelLate(reply: void | Reply): void {
  if (reply && typeof reply.body === 'object' && 'cancel' in reply.body) reply.body.cancel()
}

/**
 * As a promise: the Reply of the policy that answered, or undefined when all have let the call pass. Rejects with
 * `client-closed` when the client leaves meanwhile.
 */
export async function admitted(call: Call, policies: readonly Admit[]): Promise<Reply | undefined> {
  for (const admit of policies) {
    const reply = await admit(call)
    if (call.client.left) {
      cancelLate(reply)
      throw new GatewayError('client-closed', 'the client left before its call was admitted')
    }
    if (reply) return reply
  }
  return undefined
}

/** Where nothing is sent: asks all policies, also those after one that would answer. Rejects with a refusal. */
export async function admitDryRun(call: Call, policies: CallPolicies): Promise<void> {
  for (const admit of policies.dryRun) await admit(call)
}
