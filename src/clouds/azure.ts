/** Tokens of Microsoft Entra ID by Microsoft's own library, which is loaded when a deployment uses it. */
import type { TokenCredentialOptions } from '@azure/identity'
import type { AzureIdentity } from '../core/cloud-identity.ts'
import type { Ask } from './ask.ts'
import type { FetchedCredential } from './held-credential.ts'

type HttpClient = NonNullable<TokenCredentialOptions['httpClient']>
/** Of other addresses the library would ask Microsoft whether they belong to Entra ID. */
const knownAuthorities = /^https:\/\/login\.(?:microsoftonline\.com|microsoftonline\.us|chinacloudapi\.cn)\/?$/
const retryOptions = { maxRetries: 2, retryDelayInMs: 500 }

/** Binds the library to an identity. */
export async function openAzure(identity: AzureIdentity, ask: Ask): Promise<() => Promise<FetchedCredential>> {
  const library = await import('@azure/identity')
  const { createHttpHeaders } = await import('@azure/core-rest-pipeline')
  const httpClient = clientBy(ask, createHttpHeaders)
  const { authority: authorityHost, scope, proof } = identity
  const disableInstanceDiscovery = !knownAuthorities.test(authorityHost)
  const options = { authorityHost, disableInstanceDiscovery, httpClient, retryOptions }
  const credential = credentialOf(library, proof, options)
  return async () => {
    const { token, expiresOnTimestamp } = await credential.getToken(scope)
    return { credential: { kind: 'token', token }, expiresMs: expiresOnTimestamp }
  }
}

type Library = typeof import('@azure/identity')
type Options = NonNullable<ConstructorParameters<Library['ClientSecretCredential']>[3]>

function credentialOf(library: Library, proof: AzureIdentity['proof'], options: Options) {
  switch (proof.kind) {
    case 'client-secret':
      return new library.ClientSecretCredential(proof.tenant, proof.client, proof.secret.reveal(), options)
    case 'certificate': {
      const file = { certificatePath: proof.path, certificatePassword: proof.password?.reveal() }
      return new library.ClientCertificateCredential(proof.tenant, proof.client, file, options)
    }
    case 'workload': {
      const { tenant: tenantId, client: clientId, tokenFile: tokenFilePath } = proof
      return new library.WorkloadIdentityCredential({ tenantId, clientId, tokenFilePath, ...options })
    }
    case 'managed-identity':
      return new library.ManagedIdentityCredential({ clientId: proof.client, ...options })
  }
}

function clientBy(ask: Ask, createHttpHeaders: (values: Record<string, string>) => Answer['headers']): HttpClient {
  return {
    async sendRequest(request) {
      const { method, url, headers, body } = request
      if (body !== undefined && body !== null && typeof body !== 'string')
        throw new Error('the body of a request for a token is a text')
      const answer = await ask({ method, url, headers: headers.toJSON(), body: body ?? undefined })
      return {
        request,
        status: answer.status,
        headers: createHttpHeaders({ ...answer.headers }),
        bodyAsText: Buffer.from(answer.body).toString('utf8'),
      }
    },
  }
}

type Answer = Awaited<ReturnType<HttpClient['sendRequest']>>
