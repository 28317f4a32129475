/** Options of Bedrock models: region, address, AWS credentials and identities, from the entry or the environment. */
import type { AwsIdentity } from '../../core/cloud-identity.ts'
import type { Target } from '../../core/provider.ts'
import { Secret } from '../../lib/secret.ts'
import { hostRegion, namedInRegion, regionalUrl, regionPattern } from '../../providers/bedrock/address.ts'
import type { Environment } from '../environment.ts'
import { hostIdentity, identityOfKeys } from './aws-identity.ts'
import type { AwsIdentityParams } from './aws-identity.ts'

/** The `proxy_params` of Bedrock. */
interface BedrockParams extends AwsIdentityParams {
  readonly model: string
  readonly api_base?: string | undefined
  readonly aws_region_name?: string | undefined
  readonly aws_access_key_id?: string | undefined
  readonly aws_secret_access_key?: string | undefined
  readonly aws_session_token?: string | undefined
  readonly aws_bedrock_runtime_endpoint?: string | undefined
}

interface Mistake {
  path: string[]
  message: string
}

/** What is read of the target, or a mistake with its path inside the entry. */
type BedrockReading = (Pick<Target, 'baseUrl' | 'options'> & Credentials) | Mistake

/** Keys that sign calls, or an identity. */
interface Credentials {
  readonly options: Readonly<Record<string, unknown>>
  readonly identity?: AwsIdentity | undefined
}

/** The environment variables of an AWS account, by the field of `proxy_params` whose place they take. */
export const awsVariables = {
  aws_region_name: ['AWS_REGION', 'AWS_REGION_NAME', 'AWS_DEFAULT_REGION'],
  aws_access_key_id: ['AWS_ACCESS_KEY_ID'],
  aws_secret_access_key: ['AWS_SECRET_ACCESS_KEY'],
  aws_session_token: ['AWS_SESSION_TOKEN'],
} as const

/** Environment variables are named as by AWS's SDKs and LiteLLM. With an API key no other credentials are needed. */
export function bedrockOptions(params: BedrockParams, environment: Environment, hasApiKey: boolean): BedrockReading {
  const { api_base: base, aws_bedrock_runtime_endpoint: own } = params
  if (base !== undefined && own !== undefined)
    return mistake('two addresses; give either `api_base` or `aws_bedrock_runtime_endpoint`')
  const endpoint = base ?? own ?? endpointOf(environment)
  if (endpoint !== undefined && !/^https?:\/\/[^\s/]/.test(endpoint))
    return mistake('the endpoint of Bedrock in the environment must be an http:// or https:// address')
  const { region: named } = namedInRegion(params.model.replace(/^bedrock\//, ''))
  if (named !== undefined && params.aws_region_name !== undefined && named !== params.aws_region_name)
    return mistake(`two regions: \`model\` names ${named}; leave \`aws_region_name\` out`, 'aws_region_name')
  const region =
    params.aws_region_name ?? named ?? arnRegion(params.model) ?? hostRegion(endpoint ?? '') ?? regionOf(environment)
  if (region === undefined) return mistake('no region: give `aws_region_name`, or set AWS_REGION')
  if (!regionPattern.test(region)) return mistake('the AWS region must be one such as `us-east-1`', 'aws_region_name')
  if (hasApiKey && (params.aws_access_key_id ?? params.aws_secret_access_key) !== undefined)
    return mistake('two ways to sign in; give either `api_key` or `aws_access_key_id` and `aws_secret_access_key`')
  const identified = identityFields.find(field => params[field] !== undefined)
  if (hasApiKey && identified !== undefined)
    return mistake(`two ways to sign in; give either \`api_key\` or \`${identified}\``)
  const credentials = hasApiKey ? { options: {} } : credentialsOf(params, region, environment)
  if ('message' in credentials) return credentials
  return {
    baseUrl: (endpoint ?? regionalUrl(region)).replace(/\/+$/, ''),
    options: { aws_region_name: region, ...credentials.options },
    identity: credentials.identity,
  }
}

function mistake(message: string, field?: string): Mistake {
  return { path: ['proxy_params', ...(field === undefined ? [] : [field])], message }
}

/**
 * The pair of the entry, or the pair of the environment, never one value of each. The entry's session token works with
 * both. Without a pair, or where the entry names an identity of the host: that.
 */
function credentialsOf(params: BedrockParams, region: string, environment: Environment): Credentials | Mistake {
  const own = params.aws_access_key_id !== undefined || params.aws_secret_access_key !== undefined
  const [id, secret, token] = own
    ? [params.aws_access_key_id, params.aws_secret_access_key, params.aws_session_token]
    : [
        environment.AWS_ACCESS_KEY_ID,
        environment.AWS_SECRET_ACCESS_KEY,
        params.aws_session_token ?? environment.AWS_SESSION_TOKEN,
      ]
  if (own && (!id || !secret))
    return mistake(
      '`aws_access_key_id` and `aws_secret_access_key` belong together; give both',
      id ? 'aws_access_key_id' : 'aws_secret_access_key',
    )
  const ofHost = hostFields.find(field => params[field] !== undefined)
  if (own && ofHost !== undefined)
    return mistake(`two ways to sign in; give either \`aws_access_key_id\` or \`${ofHost}\``, ofHost)
  if (!id || !secret || ofHost !== undefined) {
    const identity = hostIdentity(params, region, environment)
    return 'message' in identity ? mistake(identity.message, identity.field) : { options: {}, identity }
  }
  const keys = {
    kind: 'keys' as const,
    accessKeyId: id,
    secretAccessKey: new Secret(secret),
    sessionToken: token ? new Secret(token) : undefined,
  }
  const identity = identityOfKeys(keys, params, region, environment)
  if (identity) return { options: {}, identity }
  return {
    options: {
      aws_access_key_id: id,
      aws_secret_access_key: keys.secretAccessKey,
      ...(keys.sessionToken && { aws_session_token: keys.sessionToken }),
    },
  }
}

const hostFields = ['aws_profile_name', 'aws_web_identity_token'] as const
const identityFields = ['aws_role_name', ...hostFields] as const

/**
 * A model named by its ARN exists only in that region: `arn:aws:bedrock:us-east-1:123456789012:inference-profile/...`.
 */
export function arnRegion(model: string): string | undefined {
  return /\barn:aws[a-z-]*:bedrock:([a-z0-9-]+):/.exec(model)?.[1]
}

function endpointOf({
  AWS_ENDPOINT_URL_BEDROCK_RUNTIME: sdk,
  AWS_BEDROCK_RUNTIME_ENDPOINT: peer,
}: Environment): string | undefined {
  return sdk || peer || undefined
}

function regionOf({
  AWS_REGION: region,
  AWS_DEFAULT_REGION: byDefault,
  AWS_REGION_NAME: peer,
}: Environment): string | undefined {
  return region || byDefault || peer || undefined
}
