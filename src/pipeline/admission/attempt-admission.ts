/** Bounds what one call may cause at upstreams: retries, fallbacks and answers requested again, all together. */
import type { Call, RunningCall } from '../../core/call.ts'
import { GatewayError } from '../../core/errors.ts'
import type { CallPolicies } from './admission.ts'

/** The operator's bound has room for a further attempt, and for the first ones at `kept` models that come later. */
export function hasRoom({ models, progress: { attempts, schemaRetries } }: Call, kept: number): boolean {
  return attempts === 0 || attempts + schemaRetries + kept < models.settings.router.attemptsMax
}

/** Before a further attempt: each counts in the caller's limits. false = these have no room for it. */
export async function isAdmitted(policies: CallPolicies, call: Call): Promise<boolean> {
  if (call.progress.attempts === 0) return true
  for (const policy of policies.admitAttempt) if (!(await policy.admitAttempt(call))) return false
  return true
}

/** Before a call is passed on to another model: which limit or budget of this model has no room for it, if any. */
export async function modelRefusal(
  { admitModel }: CallPolicies,
  call: Call,
  model: string,
): Promise<GatewayError | undefined> {
  for (const policy of admitModel) {
    const refusal = await policy.admitModel(call, model)
    if (refusal) return refusal
  }
  return undefined
}

/**
 * Before a further request within an attempt: for the next prompt of a list, or for an answer that fits its schema.
 * Rejects with the reason why it is not to be sent.
 */
export async function admitRepeat(policies: CallPolicies, call: RunningCall, isSeries: boolean): Promise<void> {
  if (isSeries) {
    if (!(await isAdmitted(policies, call))) throw tooManyParts(call)
  } else if (hasRoom(call, 0) && (await isAdmitted(policies, call))) call.progress.schemaRetries++
  else throw refusedRetry()
}

function tooManyParts({ operation }: Call): GatewayError {
  const param = operation === 'embeddings' ? 'input' : 'prompt'
  return new GatewayError(
    'rate-limited',
    `this model takes the entries of \`${param}\` in several requests, and the requests per minute of this key or ` +
      'user are used up; send fewer of them, or the rest in a minute',
    { param },
  )
}

function refusedRetry(): GatewayError {
  return new GatewayError(
    'schema-mismatch',
    'the answer does not fit response_format, and may not be asked for again: the requests to upstreams for one call ' +
      "(`max_attempts`), or the caller's requests per minute, are used up",
    { param: 'response_format' },
  )
}
