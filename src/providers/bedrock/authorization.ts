/** Signs calls with AWS credentials or those of a role, unless their headers already hold an API key of Bedrock. */
import { GatewayError } from '../../core/errors.ts'
import type { Authorize, Target } from '../../core/provider.ts'
import { signAwsCall } from '../../lib/aws/aws-signature.ts'
import type { AwsCredentials } from '../../lib/aws/aws-signature.ts'
import { Secret } from '../../lib/secret.ts'
import { regionOf } from './address.ts'

/** The headers to sign: those that the service reads. Others may be changed on the way, for example by a proxy. */
const signed = /^(?:content-type|x-amz-.*|x-amzn-.*)$/i

/** The keys of the target; undefined = it has none. */
function keysOf({ options }: Target): AwsCredentials | undefined {
  const { aws_access_key_id: id, aws_secret_access_key: secret, aws_session_token: token } = options
  if (typeof id === 'string' && secret instanceof Secret)
    return {
      accessKeyId: id,
      secretAccessKey: secret.reveal(),
      ...(token instanceof Secret && { sessionToken: token.reveal() }),
    }
  return undefined
}

/**
 * Adds nothing where the call has an `authorization` header. Otherwise signs with Signature Version 4 for the service
 * `bedrock`, by the credential of the target's identity or by its keys; throws `upstream-credentials` without both, and
 * without a region.
 */
export const authorizeBedrock: Authorize = (call, target, { epochMs, credential }) => {
  if (call.headers.authorization !== undefined) return {}
  const keys = credential?.kind === 'keys' ? credential : keysOf(target)
  if (!keys)
    throw new GatewayError(
      'upstream-credentials',
      'this deployment has no AWS credentials: its operator gives `api_key`, ' +
        'or `aws_access_key_id` and `aws_secret_access_key`',
    )
  const headers = Object.fromEntries(Object.entries(call.headers).filter(([name]) => signed.test(name)))
  const scope = { region: regionOf(target), service: 'bedrock' }
  return signAwsCall({ ...call, headers, body: call.body }, keys, scope, epochMs)
}
