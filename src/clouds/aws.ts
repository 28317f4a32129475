/** Credentials of AWS by AWS's own library, which is loaded when a deployment uses it. */
import { Readable } from 'node:stream'
import type { AwsIdentity, AwsSource } from '../core/cloud-identity.ts'
import { hourMs, systemClock } from '../lib/clock.ts'
import type { Ask } from './ask.ts'
import type { FetchedCredential } from './held-credential.ts'

type Library = typeof import('@aws-sdk/credential-providers')
type Provider = ReturnType<Library['fromIni']>

/** The library asks the metadata service once a try. */
const metadata = { timeout: 2000, maxRetries: 2 }

/** What AWS's clients send their requests by. */
interface AwsRequest {
  readonly method: string
  readonly protocol: string
  readonly hostname: string
  readonly port?: number | undefined
  readonly path: string
  readonly query?: Readonly<Record<string, string | string[] | null>> | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array | undefined
}

/** Binds the library to an identity. */
export async function openAws(identity: AwsIdentity, ask: Ask): Promise<() => Promise<FetchedCredential>> {
  const library = await import('@aws-sdk/credential-providers')
  const { region, stsUrl, source, role } = identity
  const requestHandler = handlerBy(ask)
  const client = { region, requestHandler, ...(stsUrl !== undefined && { endpoint: stsUrl }) }
  const own = providerOf(library, source, client)
  const provider = role
    ? library.fromTemporaryCredentials({
        masterCredentials: own,
        params: { RoleArn: role.arn, RoleSessionName: role.sessionName, ExternalId: role.externalId },
        clientConfig: client,
      })
    : own
  return async () => {
    const { accessKeyId, secretAccessKey, sessionToken, expiration } = await provider()
    return {
      credential: { kind: 'keys', accessKeyId, secretAccessKey, sessionToken },
      // Keys of a profile have no end; the profile is read again every hour.
      expiresMs: expiration?.getTime() ?? systemClock.epochMs() + hourMs,
    }
  }
}

interface StsClient {
  readonly region: string
  readonly requestHandler: ReturnType<typeof handlerBy>
  readonly endpoint?: string
}

function providerOf(library: Library, source: AwsSource, client: StsClient): Provider {
  switch (source.kind) {
    case 'keys': {
      const { accessKeyId, secretAccessKey, sessionToken } = source
      const keys = { accessKeyId, secretAccessKey: secretAccessKey.reveal(), sessionToken: sessionToken?.reveal() }
      return () => Promise.resolve(keys)
    }
    case 'profile':
      return ofFiles(library, client, source.name)
    case 'web-identity': {
      const { tokenFile, role } = source
      const named = { roleArn: role.arn, roleSessionName: role.sessionName }
      return library.fromTokenFile({ webIdentityTokenFile: tokenFile, ...named, clientConfig: client })
    }
    case 'container':
      return library.fromHttp({
        ...('relative' in source.url
          ? { awsContainerCredentialsRelativeUri: source.url.relative }
          : { awsContainerCredentialsFullUri: source.url.full }),
        awsContainerAuthorizationToken: source.token?.reveal(),
        awsContainerAuthorizationTokenFile: source.tokenFile,
        ...metadata,
      })
    case 'machine':
      return library.createCredentialChain(ofFiles(library, client, 'default'), ofInstance(library))
  }
}

/** By sessions of IMDSv2 alone: the first version answers every request that somehow leaves this machine. */
function ofInstance(library: Library): Provider {
  const provider = library.fromInstanceMetadata({ ...metadata, ec2MetadataV1Disabled: true })
  return async () => {
    try {
      return await provider()
    } catch (error) {
      if (error instanceof Error && error.name === 'InstanceMetadataV1FallbackError')
        throw new Error('it gave no session token (IMDSv2)', { cause: error })
      throw error
    }
  }
}

/** A profile names the region of its SSO itself, and of its roles where it is another one. */
function ofFiles(library: Library, { region, requestHandler }: StsClient, profile: string): Provider {
  const parentClientConfig = { region }
  return library.fromIni({ profile, clientConfig: { requestHandler }, parentClientConfig, ignoreCache: true })
}

/** What the library's clients of STS and SSO send their requests by. */
function handlerBy(ask: Ask) {
  return {
    async handle({ method, protocol, hostname, port, path, query = {}, headers, body }: AwsRequest) {
      const url = new URL(`${protocol}//${hostname}${port === undefined ? '' : `:${port}`}${path}`)
      for (const [name, value] of Object.entries(query))
        for (const one of [value].flat()) url.searchParams.append(name, one ?? '')
      const { status, headers: given, body: bytes } = await ask({ method, url: url.href, headers, body })
      return { response: { statusCode: status, headers: { ...given }, body: Readable.from([bytes]) } }
    },
    updateHttpClientConfig() {},
    httpHandlerConfigs: () => ({}),
  }
}
