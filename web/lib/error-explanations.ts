/** What an error of an upstream means for an operator, and what to do, by its code: ours, or the provider's own. */
import type { StringKey } from '../strings/index.ts'

const words: Readonly<Record<string, StringKey>> = {
  upstream_credentials_refused: 'explain.credentials',
  invalid_api_key: 'explain.credentials',
  authentication_error: 'explain.credentials',
  permission_error: 'explain.credentials',
  insufficient_quota: 'explain.credit',
  billing_error: 'explain.credit',
  model_not_found: 'explain.model',
  upstream_rate_limited: 'explain.limited',
  rate_limit_exceeded: 'explain.limited',
  upstream_timeout: 'explain.timeout',
  upstream_unreachable: 'explain.unreachable',
  upstream_closed: 'explain.closed',
  upstream_overloaded: 'explain.overloaded',
  upstream_error: 'explain.failed',
  upstream_bad_response: 'explain.broken',
  model_blocked: 'explain.blocked',
}

/** For a code that is not known: that the provider refused the request itself. */
export function explanationOf(code: string | null | undefined): StringKey {
  return (code && words[code]) || 'explain.refused'
}
