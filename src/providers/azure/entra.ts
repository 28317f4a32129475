/** Authenticates calls to Azure by the token of Entra ID for the target's identity, where it has one. */
import { GatewayError } from '../../core/errors.ts'
import type { Authorize } from '../../core/provider.ts'

/** Throws `upstream-credentials` where there is neither a token nor a key among the headers. */
export const authorizeAzure: Authorize = (call, _target, { credential }): Record<string, string> => {
  if (credential?.kind === 'token') return { authorization: `Bearer ${credential.token}` }
  if (call.headers['api-key'] !== undefined || call.headers.authorization !== undefined) return {}
  throw new GatewayError(
    'upstream-credentials',
    'this deployment has no credentials: its operator gives `api_key`, `tenant_id`, `client_id` and `client_secret`, ' +
      'or `azure_credential`',
  )
}
