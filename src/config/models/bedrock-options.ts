/** Options of Bedrock models: region, address, AWS credentials and roles, from the entry or the environment. */
import { Secret } from '../../lib/secret.ts'
import { hostRegion, regionalUrl, regionPattern } from '../../providers/bedrock/address.ts'
import type { Environment } from '../environment.ts'
import { assumedRole, ownRole } from './aws-role.ts'
import type { RoleParams } from './aws-role.ts'

/** The `proxy_params` of Bedrock. */
interface BedrockParams extends RoleParams {
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

/** Address and `options` of the target, or a mistake with its path inside the entry. */
type BedrockReading = { baseUrl: string; options: Record<string, unknown> } | Mistake

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
  const region =
    params.aws_region_name ?? arnRegion(params.model) ?? hostRegion(endpoint ?? '') ?? regionOf(environment)
  if (region === undefined) return mistake('no region: give `aws_region_name`, or set AWS_REGION')
  if (!regionPattern.test(region)) return mistake('the AWS region must be one such as `us-east-1`', 'aws_region_name')
  if (hasApiKey && (params.aws_access_key_id ?? params.aws_secret_access_key) !== undefined)
    return mistake('two ways to sign in; give either `api_key` or `aws_access_key_id` and `aws_secret_access_key`')
  if (hasApiKey && params.aws_role_name !== undefined)
    return mistake('two ways to sign in; give either `api_key` or `aws_role_name`')
  const credentials = hasApiKey ? {} : credentialsOf(params, region, environment)
  if ('message' in credentials) return credentials as Mistake
  return {
    baseUrl: (endpoint ?? regionalUrl(region)).replace(/\/+$/, ''),
    options: { aws_region_name: region, ...credentials },
  }
}

function mistake(message: string, field?: string): Mistake {
  return { path: ['proxy_params', ...(field === undefined ? [] : [field])], message }
}

/**
 * The pair of the entry, or the pair of the environment, never one value of each. The entry's session token works with
 * both.
 */
function credentialsOf(
  params: BedrockParams,
  region: string,
  environment: Environment,
): Record<string, unknown> | Mistake {
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
  if (!id || !secret) return roleOf(params, region, environment)
  const role = assumedRole(params, region, environment)
  return {
    ...(role && { aws_role: role }),
    aws_access_key_id: id,
    aws_secret_access_key: new Secret(secret),
    ...(token && { aws_session_token: new Secret(token) }),
  }
}

/** Where there are no keys: the role that ECS or EKS gives to this program. */
function roleOf(params: BedrockParams, region: string, environment: Environment): Record<string, unknown> | Mistake {
  const role = ownRole(params, region, environment)
  if (!role)
    return mistake(
      'no credentials: give `api_key` or `aws_access_key_id` and `aws_secret_access_key`, set ' +
        'AWS_BEARER_TOKEN_BEDROCK or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run with the role of an ECS ' +
        'task or an EKS pod',
    )
  if ('message' in role) return mistake(role.message, params.aws_role_name === undefined ? undefined : 'aws_role_name')
  return { aws_role: role }
}

/**
 * A model named by its ARN exists only in that region: `arn:aws:bedrock:us-east-1:123456789012:inference-profile/...`.
 */
function arnRegion(model: string): string | undefined {
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
