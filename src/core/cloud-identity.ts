/** Who the gateway is to a cloud, where a fixed key is not enough: `src/clouds` gets short-lived credentials for it. */
import { createHash } from 'node:crypto'
import type { AwsCredentials } from '../lib/aws/aws-signature.ts'
import { Secret } from '../lib/secret.ts'

/** The clouds with identities; the words of `general_settings.host_credentials_by_api`. */
export const cloudNames = ['aws', 'azure', 'google'] as const
/** The name of a cloud with identities. */
export type CloudName = (typeof cloudNames)[number]

/** An identity in one of the clouds. Targets with equal identities share one credential. */
export type CloudIdentity = AwsIdentity | AzureIdentity | GoogleIdentity

/** An identity at AWS. */
export interface AwsIdentity {
  readonly cloud: 'aws'
  readonly region: string
  /** The address of STS; undefined = the region's. */
  readonly stsUrl?: string | undefined
  readonly source: AwsSource
  /** The role that the source takes on; undefined = the source's own. */
  readonly role?: AwsRole | undefined
}

/** A role at AWS, and the name of sessions with it. */
export interface AwsRole {
  readonly arn: string
  readonly sessionName: string
  readonly externalId?: string | undefined
}

/** Where credentials of AWS come from. All but keys belong to the host. */
export type AwsSource =
  | {
      readonly kind: 'keys'
      readonly accessKeyId: string
      readonly secretAccessKey: Secret
      readonly sessionToken?: Secret | undefined
    }
  | { readonly kind: 'profile'; readonly name: string }
  | { readonly kind: 'web-identity'; readonly tokenFile: string; readonly role: AwsRole }
  | {
      /** The agent beside a container: of ECS, and of EKS Pod Identity. */
      readonly kind: 'container'
      readonly url: { readonly relative: string } | { readonly full: string }
      readonly token?: Secret | undefined
      /** Read for every request: its content changes. */
      readonly tokenFile?: string | undefined
    }
  /** The profile `default` of AWS's files where there is one, else the role of the EC2 instance. */
  | { readonly kind: 'machine' }

/** An identity at Microsoft Entra ID. */
export interface AzureIdentity {
  readonly cloud: 'azure'
  /** `https://login.microsoftonline.com`, or that of another cloud. */
  readonly authority: string
  readonly scope: string
  readonly proof: AzureProof
}

/** How an identity is proven to Entra ID. All but a secret belong to the host. */
export type AzureProof =
  | (AzureApplication & { readonly kind: 'client-secret'; readonly secret: Secret })
  | (AzureApplication & {
      readonly kind: 'certificate'
      /** A file in PEM form, with the private key. */
      readonly path: string
      readonly password?: Secret | undefined
    })
  | (AzureApplication & { readonly kind: 'workload'; readonly tokenFile: string })
  /** `client` = a user-assigned identity; undefined = the machine's own. */
  | { readonly kind: 'managed-identity'; readonly client?: string | undefined }

interface AzureApplication {
  readonly tenant: string
  readonly client: string
}

/** An identity at Google Cloud. */
export interface GoogleIdentity {
  readonly cloud: 'google'
  /** The JSON text of a credentials file; undefined = the metadata server of the machine. */
  readonly credentials?: Secret | undefined
  /** Who brought the credentials: the host itself, a file that is named, or a text. */
  readonly source: 'host' | 'file' | 'text'
  /** The host and port of the metadata server; undefined = Google's. */
  readonly metadataHost?: string | undefined
}

/** What is added to calls. */
export type CloudCredential =
  | { readonly kind: 'token'; readonly token: string; readonly quotaProject?: string | undefined }
  | ({ readonly kind: 'keys' } & AwsCredentials)

/** A hash that is equal for equal identities, secrets included; it reveals none. */
export const identityKey = (identity: CloudIdentity): string =>
  createHash('sha256')
    .update(JSON.stringify(plain(identity)))
    .digest('base64url')

function plain(value: unknown): unknown {
  if (value instanceof Secret) return value.reveal()
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, plain(one)]))
}
