/** Calls signed with AWS credentials, unless an API key of Bedrock is already in their head. */
import { GatewayError } from '../../core/errors.ts'
import type { Authorization, Target } from '../../core/provider.ts'
import { signAwsCall } from '../../lib/aws/aws-signature.ts'
import type { AwsCredentials } from '../../lib/aws/aws-signature.ts'
import { Secret } from '../../lib/secret.ts'
import { regionOf } from './address.ts'

/** What the service reads; anything else may change on the way, for example in a proxy. */
const signed = /^(?:content-type|x-amz-.*|x-amzn-.*)$/i

function credentialsOf({ options }: Target): AwsCredentials {
  const { aws_access_key_id: id, aws_secret_access_key: secret, aws_session_token: token } = options
  if (typeof id === 'string' && secret instanceof Secret)
    return {
      accessKeyId: id,
      secretAccessKey: secret.reveal(),
      ...(token instanceof Secret && { sessionToken: token.reveal() }),
    }
  throw new GatewayError(
    'upstream-credentials',
    'this deployment has no AWS credentials: its operator gives `api_key`, or `aws_access_key_id` and `aws_secret_access_key`',
  )
}

/**
 * Adds nothing where the head holds a key. Else signs by Signature Version 4 for the service `bedrock`; throws
 * `upstream-credentials` without credentials or a region.
 */
export const bedrockAuthorization: Authorization = {
  headers(call, target, { epochMs }): Record<string, string> {
    if (call.headers.authorization !== undefined) return {}
    const headers = Object.fromEntries(Object.entries(call.headers).filter(([name]) => signed.test(name)))
    const scope = { region: regionOf(target), service: 'bedrock' }
    return signAwsCall({ ...call, headers, body: call.body }, credentialsOf(target), scope, epochMs)
  },
}
