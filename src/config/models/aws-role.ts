/** The AWS role of an entry or of the environment, under the names of AWS's SDKs. */
import type { AwsRole } from '../../providers/bedrock/role.ts'
import { Secret } from '../../lib/secret.ts'
import type { Environment } from '../environment.ts'

/** The `proxy_params` about roles. */
export interface RoleParams {
  readonly aws_role_name?: string | undefined
  readonly aws_session_name?: string | undefined
  readonly aws_external_id?: string | undefined
}

/** The name of sessions with a role, where neither the entry nor the environment gives one. */
export const sessionNameDefault = 'modelgate'
/** Where AWS's agents answer, beside https and this machine: of ECS, and of EKS Pod Identity. */
const agentHosts: ReadonlySet<string> = new Set(['169.254.170.2', '169.254.170.23', '[fd00:ec2::23]'])
const ownHost = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

/** The role that the keys of the entry take on; undefined = none is named. */
export function assumedRole(params: RoleParams, region: string, environment: Environment): AwsRole | undefined {
  const { aws_role_name: arn, aws_session_name: sessionName = sessionNameDefault, aws_external_id: externalId } = params
  if (arn === undefined) return undefined
  const url = stsUrl(region, environment)
  return { kind: 'assumed', url, arn, sessionName, ...(externalId !== undefined && { externalId }) }
}

/** The role that this program runs with at AWS, undefined = none, or what is wrong. */
export function ownRole(
  params: RoleParams,
  region: string,
  environment: Environment,
): AwsRole | { readonly message: string } | undefined {
  const role = roleOf(environment, region, params.aws_session_name)
  const { aws_role_name: named } = params
  if (named === undefined || !role || 'message' in role) return role
  if (role.kind === 'web-identity' && role.arn === named) return role
  return {
    message:
      'is not the role that this program runs with, which cannot take on others here; give that role what it needs ' +
      'at Bedrock, or give `aws_access_key_id` and `aws_secret_access_key`',
  }
}

/** In the order of AWS's SDKs. */
function roleOf(environment: Environment, region: string, sessionName?: string) {
  const { AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile, AWS_ROLE_ARN: arn, AWS_ROLE_SESSION_NAME: name } = environment
  if (tokenFile && arn)
    return {
      kind: 'web-identity' as const,
      url: stsUrl(region, environment),
      arn,
      sessionName: sessionName ?? (name || sessionNameDefault),
      tokenFile,
    }
  const { AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: relative, AWS_CONTAINER_CREDENTIALS_FULL_URI: full } = environment
  if (relative) return { kind: 'container' as const, url: new URL(relative, 'http://169.254.170.2').href }
  if (!full) return undefined
  const url = URL.canParse(full) ? new URL(full) : undefined
  // Another host would be sent the token of the container without encryption.
  if (url?.protocol !== 'https:' && !(url?.protocol === 'http:' && isAgent(url.hostname)))
    return { message: 'AWS_CONTAINER_CREDENTIALS_FULL_URI must be an https address, or that of an agent of AWS' }
  const { AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: file, AWS_CONTAINER_AUTHORIZATION_TOKEN: token } = environment
  return {
    kind: 'container' as const,
    url: url.href,
    ...(file ? { tokenFile: file } : token && { token: new Secret(token) }),
  }
}

const isAgent = (hostname: string): boolean => agentHosts.has(hostname) || ownHost.test(hostname)

function stsUrl(region: string, environment: Environment): string {
  return environment.AWS_ENDPOINT_URL_STS || `https://sts.${region}.amazonaws.com/`
}
