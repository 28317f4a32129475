/** Asks the policies of a call, in their order. Only a policy that has to wait makes the call wait. */
import type { Reply } from '../core/answer.ts'
import type { Call } from '../core/call.ts'
import type { AttemptEnd, Policy } from '../core/policy.ts'
import { clientClosed } from '../core/request.ts'

type Admit = NonNullable<Policy['admit']>

/** The policies by what they are asked for: made once, so that a call asks no policy for what it does not have. */
export interface CallPolicies {
  readonly head: readonly Admit[]
  readonly body: readonly Admit[]
  /** Those of `body` that are asked where nothing is sent yet: for the lines of a batch's input file, for previews. */
  readonly dryRun: readonly Admit[]
  readonly answer: readonly (Policy & Required<Pick<Policy, 'answer'>>)[]
  readonly failed: readonly NonNullable<Policy['failed']>[]
  attempted(call: Call, attempt: AttemptEnd): void
  /** The last policy is told first: the one that records. */
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
      for (const tell of attempted) tell(call, attempt)
    },
    settled: policies.flatMap(policy => (policy.settled ? [policy.settled.bind(policy)] : [])).reverse(),
  }
}

/** Who goes on with a call; exactly one of the three is called, at once where no policy had to wait. */
export interface AdmissionTaker {
  admitted(): void
  /** A policy has answered the call. */
  answered(reply: Reply): void
  failed(thrown: unknown): void
}

/**
 * Asks `policies` from number `from` on. Throws what a policy throws at once; what one rejects with, `taker` is told.
 */
export function admitCall(call: Call, policies: readonly Admit[], taker: AdmissionTaker, from = 0): void {
  for (let at = from; at < policies.length; at++) {
    const asked = policies[at]!(call)
    if (asked === undefined) continue
    if (asked instanceof Promise) return admitLater(call, policies, taker, { asked, next: at + 1 })
    return taker.answered(asked)
  }
  taker.admitted()
}

type Waiting = { readonly asked: Promise<void | Reply>; readonly next: number }

/** A function of its own: closures would cost every call an environment for its variables. */
function admitLater(call: Call, policies: readonly Admit[], taker: AdmissionTaker, { asked, next }: Waiting): void {
  asked
    .then(reply => {
      checkClient(call, reply)
      if (reply) taker.answered(reply)
      else admitCall(call, policies, taker, next)
    })
    .catch(thrown => taker.failed(thrown))
}

/**
 * After a wait: throws when the client has left meanwhile. The call is settled then, and nothing would give back what
 * further policies take.
 */
function checkClient({ client }: Call, reply: void | Reply): void {
  if (!client.left) return
  if (reply && typeof reply.body === 'object' && 'cancel' in reply.body) reply.body.cancel()
  throw clientClosed()
}

/** As a promise: the Reply of the policy that answered, or undefined when all have let the call pass. */
export async function admitted(call: Call, policies: readonly Admit[]): Promise<Reply | undefined> {
  for (const admit of policies) {
    const asked = admit(call)
    const reply = asked instanceof Promise ? await asked : asked
    if (asked instanceof Promise) checkClient(call, reply)
    if (reply) return reply
  }
  return undefined
}

/** For what is not sent yet: all policies are asked, also behind one that would answer. Rejects with a refusal. */
export async function admitDryRun(call: Call, policies: CallPolicies): Promise<void> {
  for (const admit of policies.dryRun) await admit(call)
}
