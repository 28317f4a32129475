/** Authenticates calls to Vertex AI by the access token of the target's identity; a target with an API key has none. */
import type { Authorize } from '../../core/provider.ts'

/** A quota project of the credentials is sent as `x-goog-user-project`. */
export const authorizeVertex: Authorize = (_call, _target, { credential }) => {
  if (credential?.kind !== 'token') return {}
  const { token, quotaProject } = credential
  return {
    authorization: `Bearer ${token}`,
    ...(quotaProject !== undefined && { 'x-goog-user-project': quotaProject }),
  }
}
