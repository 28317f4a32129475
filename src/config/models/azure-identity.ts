/** The identity at Entra ID of an entry or of the host, under the names of LiteLLM and of Azure's SDKs. */
import type { AzureIdentity, AzureProof } from '../../core/cloud-identity.ts'
import { Secret } from '../../lib/secret.ts'
import type { Environment } from '../environment.ts'
import { azureCredentials } from '../sections/cloud-identities.ts'

/** The `proxy_params` about identities. */
interface AzureIdentityParams {
  readonly api_key?: string | undefined
  readonly azure_ad_token?: string | undefined
  readonly tenant_id?: string | undefined
  readonly client_id?: string | undefined
  readonly client_secret?: string | undefined
  readonly azure_credential?: AzureCredential | undefined
  readonly azure_certificate_path?: string | undefined
  readonly azure_certificate_password?: string | undefined
  readonly azure_federated_token_file?: string | undefined
  readonly azure_scope?: string | undefined
}

type AzureCredential = (typeof azureCredentials)[number]

interface Cloud {
  /** The end of host names in this cloud. */
  readonly suffix: string
  readonly authority: string
  readonly scope: string
}

const publicCloud: Cloud = {
  suffix: '.azure.com',
  authority: 'https://login.microsoftonline.com',
  scope: 'https://cognitiveservices.azure.com/.default',
}
const otherClouds: readonly Cloud[] = [
  {
    suffix: '.azure.us',
    authority: 'https://login.microsoftonline.us',
    scope: 'https://cognitiveservices.azure.us/.default',
  },
  {
    suffix: '.azure.cn',
    authority: 'https://login.chinacloudapi.cn',
    scope: 'https://cognitiveservices.azure.cn/.default',
  },
]

/** The variables that lead to identities of the host. */
export const azureHostVariables = [
  'AZURE_CREDENTIAL',
  'AZURE_TENANT_ID',
  'AZURE_CLIENT_ID',
  'AZURE_CLIENT_SECRET',
  'AZURE_CERTIFICATE_PATH',
  'AZURE_CLIENT_CERTIFICATE_PATH',
  'AZURE_CERTIFICATE_PASSWORD',
  'AZURE_CLIENT_CERTIFICATE_PASSWORD',
  'AZURE_FEDERATED_TOKEN_FILE',
  'AZURE_AUTHORITY_HOST',
  'AZURE_SCOPE',
] as const

interface Mistake {
  path: string[]
  readonly message: string
}

/**
 * An identity that the entry names goes before a key; one of the environment after it. undefined = none is named, the
 * key counts. A mistake has its path inside the entry.
 */
export function azureIdentity(
  params: AzureIdentityParams,
  environment: Environment,
  { hasKey, baseUrl }: { readonly hasKey: boolean; readonly baseUrl: string },
): AzureIdentity | Mistake | undefined {
  const named = params.azure_credential ?? methodOf(params)
  const given = named ?? (hasKey || params.azure_ad_token !== undefined ? undefined : methodOfHost(environment))
  if (given === undefined) return undefined
  if (!isCredential(given))
    return mistake(`AZURE_CREDENTIAL must be one of ${azureCredentials.join(', ')}, or DefaultAzureCredential`)
  const proof = proofOf(given, params, environment)
  if ('missing' in proof)
    return mistake(
      `${given} needs ${proof.missing.map(name => `\`${name}\``).join(', ')} (or the variable of the environment); ` +
        `give ${proof.missing.length === 1 ? 'it' : 'them'}`,
      proof.missing[0],
    )
  const { authority, scope } = cloudOf(baseUrl)
  return {
    cloud: 'azure',
    authority: (environment.AZURE_AUTHORITY_HOST || authority).replace(/\/+$/, ''),
    scope: params.azure_scope ?? (environment.AZURE_SCOPE || scope),
    proof,
  }
}

function mistake(message: string, field?: string): Mistake {
  return { path: ['proxy_params', ...(field === undefined ? [] : [field])], message }
}

const isCredential = (name: string): name is AzureCredential => azureCredentials.some(one => one === name)

/** What follows from the other fields of an entry. */
function methodOf(params: AzureIdentityParams): AzureCredential | undefined {
  if (params.azure_certificate_path !== undefined) return 'CertificateCredential'
  if (params.azure_federated_token_file !== undefined) return 'WorkloadIdentityCredential'
  const isWhole = params.tenant_id !== undefined && params.client_id !== undefined
  return params.client_secret !== undefined && isWhole ? 'ClientSecretCredential' : undefined
}

/** What the environment names, or what follows from it, in the order of Azure's SDKs. */
function methodOfHost(environment: Environment): string | undefined {
  const { AZURE_CREDENTIAL: named, AZURE_FEDERATED_TOKEN_FILE: tokenFile } = environment
  if (named && named !== 'DefaultAzureCredential') return named
  if (!environment.AZURE_TENANT_ID || !environment.AZURE_CLIENT_ID)
    return named ? 'ManagedIdentityCredential' : undefined
  if (environment.AZURE_CLIENT_SECRET) return 'ClientSecretCredential'
  if (certificateOf(environment)) return 'CertificateCredential'
  if (tokenFile) return 'WorkloadIdentityCredential'
  return named ? 'ManagedIdentityCredential' : undefined
}

const certificateOf = (environment: Environment): string | undefined =>
  environment.AZURE_CERTIFICATE_PATH || environment.AZURE_CLIENT_CERTIFICATE_PATH || undefined

function proofOf(
  method: AzureCredential,
  params: AzureIdentityParams,
  environment: Environment,
): AzureProof | { readonly missing: readonly string[] } {
  const client = params.client_id ?? (environment.AZURE_CLIENT_ID || undefined)
  if (method === 'ManagedIdentityCredential') return { kind: 'managed-identity', client }
  const tenant = params.tenant_id ?? (environment.AZURE_TENANT_ID || undefined)
  const secret = params.client_secret ?? (environment.AZURE_CLIENT_SECRET || undefined)
  const path = params.azure_certificate_path ?? certificateOf(environment)
  const tokenFile = params.azure_federated_token_file ?? (environment.AZURE_FEDERATED_TOKEN_FILE || undefined)
  const missing = [
    ...(tenant === undefined ? ['tenant_id'] : []),
    ...(client === undefined ? ['client_id'] : []),
    ...(method === 'ClientSecretCredential' && secret === undefined ? ['client_secret'] : []),
    ...(method === 'CertificateCredential' && path === undefined ? ['azure_certificate_path'] : []),
    ...(method === 'WorkloadIdentityCredential' && tokenFile === undefined ? ['azure_federated_token_file'] : []),
  ]
  if (missing.length > 0) return { missing }
  const application = { tenant: tenant!, client: client! }
  if (method === 'ClientSecretCredential') return { kind: 'client-secret', ...application, secret: new Secret(secret!) }
  if (method === 'WorkloadIdentityCredential') return { kind: 'workload', ...application, tokenFile: tokenFile! }
  const { AZURE_CERTIFICATE_PASSWORD: ofPeer, AZURE_CLIENT_CERTIFICATE_PASSWORD: ofSdk } = environment
  const password = params.azure_certificate_password ?? (ofPeer || ofSdk || undefined)
  return {
    kind: 'certificate',
    ...application,
    path: path!,
    password: password === undefined ? undefined : new Secret(password),
  }
}

function cloudOf(baseUrl: string): Cloud {
  const hostname = URL.canParse(baseUrl) ? new URL(baseUrl).hostname : ''
  return otherClouds.find(cloud => hostname.endsWith(cloud.suffix)) ?? publicCloud
}
