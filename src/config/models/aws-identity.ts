/** The identity at AWS of an entry or of the host, under the names of AWS's SDKs. */
import type { AwsIdentity, AwsRole, AwsSource } from '../../core/cloud-identity.ts'
import { Secret } from '../../lib/secret.ts'
import type { Environment } from '../environment.ts'

/** The `proxy_params` about identities. */
export interface AwsIdentityParams {
  readonly aws_role_name?: string | undefined
  readonly aws_session_name?: string | undefined
  readonly aws_external_id?: string | undefined
  readonly aws_profile_name?: string | undefined
  readonly aws_web_identity_token?: string | undefined
  readonly aws_sts_endpoint?: string | undefined
}

/** Long-lived keys, or keys with a session token. */
export type AwsKeys = Extract<AwsSource, { kind: 'keys' }>

interface Mistake {
  readonly field?: string
  readonly message: string
}

/** The name of sessions with a role, where neither the entry nor the environment gives one. */
export const sessionNameDefault = 'modelgate'
/** Where AWS's agents answer, beside https and this machine: of ECS, and of EKS Pod Identity. */
const agentHosts: ReadonlySet<string> = new Set(['169.254.170.2', '169.254.170.23', '[fd00:ec2::23]'])
const ownHost = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

/** The variables that lead to identities of the host. */
export const awsHostVariables = [
  'AWS_PROFILE',
  'AWS_WEB_IDENTITY_TOKEN_FILE',
  'AWS_ROLE_ARN',
  'AWS_ROLE_SESSION_NAME',
  'AWS_CONTAINER_CREDENTIALS_RELATIVE_URI',
  'AWS_CONTAINER_CREDENTIALS_FULL_URI',
  'AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE',
  'AWS_CONTAINER_AUTHORIZATION_TOKEN',
  'AWS_EC2_METADATA_DISABLED',
] as const

/** The identity that keys take on; undefined = no role is named, the keys sign calls themselves. */
export function identityOfKeys(
  keys: AwsKeys,
  params: AwsIdentityParams,
  region: string,
  environment: Environment,
): AwsIdentity | undefined {
  const role = roleOf(params, environment)
  return role && { cloud: 'aws', region, stsUrl: stsUrl(params, environment), source: keys, role }
}

/** The identity of an entry without keys: that of the host, and the role that it takes on. */
export function hostIdentity(
  params: AwsIdentityParams,
  region: string,
  environment: Environment,
): AwsIdentity | Mistake {
  const source = sourceOf(params, environment)
  if ('message' in source) return source
  const named = roleOf(params, environment)
  const isTakenOn = source.kind === 'web-identity' && source.role.arn === named?.arn
  const role = isTakenOn ? undefined : named
  return { cloud: 'aws', region, stsUrl: stsUrl(params, environment), source, role }
}

function roleOf(params: AwsIdentityParams, environment: Environment): AwsRole | undefined {
  const { aws_role_name: arn, aws_external_id: externalId } = params
  return arn === undefined ? undefined : { arn, sessionName: sessionNameOf(params, environment), externalId }
}

const sessionNameOf = (params: AwsIdentityParams, environment: Environment): string =>
  params.aws_session_name ?? (environment.AWS_ROLE_SESSION_NAME || sessionNameDefault)

/** What the entry names; else in the order of AWS's SDKs. */
function sourceOf(params: AwsIdentityParams, environment: Environment): AwsSource | Mistake {
  const { aws_profile_name: profile, aws_web_identity_token: token, aws_role_name: taken } = params
  if (token !== undefined) {
    if (profile !== undefined)
      return { field: 'aws_profile_name', message: 'stands beside `aws_web_identity_token`; give one of them' }
    if (taken === undefined)
      return { field: 'aws_web_identity_token', message: 'needs the role that it takes on: give `aws_role_name`' }
    const tokenFile = token.replace(/^oidc\/file\//, '')
    return { kind: 'web-identity', tokenFile, role: { arn: taken, sessionName: sessionNameOf(params, environment) } }
  }
  const name = profile ?? (environment.AWS_PROFILE || undefined)
  if (name !== undefined) return { kind: 'profile', name }
  const { AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile, AWS_ROLE_ARN: arn } = environment
  if (tokenFile && arn)
    return { kind: 'web-identity', tokenFile, role: { arn, sessionName: sessionNameOf(params, environment) } }
  const container = containerOf(environment)
  if (container) return container
  if (/^true$/i.test(environment.AWS_EC2_METADATA_DISABLED ?? ''))
    return {
      message:
        'no credentials: give `api_key`, `aws_access_key_id` and `aws_secret_access_key` or `aws_profile_name`, or ' +
        'set AWS_BEARER_TOKEN_BEDROCK, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or AWS_PROFILE; the metadata ' +
        'service of EC2 is switched off by AWS_EC2_METADATA_DISABLED',
    }
  return { kind: 'machine' }
}

function containerOf(environment: Environment): AwsSource | Mistake | undefined {
  const { AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: relative, AWS_CONTAINER_CREDENTIALS_FULL_URI: full } = environment
  const { AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: tokenFile, AWS_CONTAINER_AUTHORIZATION_TOKEN: token } = environment
  const proof = { ...(tokenFile ? { tokenFile } : token && { token: new Secret(token) }) }
  if (relative) return { kind: 'container', url: { relative }, ...proof }
  if (!full) return undefined
  const url = URL.canParse(full) ? new URL(full) : undefined
  // Another host would be sent the token of the container without encryption.
  if (url?.protocol !== 'https:' && !(url?.protocol === 'http:' && isAgent(url.hostname)))
    return { message: 'AWS_CONTAINER_CREDENTIALS_FULL_URI must be an https address, or that of an agent of AWS' }
  return { kind: 'container', url: { full: url.href }, ...proof }
}

const isAgent = (hostname: string): boolean => agentHosts.has(hostname) || ownHost.test(hostname)

function stsUrl(params: AwsIdentityParams, environment: Environment): string | undefined {
  return params.aws_sts_endpoint ?? (environment.AWS_ENDPOINT_URL_STS || undefined)
}
