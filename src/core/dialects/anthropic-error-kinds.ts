/** What the types of Anthropic's errors mean: for its adapter, and for its dialect at other hosts. */
import type { FaultKind } from '../errors.ts'

/** By `error.type` (docs: "Errors"). */
export const anthropicErrorKinds: ReadonlyMap<string, FaultKind> = new Map(
  Object.entries<FaultKind>({
    invalid_request_error: 'upstream-refused',
    authentication_error: 'upstream-credentials',
    permission_error: 'upstream-credentials',
    billing_error: 'upstream-credentials',
    not_found_error: 'model-not-found',
    request_too_large: 'too-large',
    rate_limit_error: 'upstream-rate-limited',
    timeout_error: 'upstream-timeout',
    api_error: 'upstream-failed',
    overloaded_error: 'upstream-overloaded',
  }),
)
