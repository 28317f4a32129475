/** Gives deployments short-lived credentials of clouds: shared by equal identities, refused with what to do. */
import { LRUCache } from 'lru-cache'
import { identityKey } from '../core/cloud-identity.ts'
import type { AwsIdentity, AzureIdentity, CloudCredential, CloudIdentity } from '../core/cloud-identity.ts'
import type { Deployment } from '../core/deployment.ts'
import { GatewayError, toGatewayError } from '../core/errors.ts'
import type { Target } from '../core/provider.ts'
import type { ProxyRules, Transport } from '../core/transport.ts'
import type { Clock } from '../lib/clock.ts'
import { Redactor } from '../lib/redact.ts'
import { Secret } from '../lib/secret.ts'
import { askBy } from './ask.ts'
import type { Ask } from './ask.ts'
import { HeldCredential } from './held-credential.ts'
import type { FetchedCredential } from './held-credential.ts'

/** Metadata servers and token services answer within a second; what takes longer is broken. */
const fetchMs = 30_000
const heldMax = 1000
const reasonLengthMax = 300

interface CredentialParts {
  readonly transport: Transport
  readonly clock: Clock
  /** Hears that a renewal failed while the credential is still valid, and why. */
  renewalFailed(deployment: Deployment, reason: string): void
}

type HeldByIdentity = LRUCache<string, HeldCredential>

/** The credentials of all deployments. */
export class CloudCredentials {
  readonly #parts: CredentialParts
  readonly #byTarget = new WeakMap<Target, HeldCredential>()
  /** Of deployments that are reached directly, and of those behind each set of proxies: it leads to the clouds too. */
  readonly #direct: HeldByIdentity = new LRUCache({ max: heldMax })
  readonly #byProxies = new WeakMap<ProxyRules, HeldByIdentity>()

  constructor(parts: CredentialParts) {
    this.#parts = parts
  }

  /**
   * The credential of a deployment's identity. Rejects with `upstream-credentials`, or with the kind of what kept the
   * transport from an answer; the message says what to do.
   */
  of(deployment: Deployment, identity: CloudIdentity): CloudCredential | Promise<CloudCredential> {
    const { target } = deployment
    let held = this.#byTarget.get(target)
    if (!held) this.#byTarget.set(target, (held = this.#shared(deployment, identity)))
    return held.get()
  }

  #shared(deployment: Deployment, identity: CloudIdentity): HeldCredential {
    const held = this.#heldBy(deployment.proxies)
    const key = identityKey(identity)
    let found = held.get(key)
    if (!found) held.set(key, (found = this.#opened(deployment, identity)))
    return found
  }

  #heldBy(proxies: ProxyRules | undefined): HeldByIdentity {
    if (!proxies) return this.#direct
    let held = this.#byProxies.get(proxies)
    if (!held) this.#byProxies.set(proxies, (held = new LRUCache({ max: heldMax })))
    return held
  }

  #opened(deployment: Deployment, identity: CloudIdentity): HeldCredential {
    const { transport, clock, renewalFailed } = this.#parts
    const send = askBy(transport, deployment.proxies)
    /** Why the last request of the present fetch got no answer: the libraries do not pass it on. */
    let unanswered: GatewayError | undefined
    const ask: Ask = async question => {
      unanswered = undefined
      try {
        return await send(question)
      } catch (error) {
        throw (unanswered = toGatewayError(error))
      }
    }
    let opened: ReturnType<typeof open> | undefined
    return new HeldCredential({
      clock,
      async obtain() {
        unanswered = undefined
        try {
          opened ??= open(identity, ask)
          return await inTime(opened.then(get => get()))
        } catch (error) {
          opened = undefined
          throw refusal(deployment, identity, unanswered ?? error)
        }
      },
      renewalFailed: error => renewalFailed(deployment, error instanceof Error ? error.message : String(error)),
    })
  }
}

/** Loads the library of the cloud. */
async function open(identity: CloudIdentity, ask: Ask): Promise<() => Promise<FetchedCredential>> {
  switch (identity.cloud) {
    case 'aws':
      return (await import('./aws.ts')).openAws(identity, ask)
    case 'azure':
      return (await import('./azure.ts')).openAzure(identity, ask)
    case 'google':
      return (await import('./google.ts')).openGoogle(identity, ask)
  }
}

function inTime<T>(fetched: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`no answer within ${fetchMs / 1000} seconds`)), fetchMs)
  return Promise.race([fetched, promise]).finally(() => clearTimeout(timer))
}

function refusal({ modelName, id }: Deployment, identity: CloudIdentity, error: unknown): GatewayError {
  const { source, remedy } = words(identity)
  const reason = withoutSecrets(error instanceof Error ? error.message : String(error), identity)
  return new GatewayError(
    error instanceof GatewayError ? error.kind : 'upstream-credentials',
    `the deployment ${modelName} (${id}) got no credentials from ${source}: ${reason}; ${remedy}`,
  )
}

/** One line of a library's message. */
function withoutSecrets(message: string, identity: CloudIdentity): string {
  const secrets: string[] = []
  const visit = (value: unknown): void => {
    if (value instanceof Secret) secrets.push(value.reveal())
    else if (typeof value === 'object' && value !== null) Object.values(value).forEach(visit)
  }
  visit(identity)
  const line = new Redactor(secrets).text(message.replace(/\s+/g, ' ').trim())
  return line.slice(0, reasonLengthMax).replace(/[.;]$/, '')
}

/** Where credentials come from, and what an operator does when none come. */
function words(identity: CloudIdentity): { readonly source: string; readonly remedy: string } {
  switch (identity.cloud) {
    case 'aws':
      return awsWords(identity)
    case 'azure':
      return azureWords(identity)
    case 'google':
      return identity.credentials
        ? { source: 'Google', remedy: 'check `vertex_credentials` and what its account may do' }
        : {
            source: "Google's metadata server",
            remedy: 'run on Google Cloud with a service account, or give `vertex_credentials`',
          }
  }
}

function awsWords({ source, role }: AwsIdentity): ReturnType<typeof words> {
  const also = role ? ` (for the role ${role.arn})` : ''
  switch (source.kind) {
    case 'keys':
      return { source: `AWS STS${also}`, remedy: 'check `aws_role_name`, and that the keys may take it on' }
    case 'profile':
      return {
        source: `AWS's profile ${source.name}${also}`,
        remedy: "check AWS's files (`aws sts get-caller-identity --profile` tells), and sign in again if it uses SSO",
      }
    case 'web-identity':
      return {
        source: `AWS STS for the web identity of ${source.role.arn}${also}`,
        remedy: 'check the file of the token and the trust policy of the role',
      }
    case 'container':
      return { source: `the agent of the container${also}`, remedy: 'check the role of the ECS task or EKS pod' }
    case 'machine':
      return {
        source: `the metadata service of EC2${also}`,
        remedy:
          'give the instance a role (and a hop limit of 2 for containers), or give `aws_access_key_id` and ' +
          '`aws_secret_access_key`, `aws_profile_name` or `api_key`',
      }
  }
}

function azureWords({ proof }: AzureIdentity): ReturnType<typeof words> {
  switch (proof.kind) {
    case 'client-secret':
      return { source: 'Entra ID', remedy: 'check `tenant_id`, `client_id` and `client_secret`' }
    case 'certificate':
      return { source: 'Entra ID', remedy: 'check `tenant_id`, `client_id` and the file `azure_certificate_path`' }
    case 'workload':
      return {
        source: 'Entra ID',
        remedy: 'check the federated credential of the application and the file of the token',
      }
    case 'managed-identity':
      return {
        source: "Azure's managed identity service",
        remedy:
          'run on Azure with a managed identity (`client_id` names a user-assigned one), or give other credentials',
      }
  }
}
