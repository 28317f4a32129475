/** `retry_policy` and `allowed_fails_policy`: counts for single kinds of errors, by LiteLLM's names of these. */
import type { Call } from '../../core/call.ts'
import type { Deployment } from '../../core/deployment.ts'
import type { FaultKind, GatewayError } from '../../core/errors.ts'
import type { CountsByError, PolicyError } from '../../core/settings.ts'

const names: Partial<Record<FaultKind, PolicyError>> = {
  'upstream-refused': 'BadRequestError',
  'upstream-credentials': 'AuthenticationError',
  'upstream-model-missing': 'NotFoundError',
  'upstream-timeout': 'TimeoutError',
  'upstream-rate-limited': 'RateLimitError',
  'content-policy': 'ContentPolicyViolationError',
  'upstream-failed': 'InternalServerError',
}

/** The count for an error; undefined = there is none, and what holds for all errors holds for it. */
export function countFor(error: GatewayError, counts: CountsByError | undefined): number | undefined {
  const name = counts && names[error.kind]
  // Of the refusals only 400 has a count: others, as of a file that is missing, stay what they are everywhere.
  if (!name || (name === 'BadRequestError' && error.status !== 400)) return undefined
  return counts[name]
}

/** Attempts after the first that the policy grants after an error; undefined = it says nothing of this kind. */
export function retriesByPolicy(error: GatewayError, call: Call, group: readonly Deployment[]): number | undefined {
  const { retryPolicy, retryPolicies } = call.models.settings.router
  if (!retryPolicy && !retryPolicies) return undefined
  const name = [group[0]!.modelName, call.attemptedModel || call.model].find(
    one => retryPolicies && Object.hasOwn(retryPolicies, one),
  )
  return countFor(error, name === undefined ? retryPolicy : retryPolicies![name])
}

/** Attempts after the first at the deployments of a model that an error permits. */
export function retriesAfter(error: GatewayError, call: Call, group: readonly Deployment[]): number {
  if (error.isRequests) return 0
  const byPolicy = retriesByPolicy(error, call, group)
  if (byPolicy !== undefined) return byPolicy
  return error.retry === 'never' ? 0 : (call.overrides.retries ?? call.models.settings.router.retries)
}
